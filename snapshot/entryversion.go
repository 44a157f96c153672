package snapshot

import (
	"bytes"
	"fmt"
)

// entryVersion is the format version in which entries of delete manifests are written, also into tables of version 2. The
// spec lets an entry of version 2 say which data file it references, and iceberg-go writes that field in version 3 only. What
// else version 3 adds is optional, and readers that go by field ids do not see it.
const entryVersion = 3

// labelled returns a manifest with the format version of the table in its header.
func labelled(manifest []byte, version int) ([]byte, error) {
	if version >= entryVersion {
		return manifest, nil
	}
	label := func(v int) []byte { return fmt.Appendf(nil, "\x1cformat-version\x02%d", v) } // lengths as Avro writes them
	written := label(entryVersion)
	at := bytes.Index(manifest, written)
	if at < 0 {
		return nil, fmt.Errorf("the header of the manifest does not say format version %d", entryVersion)
	}
	copy(manifest[at:at+len(written)], label(version))
	return manifest, nil
}
