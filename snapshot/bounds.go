package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// ErrMetadata says that two parts of a table's metadata contradict each other, so that nobody can say what is live.
var ErrMetadata = errors.New("metadata contradicts itself")

// safely turns a panic of the library that decodes metadata into an error: what it stumbles over is damaged, and one
// damaged table must not end the work on the others.
func safely(decode func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: it cannot be decoded: %v", ErrMetadata, p)
		}
	}()
	return decode()
}

// checkCounts compares how many live entries a manifest has with what the manifest list says. The list decides nothing
// here: a manifest is read whatever it says. But other readers skip a manifest in which it counts no live entries, so
// that what such a manifest holds is live for some readers and not for others; and fewer entries than it counts are
// what is left of a manifest that was cut. A negative count is an unknown one.
func checkCounts(m iceberg.ManifestFile, live int64) error {
	added, existing := int64(m.AddedDataFiles()), int64(m.ExistingDataFiles())
	switch counted := added + existing; {
	case added < 0 || existing < 0:
		return nil
	case counted == 0 && live > 0:
		return fmt.Errorf("%w: it has %d live entries, the manifest list counts none: readers that believe the list skip it and others do not", ErrMetadata, live)
	case live < counted:
		return fmt.Errorf("%w: it has %d live entries, the manifest list counts %d: the others are lost", ErrMetadata, live, counted)
	}
	return nil
}

// maxNumber is the largest size in bytes and the largest number of records that a delete file is believed to have. It is
// more than any store holds in one object, and little enough that sums of many do not overflow.
const maxNumber = 1 << 48

// checkEntry refuses an entry whose locations no store can hold, and a position delete file or deletion vector with a
// size or count that cannot be: they are summed in plans and snapshot summaries.
func checkEntry(f iceberg.DataFile) error {
	err := storage.CheckLocation(f.FilePath())
	if r := f.ReferencedDataFile(); err == nil && r != nil {
		err = storage.CheckLocation(*r)
	}
	if err == nil && f.ContentType() == iceberg.EntryContentPosDeletes {
		err = checkNumbers(f)
	}
	if err != nil {
		return fmt.Errorf("entry %s: %w", storage.Shown(f.FilePath()), err)
	}
	return nil
}

func checkNumbers(f iceberg.DataFile) error {
	if n := f.Count(); n < 0 || n > maxNumber {
		return fmt.Errorf("%w: record_count is %d", ErrMetadata, n)
	}
	if n := f.FileSizeBytes(); n < 0 || n > maxNumber {
		return fmt.Errorf("%w: file_size_in_bytes is %d", ErrMetadata, n)
	}
	return nil
}

// maxDecimalDigits is the largest precision of a decimal (table spec, "Primitive Types").
const maxDecimalDigits = 38

// checkSchema refuses the Avro schema of a manifest in which a decimal has more digits than the specification allows:
// the library computes the power of ten that a scale asks for.
func checkSchema(schema []byte) error {
	if !bytes.Contains(schema, []byte("decimal")) {
		return nil
	}
	var v any
	if err := json.Unmarshal(schema, &v); err != nil {
		return fmt.Errorf("%w: its Avro schema is not JSON: %w", ErrMetadata, err)
	}
	if digits := mostDigits(v); digits > maxDecimalDigits {
		return fmt.Errorf("%w: its Avro schema has a decimal of %g digits", ErrMetadata, digits)
	}
	return nil
}

// mostDigits returns the largest precision or scale anywhere in a schema.
func mostDigits(v any) float64 {
	most := 0.0
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			if n, ok := member.(float64); ok && (key == "scale" || key == "precision") {
				most = max(most, n)
			}
			most = max(most, mostDigits(member))
		}
	case []any:
		for _, member := range v {
			most = max(most, mostDigits(member))
		}
	}
	return most
}

// readList reads the manifest list of a snapshot.
func readList(fs iceio.IO, snap *table.Snapshot) (manifests []iceberg.ManifestFile, err error) {
	err = safely(func() (err error) {
		manifests, err = snap.Manifests(fs)
		return err
	})
	return manifests, err
}
