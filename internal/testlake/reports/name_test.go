package reports

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/dvcompactor/dvcompactor/internal/avroheader"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A partition field may have a name that is none in Avro. The reference escapes some of them, and writes letters of
// any language as they are.
func TestPartitionFieldsOfAnyNameKeepTheirValues(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"da#a", "a b", "größe", "日付", "a.b", "1st", "partition"} {
		for _, asItIs := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %v", name, asItIs), func(t *testing.T) {
				t.Parallel()
				if asItIs && strings.ContainsAny(name, "# .1") {
					t.Skip("nobody writes it so")
				}
				spec := iceberg.NewPartitionSpec(identity(2, 1000, name))
				l := newLab(t, forge.Options{Spec: &spec})
				var bytes func(iceberg.ManifestContent, []byte) []byte
				if asItIs {
					bytes = func(_ iceberg.ManifestContent, data []byte) []byte { return renamed(t, data, "p1000", name) }
					if name != "partition" { // which the readers of the tests take
						l.io = renaming{l.io, t, name, "p1000"}
					}
				}
				f, g := l.DataFile("", 0, forge.Tuple{1000: int32(1)}, 10), l.DataFile("", 0, forge.Tuple{1000: int32(2)}, 10)
				d := l.PositionDeletes(0, forge.Tuple{1000: int32(2)}, forge.Record{Path: f.FilePath(), Pos: 1}, forge.Record{Path: g.FilePath(), Pos: 2}).Build()
				l.Commit(forge.Change{Add: forge.Files(f, g, d), Bytes: bytes})
				r := l.migrate()
				assert.Zero(t, r.After.PositionDeleteFiles)
				assert.Equal(t, map[string][][2]int64{f.FilePath(): {}, g.FilePath(): one(2)}, l.read("main").Positions)
			})
		}
	}
}

// renamed changes a name in the Avro schema of a manifest.
func renamed(t *testing.T, manifest []byte, from, to string) []byte {
	r := bufio.NewReader(bytes.NewReader(manifest))
	h, err := avroheader.Read(r)
	require.NoError(t, err)
	h.Meta["avro.schema"] = bytes.ReplaceAll(h.Meta["avro.schema"], []byte(`"`+from+`"`), []byte(`"`+to+`"`))
	rest, err := io.ReadAll(r)
	require.NoError(t, err)
	return append(h.Encode(), rest...)
}

// renaming is file access for readers that do not take a name in a manifest.
type renaming struct {
	iceio.IO
	t        *testing.T
	from, to string
}

// Open implements iceio.IO.
func (r renaming) Open(name string) (iceio.File, error) {
	f, err := r.IO.Open(name)
	if err != nil || !strings.Contains(name, "/metadata/") || strings.Contains(name, "/snap-") {
		return f, err
	}
	data, err := io.ReadAll(f)
	require.NoError(r.t, err)
	return storage.MemoryFile(name, renamed(r.t, data, r.from, r.to)), nil
}
