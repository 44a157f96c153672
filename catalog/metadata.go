package catalog

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/google/uuid"
)

// Bounds of what a compressed metadata file may grow to, in bytes. Metadata repeats itself, so it compresses well, but
// not as well as a file that was made to fill the memory.
const (
	metadataFloor = 64 << 20
	metadataRatio = 100
	metadataLimit = 1 << 30
)

// readMetadata reads and parses a table metadata file; raw is its JSON.
func readMetadata(ctx context.Context, store *storage.Store, location string) (table.Metadata, []byte, error) {
	raw, err := store.ReadFile(ctx, location)
	if err != nil {
		return nil, nil, err
	}
	if bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) { // Java names these x.gz.metadata.json, older releases x.metadata.json.gz
		if raw, err = gunzip(raw); err != nil {
			return nil, nil, fmt.Errorf("metadata file %s: %w", location, err)
		}
	}
	meta, err := table.ParseMetadataBytes(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("metadata file %s: %w", location, unknownFormat(err))
	}
	return meta, raw, nil
}

// unknownFormat marks the error of a table whose format version nothing is known about.
func unknownFormat(err error) error {
	if errors.Is(err, table.ErrInvalidMetadataFormatVersion) {
		return fmt.Errorf("%w: %w", ErrFormatVersion, err)
	}
	return err
}

func gunzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	limit := min(metadataFloor+metadataRatio*int64(len(data)), metadataLimit)
	out, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(out)) > limit {
		err = fmt.Errorf("its %d bytes decompress to more than %d", len(data), limit)
	}
	return out, err
}

// writeMetadata applies updates to the current metadata and writes the result under a new name.
func writeMetadata(ctx context.Context, current *Table, raw []byte, updates []table.Update) (written, error) {
	next, err := table.UpdateTableMetadata(current.Metadata, updates, current.MetadataLocation)
	if err != nil {
		return written{}, err
	}
	root, err := storage.TableRoot(next.Location())
	if err != nil {
		return written{}, err
	}
	data, err := mergeMetadata(raw, current.Metadata, next)
	if err != nil {
		return written{}, err
	}
	suffix := ".metadata.json"
	if strings.EqualFold(next.Properties()["write.metadata.compression-codec"], "gzip") {
		if data, err = compress(data); err != nil {
			return written{}, err
		}
		suffix = ".gz.metadata.json"
	}
	dir := storage.WriteDir(root, next.Properties()["write.metadata.path"], "metadata")
	location := fmt.Sprintf("%s/%05d-%s%s", dir, metadataVersion(current.MetadataLocation)+1, uuid.NewString(), suffix)
	return written{location, next}, current.Store.WriteFile(ctx, location, data)
}

func compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// metadataVersion reads the number in a metadata file name: 00003-UUID.metadata.json or v3.metadata.json; -1 without one.
func metadataVersion(location string) int {
	m := regexp.MustCompile(`^v?(\d{1,9})[-.]`).FindStringSubmatch(path.Base(location))
	if m == nil {
		return -1
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return -1
	}
	return n
}
