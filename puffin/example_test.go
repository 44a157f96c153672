package puffin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/dvcompactor/dvcompactor/puffin"
)

// exampleFile is a Puffin file with one deletion vector, and its footer entry.
func exampleFile() ([]byte, puffin.BlobMetadata) {
	deleted := puffin.NewBitmap()
	if err := deleted.AddMany([]int64{3, 1, 4, 1, 5, 9}); err != nil {
		panic(err)
	}
	var file bytes.Buffer
	w := puffin.NewWriter(&file, puffin.WriterOptions{CreatedBy: "example 1.0"})
	blob, err := w.AddDeletionVector("s3://lake/t/data/00000.parquet", deleted)
	if err != nil {
		panic(err)
	}
	if _, err := w.Finish(puffin.FinishOptions{}); err != nil {
		panic(err)
	}
	return file.Bytes(), blob
}

func ExampleWriter() {
	deleted := puffin.NewBitmap()
	if err := deleted.AddRange(100, 199); err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	w := puffin.NewWriter(&file, puffin.WriterOptions{CreatedBy: "example 1.0"})
	blob, err := w.AddDeletionVector("s3://lake/t/data/00000.parquet", deleted)
	if err != nil {
		fmt.Println(err)
		return
	}
	size, err := w.Finish(puffin.FinishOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The fields of the manifest entry:
	fmt.Println("content_offset", blob.Offset)
	fmt.Println("content_size_in_bytes", blob.Length)
	fmt.Println("record_count", blob.Cardinality())
	fmt.Println("file_size_in_bytes", size)
	// Output:
	// content_offset 4
	// content_size_in_bytes 39
	// record_count 100
	// file_size_in_bytes 306
}

func ExampleOpen() {
	data, _ := exampleFile()
	f, err := puffin.Open(context.Background(), puffin.NewBytesReader(data), puffin.OpenOptions{Location: "s3://lake/t/dv.puffin"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.CreatedBy())
	for _, b := range f.Blobs {
		fmt.Println(b)
	}
	// Output:
	// example 1.0
	// deletion-vector-v1 at 4+50 of s3://lake/t/data/00000.parquet, 5 positions
}

func ExampleReadDeletionVector() {
	data, blob := exampleFile()
	// The manifest entry of the vector has the range; the footer is not read.
	entry := puffin.DeletionVectorRange{Offset: blob.Offset, Length: blob.Length, RecordCount: 5,
		Location: "dv.puffin", ReferencedDataFile: "00000.parquet"}
	deleted, err := puffin.ReadDeletionVector(context.Background(), puffin.NewBytesReader(data), entry)
	if err != nil {
		fmt.Println(err)
		return
	}
	for first, last := range deleted.Ranges() {
		fmt.Println(first, last)
	}
	data[30] ^= 1
	_, err = puffin.ReadDeletionVector(context.Background(), puffin.NewBytesReader(data), entry)
	fmt.Println(errors.Is(err, puffin.ErrCorrupt))
	fmt.Println(err)
	// Output:
	// 1 1
	// 3 5
	// 9 9
	// true
	// dv.puffin: corrupt CRC-32 of the deletion vector at offset 50: expected 0xb7c900d6, found 0xd2ae3b90 (deletion vector of 00000.parquet)
}

func ExampleReadDeletionVectors() {
	data, blob := exampleFile()
	good := blob.DeletionVectorRange("dv.puffin")
	wrong := good
	wrong.Offset++
	ranges := []puffin.DeletionVectorRange{wrong, good}
	err := puffin.ReadDeletionVectors(context.Background(), puffin.NewBytesReader(data), ranges, puffin.ReadOptions{},
		func(i int, deleted *puffin.Bitmap, err error) error {
			if err != nil {
				fmt.Println(i, "corrupt:", errors.Is(err, puffin.ErrCorrupt))
				return nil
			}
			fmt.Println(i, "positions:", deleted.Cardinality())
			return nil
		})
	fmt.Println(err)
	// Output:
	// 1 positions: 5
	// 0 corrupt: true
	// <nil>
}
