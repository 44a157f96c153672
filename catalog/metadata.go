package catalog

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
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

// metadataLimit bounds what a compressed metadata file may grow to.
const metadataLimit = 1 << 30

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
	out, err := io.ReadAll(io.LimitReader(r, metadataLimit+1))
	if err == nil && len(out) > metadataLimit {
		err = fmt.Errorf("decompresses to more than %d bytes", metadataLimit)
	}
	return out, err
}

// writeMetadata applies updates to the current metadata and writes the result under a new name.
func writeMetadata(ctx context.Context, current *Table, raw []byte, updates []table.Update) (string, error) {
	next, err := table.UpdateTableMetadata(current.Metadata, updates, current.MetadataLocation)
	if err != nil {
		return "", err
	}
	data, err := encodeMetadata(next, current.Metadata, raw)
	if err != nil {
		return "", err
	}
	suffix := ".metadata.json"
	if strings.EqualFold(next.Properties()["write.metadata.compression-codec"], "gzip") {
		if data, err = compress(data); err != nil {
			return "", err
		}
		suffix = ".gz.metadata.json"
	}
	dir := next.Properties()["write.metadata.path"]
	if dir == "" {
		dir = next.Location() + "/metadata"
	}
	location := fmt.Sprintf("%s/%05d-%s%s", strings.TrimSuffix(dir, "/"), metadataVersion(current.MetadataLocation)+1, uuid.NewString(), suffix)
	return location, current.Store.WriteFile(ctx, location, data)
}

// encodeMetadata keeps the top-level fields of the old metadata that iceberg-go does not know, so that what another
// engine put there is not lost.
func encodeMetadata(next, old table.Metadata, raw []byte) ([]byte, error) {
	data, err := json.Marshal(next)
	if err != nil {
		return nil, err
	}
	var fields, before, known map[string]json.RawMessage
	if err := json.Unmarshal(raw, &before); err != nil {
		return nil, err
	}
	again, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(again, &known); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	kept := false
	for key, value := range before {
		if _, ok := known[key]; !ok && fields[key] == nil && !emptyJSON(value) {
			fields[key] = value
			kept = true
		}
	}
	if !kept {
		return data, nil
	}
	return json.Marshal(fields)
}

// emptyJSON says that a field holds nothing, as optional lists that iceberg-go leaves out often do.
func emptyJSON(v json.RawMessage) bool {
	switch strings.TrimSpace(string(v)) {
	case "null", "[]", "{}", `""`:
		return true
	}
	return false
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
