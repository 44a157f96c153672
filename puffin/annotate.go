package puffin

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
)

// Region is a stretch of a file's bytes and what it means.
type Region struct {
	// Offset and Length are in bytes, from the start of the file.
	Offset, Length int64
	// Name is the part of the format, as in "footer flags".
	Name string
	// Value is what the bytes say, as text.
	Value string
	// Note is what is wrong or worth knowing, empty when nothing is.
	Note string
}

// Annotate explains every byte of a Puffin file, in ascending order of offset. It never fails: where the bytes stop making
// sense a Note says so. Without a footer that can be trusted, blobs cannot be found; use [AnnotateDeletionVector] on
// ranges known from a manifest.
func Annotate(data []byte) []Region {
	f, err := Open(context.Background(), NewBytesReader(data), OpenOptions{})
	if err != nil {
		return annotateDamaged(data, err)
	}
	a := annotator{data: data}
	a.magic("head magic", Magic)
	blobs := slices.Clone(f.Blobs)
	slices.SortStableFunc(blobs, func(x, y BlobMetadata) int { return cmp.Compare(x.Offset, y.Offset) })
	for _, b := range blobs {
		a.unclaimed(b.Offset)
		a.blob(b)
	}
	a.unclaimed(f.FooterOffset)
	a.footer(f)
	return a.regions
}

// annotateDamaged shows the two fixed ends of a file whose footer cannot be read.
func annotateDamaged(data []byte, err error) []Region {
	a := annotator{data: data}
	tail := len(data)
	if tail >= TailSize {
		tail -= TailSize
	}
	if len(data) >= minFileSize {
		a.magic("head magic", Magic)
	}
	a.take(tail-a.at, "blobs and footer", "", "")
	a.note(err.Error())
	if len(data) >= TailSize {
		a.tail()
	}
	return a.regions
}

// AnnotateDeletionVector explains every byte of a deletion-vector-v1 blob: length, magic, key count, each key and its
// bitmap, CRC-32. offset is where in its file the blob begins. It never fails: a Note says where the bytes stop
// making sense.
func AnnotateDeletionVector(blob []byte, offset int64) []Region {
	a := annotator{data: blob}
	a.vector(len(blob))
	for i := range a.regions {
		a.regions[i].Offset += offset
	}
	return a.regions
}

// annotator walks over data and collects regions.
type annotator struct {
	data    []byte
	at      int
	regions []Region
}

// take makes a region of the next n bytes.
func (a *annotator) take(n int, name, value, note string) {
	if n <= 0 {
		return
	}
	a.regions = append(a.regions, Region{Offset: int64(a.at), Length: int64(n), Name: name, Value: value, Note: note})
	a.at += n
}

// note adds to the last region.
func (a *annotator) note(text string) {
	if len(a.regions) == 0 {
		a.regions = append(a.regions, Region{Name: "nothing"})
	}
	last := &a.regions[len(a.regions)-1]
	if last.Note != "" {
		last.Note += "; "
	}
	last.Note += text
}

func (a *annotator) magic(name, want string) {
	got := string(a.data[a.at:][:MagicSize])
	note := ""
	if got != want {
		note = fmt.Sprintf("expected % x", want)
	}
	a.take(MagicSize, name, fmt.Sprintf("% x", got), note)
}

func (a *annotator) unclaimed(until int64) {
	a.take(int(until)-a.at, "unclaimed bytes", "", "no footer entry claims them")
}

func (a *annotator) blob(b BlobMetadata) {
	end := a.at + int(b.Length)
	if !b.IsDeletionVector() || b.CompressionCodec != CodecNone {
		a.take(end-a.at, "blob", b.String(), "")
		return
	}
	first := len(a.regions)
	a.vector(end)
	if first < len(a.regions) {
		a.regions[first].Note = joinNotes(b.String(), a.regions[first].Note)
	}
}

func joinNotes(first, second string) string {
	if second == "" {
		return first
	}
	return first + "; " + second
}

// vector explains the deletion vector that ends at end.
func (a *annotator) vector(end int) {
	start := a.at
	if end-start < minDVSize {
		a.take(end-start, "deletion vector", "", fmt.Sprintf("expected at least %d bytes, found %d", minDVSize, end-start))
		if end == start {
			a.note(fmt.Sprintf("expected at least %d bytes, found none", minDVSize))
		}
		return
	}
	length := binary.BigEndian.Uint32(a.data[start:])
	a.take(dvLengthSize, "length of magic and vector", fmt.Sprint(length), "")
	if want := end - start - dvLengthSize - dvCRCSize; int64(length) != int64(want) {
		a.note(fmt.Sprintf("expected %d", want))
	}
	a.magic("deletion vector magic", DeletionVectorMagic)
	crcAt := end - dvCRCSize
	a.keys(crcAt)
	if a.at < crcAt {
		a.take(crcAt-a.at, "not understood", "", "bytes after the last bitmap")
	}
	sum := crc32.ChecksumIEEE(a.data[start+dvLengthSize : crcAt])
	stored := binary.BigEndian.Uint32(a.data[crcAt:])
	a.take(dvCRCSize, "CRC-32 of magic and vector", fmt.Sprintf("0x%08x", stored), "")
	switch stored {
	case sum:
	case ^sum:
		a.note(fmt.Sprintf("expected 0x%08x: this is its one's complement", sum))
	default:
		a.note(fmt.Sprintf("expected 0x%08x", sum))
	}
}

// keys explains key count, keys and bitmaps up to end, and stops where they are broken.
func (a *annotator) keys(end int) {
	count := binary.LittleEndian.Uint64(a.data[a.at:])
	a.take(vectorCountSize, "key count", fmt.Sprint(count), "")
	prev := int64(-1)
	for range min(count, uint64(end)) {
		key, f := nextKey(a.data[:end], a.at, prev)
		if f != nil {
			a.note(fmt.Sprintf("then %s: expected %s, found %s", f.what, f.expected, f.found))
			return
		}
		prev = int64(key)
		a.take(4, "key", fmt.Sprint(key), "")
		var s scan
		n := s.bitmap(a.data[a.at:end])
		if f := s.fault; f != nil {
			a.note(fmt.Sprintf("then %s at offset %d: expected %s, found %s", f.what, a.at+f.at, f.expected, f.found))
			return
		}
		a.take(n, "bitmap", fmt.Sprintf("%d positions in %d array, %d bitset, %d run containers",
			s.cardinality, s.arrays, s.bitsets, s.runs), "")
	}
}

func (a *annotator) footer(f *File) {
	a.magic("footer magic", Magic)
	value := fmt.Sprintf("%d blobs", len(f.Blobs))
	if f.CreatedBy() != "" {
		value += ", created by " + f.CreatedBy()
	}
	note := ""
	if f.FooterCompressed {
		note = "LZ4 frame: several readers cannot open it"
	}
	a.take(len(a.data)-TailSize-a.at, "footer payload", value, note)
	a.tail()
}

// tail explains the last 12 bytes.
func (a *annotator) tail() {
	t := a.data[len(a.data)-TailSize:]
	a.take(4, "footer payload size", fmt.Sprint(int32(binary.LittleEndian.Uint32(t))), "")
	a.take(4, "footer flags", fmt.Sprintf("% x", t[4:8]), "")
	if binary.LittleEndian.Uint32(t[4:])&^flagFooterCompressed != 0 {
		a.note("unknown flags")
	}
	a.magic("tail magic", Magic)
}
