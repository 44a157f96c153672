package positiondelete

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"

	"github.com/dvcompactor/dvcompactor/internal/avroheader"
	"github.com/dvcompactor/dvcompactor/internal/objectfile"
)

const (
	// avroWindow is how many bytes of a large Avro file are fetched with one request.
	avroWindow = 4 << 20
	// maxBlock bounds what a block of an Avro file may hold when it is not compressed, in bytes. Writers make blocks of
	// 16 to 64 KiB.
	maxBlock = 64 << 20
)

// avroRecord is a record of an Avro file, in the names of [avroSchema].
type avroRecord struct {
	Path *string `avro:"file_path"`
	Pos  *int64  `avro:"pos"`
}

// readAvro passes the records of the Avro file that in reads to visit.
//
// An Avro file does not say how many records it has, so that one that was cut between two blocks looks whole. Fewer
// records than the manifest says are taken for that.
func readAvro(in *objectfile.Reader, f File, visit Visit) error {
	rd, err := openAvro(in, f)
	if err != nil {
		return err
	}
	defer rd.Close()
	out := runs{file: f, visit: visit}
	var seen int64
	for {
		var rec avroRecord
		if err := rd.Decode(&rec); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("%w: after %d records: %w", ErrFormat, seen, err)
		}
		seen++
		if rec.Path == nil || rec.Pos == nil {
			err = out.null()
		} else {
			err = out.add([]byte(*rec.Path), *rec.Pos)
		}
		if err != nil {
			return err
		}
	}
	if seen < f.Records {
		return fmt.Errorf("%w: it ends after %d of %d records", ErrFormat, seen, f.Records)
	}
	return out.flush()
}

// openAvro reads the header and finds the two columns.
func openAvro(in *objectfile.Reader, f File) (*ocf.Reader, error) {
	window := bufio.NewReaderSize(in, int(min(avroWindow, in.Size())))
	header, err := avroheader.Read(window)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	columns, err := parseAvroSchema(header.Meta["avro.schema"])
	if err != nil {
		return nil, err
	}
	if columns.byName && f.ByName != nil {
		f.ByName()
	}
	header.Meta["avro.schema"] = columns.writer
	wanted, err := avro.Parse(string(columns.reader))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	rd, err := ocf.NewReader(io.MultiReader(bytes.NewReader(header.Encode()), window), ocf.WithReaderSchema(wanted),
		ocf.WithSchemaOpts(avro.WithLaxNames(func(string) error { return nil })),
		ocf.WithMaxBlockBytes(min(maxBlock, in.Size())), ocf.WithMaxDecompressedBlockBytes(maxBlock))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return rd, nil
}
