package catalog

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// metadataFiles returns the content of every metadata file of the fixtures and, where they are, of tables of other
// projects, by path.
func metadataFiles(t *testing.T) map[string][]byte {
	out := map[string][]byte{}
	for _, root := range []string{"../testdata/fixtures", "../../shared/real"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.Contains(filepath.Base(path), ".metadata.json") {
				return err
			}
			data, err := os.ReadFile(path)
			if err == nil && bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
				data, err = gunzip(data)
			}
			out[path] = data
			return err
		})
		if root == "../testdata/fixtures" {
			require.NoError(t, err)
		}
	}
	require.Greater(t, len(out), 100)
	return out
}

// value decodes JSON without losing digits.
func value(t *testing.T, data []byte) map[string]any {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var out map[string]any
	require.NoError(t, d.Decode(&out))
	return out
}

// foreign adds a member that nobody knows to every object: a text where all members are texts.
func foreign(v any, name string) {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			foreign(member, key)
		}
		switch name {
		case "properties", "summary", "blob-properties":
			v["engine-x"] = "text"
		case "refs": // its members are refs
		default:
			v["engine-x"] = map[string]any{"n": json.Number("1.50"), "long": json.Number("123456789012345678901234567890"), "list": []any{}}
		}
	case []any:
		for _, member := range v {
			foreign(member, name+"[]")
		}
	}
}

const ours = 4242

// update makes of a metadata file what a commit of ours makes: a snapshot on main, and an upgrade if asked for.
func update(t *testing.T, raw []byte, upgrade bool) []byte {
	old, err := table.ParseMetadataBytes(raw)
	require.NoError(t, err)
	var updates []table.Update
	version := old.Version()
	if upgrade && version < 3 {
		version = 3
		updates = append(updates, table.NewUpgradeFormatVersionUpdate(3))
	}
	snap := &table.Snapshot{
		SnapshotID: ours, SequenceNumber: old.LastSequenceNumber() + 1, TimestampMs: old.LastUpdatedMillis() + 1,
		ManifestList: "s3://lake/list.avro", Summary: &table.Summary{Operation: table.OpReplace},
	}
	if head := old.CurrentSnapshot(); head != nil {
		snap.ParentSnapshotID = &head.SnapshotID
	}
	if version == 3 {
		first, added := old.NextRowID(), int64(5)
		snap.FirstRowID, snap.AddedRows = &first, &added
	}
	updates = append(updates, table.NewAddSnapshotUpdate(snap), table.NewSetSnapshotRefUpdate("main", ours, table.BranchRef, 0, 0, 0))
	next, err := table.UpdateTableMetadata(old, updates, "s3://lake/old.metadata.json")
	require.NoError(t, err)
	merged, err := mergeMetadata(raw, old, next)
	require.NoError(t, err)
	_, err = table.ParseMetadataBytes(merged)
	require.NoError(t, err, "what was written can be read")
	return merged
}

// requireOnlyOurs compares metadata before and after a commit of ours, member by member.
func requireOnlyOurs(t *testing.T, before, after map[string]any, upgrade bool) {
	t.Helper()
	oldVersion := before["format-version"]
	if upgrade {
		assert.Equal(t, json.Number("3"), after["format-version"])
	} else {
		assert.Equal(t, oldVersion, after["format-version"])
	}
	assert.Equal(t, json.Number("4242"), after["current-snapshot-id"])
	for _, list := range []string{"snapshots", "snapshot-log", "metadata-log"} {
		old, _ := before[list].([]any)
		now, _ := after[list].([]any)
		require.Len(t, now, len(old)+1, list)
		for i := range old {
			if snap := old[i].(map[string]any); list == "snapshots" && snap["sequence-number"] == nil && after["format-version"] != json.Number("1") {
				snap["sequence-number"] = json.Number("0") // the spec asks for it, Java leaves it out of what version 1 wrote
			}
			assert.Equal(t, old[i], now[i], "%s[%d]", list, i)
		}
	}
	oldRefs, _ := before["refs"].(map[string]any)
	refs := after["refs"].(map[string]any)
	main := maps.Clone(refs["main"].(map[string]any))
	assert.Equal(t, json.Number("4242"), main["snapshot-id"])
	if old, ok := oldRefs["main"].(map[string]any); ok {
		main["snapshot-id"] = old["snapshot-id"]
		assert.Equal(t, old, main, "refs.main")
	}
	for name, ref := range oldRefs {
		if name != "main" {
			assert.Equal(t, ref, refs[name], "refs.%s", name)
		}
	}
	changes := []string{"format-version", "current-snapshot-id", "snapshots", "snapshot-log", "metadata-log", "refs", "last-updated-ms", "last-sequence-number", "next-row-id"}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		switch {
		case slices.Contains(changes, key):
		case upgrade && oldVersion == json.Number("1") && (key == "schema" || key == "partition-spec"):
			assert.NotContains(t, after, key)
		default:
			assert.Equal(t, before[key], after[key], key)
		}
	}
	for key := range after {
		if _, was := before[key]; !was && !slices.Contains(changes, key) {
			assert.True(t, upgrade && oldVersion == json.Number("1"), "%s appeared", key)
		}
	}
}

func TestACommitChangesOnlyWhatItSaysInTheMetadataOfAnyEngine(t *testing.T) {
	t.Parallel()
	for path, raw := range metadataFiles(t) {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			doc := value(t, raw)
			foreign(doc, "")
			strange, err := json.Marshal(doc)
			require.NoError(t, err)
			for _, upgrade := range []bool{false, true} {
				requireOnlyOurs(t, value(t, raw), value(t, update(t, raw, upgrade)), upgrade && value(t, raw)["format-version"] != json.Number("3"))
				requireOnlyOurs(t, value(t, strange), value(t, update(t, strange, upgrade)), upgrade && doc["format-version"] != json.Number("3"))
			}
		})
	}
}

// firstField returns the first field of the first schema.
func firstField(doc map[string]any) map[string]any {
	return doc["schemas"].([]any)[0].(map[string]any)["fields"].([]any)[0].(map[string]any)
}

func TestWhatNewerEnginesPutIntoMetadataIsKeptOrRefusedWithItsName(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../testdata/fixtures/v3-row-lineage/t/metadata/00004-*.metadata.json")
	require.NoError(t, err)
	require.Len(t, paths, 1)
	raw, err := os.ReadFile(paths[0])
	require.NoError(t, err)
	addField := func(kind any) func(map[string]any) {
		return func(doc map[string]any) {
			schema := doc["schemas"].([]any)[0].(map[string]any)
			schema["fields"] = append(schema["fields"].([]any), map[string]any{"id": 900, "name": "new", "required": false, "type": kind})
			doc["last-column-id"] = 900
		}
	}
	for name, c := range map[string]struct {
		change  func(doc map[string]any)
		refused string // "" when it is kept
	}{
		"variant":        {addField("variant"), ""},
		"geometry":       {addField("geometry"), ""},
		"geography":      {addField("geography(OGC:CRS84, spherical)"), ""},
		"unknown":        {addField("unknown"), ""},
		"timestamp_ns":   {addField("timestamp_ns"), ""},
		"a newer type":   {addField("quaternion"), "unrecognized field type"},
		"a default":      {func(doc map[string]any) { firstField(doc)["write-default"] = json.Number("5") }, ""},
		"a newer format": {func(doc map[string]any) { doc["format-version"] = 99 }, "format-version"},
		"an encryption key": {func(doc map[string]any) {
			doc["encryption-keys"] = []any{map[string]any{"key-id": "k", "encrypted-key-metadata": "aGVsbG8=", "x": 1}}
		}, ""},
		"a kind of ref": {func(doc map[string]any) {
			doc["refs"].(map[string]any)["r"] = map[string]any{"snapshot-id": doc["current-snapshot-id"], "type": "bookmark"}
		}, "ref type"},
		"no next-row-id":          {func(doc map[string]any) { delete(doc, "next-row-id") }, "next-row-id"},
		"a next-row-id below 0":   {func(doc map[string]any) { doc["next-row-id"] = -7 }, "next-row-id"},
		"a next-row-id of 2^64":   {func(doc map[string]any) { doc["next-row-id"] = json.Number("18446744073709551616") }, "next-row-id"},
		"a snapshot without time": {func(doc map[string]any) { delete(doc["snapshots"].([]any)[0].(map[string]any), "timestamp-ms") }, "timestamp-ms"},
		"an unknown transform": {func(doc map[string]any) {
			spec := map[string]any{"spec-id": 77, "fields": []any{map[string]any{"source-id": firstField(doc)["id"], "field-id": 2000, "name": "p", "transform": "zorder[7]"}}}
			doc["partition-specs"], doc["last-partition-id"] = append(doc["partition-specs"].([]any), spec), 2000
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := value(t, raw)
			c.change(doc)
			data, err := json.Marshal(doc)
			require.NoError(t, err)
			_, err = table.ParseMetadataBytes(data)
			if c.refused != "" {
				require.ErrorContains(t, err, c.refused)
				return
			}
			require.NoError(t, err)
			requireOnlyOurs(t, value(t, data), value(t, update(t, data, false)), false)
		})
	}
}

func TestListsThatTheLibraryReadsOnlyPartlyAreRefused(t *testing.T) {
	t.Parallel()
	_, err := mergeValue(version{file: []byte(`{"snapshots": [1, 2, 3]}`), was: []byte(`{"snapshots":[1,2]}`), is: []byte(`{"snapshots":[1,2,4]}`)}, "metadata")
	assert.ErrorContains(t, err, "metadata.snapshots has 3 entries, of which 2 were understood")
}

func TestMergingTakesFromTheFileWhatDidNotChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, was, is, want string }{
		"nothing changed":                   {`{"a": 1.50, "x": [ ]}`, `{"a":1.5}`, `{"a":1.5}`, `{"a": 1.50, "x": [ ]}`},
		"a member changed":                  {`{"a":1,"x":{"y":1e3}}`, `{"a":1}`, `{"a":2}`, `{"a":2,"x":{"y":1e3}}`},
		"a member came":                     {`{"x":1}`, `{}`, `{"a":2}`, `{"a":2,"x":1}`},
		"a member went":                     {`{"a":1,"x":1}`, `{"a":1}`, `{}`, `{"x":1}`},
		"a member that the library made up": {`{"a":1}`, `{"a":1,"b":0}`, `{"a":2,"b":0}`, `{"a":2}`},
		"an element came":                   {`[{"a":1,"x":1}]`, `[{"a":1}]`, `[{"a":1},{"a":2}]`, `[{"a":1,"x":1},{"a":2}]`},
		"the first element went":            {`[{"a":1,"x":1},{"a":2,"x":2}]`, `[{"a":1},{"a":2}]`, `[{"a":2},{"a":3}]`, `[{"a":2,"x":2},{"a":3}]`},
		"an element changed":                {`[{"a":1,"x":1},{"a":2,"x":2}]`, `[{"a":1},{"a":2}]`, `[{"a":1},{"a":3}]`, `[{"a":1,"x":1},{"a":3,"x":2}]`},
		"equal elements":                    {`[{"a":1,"x":1},{"a":1,"x":2}]`, `[{"a":1},{"a":1}]`, `[{"a":1},{"a":1},{"a":1}]`, `[{"a":1,"x":1},{"a":1,"x":2},{"a":1}]`},
		"another kind":                      {`{"a":null}`, `{}`, `{"a":[1]}`, `{"a":[1]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := mergeValue(version{file: []byte(c.file), was: []byte(c.was), is: []byte(c.is)}, "x")
			require.NoError(t, err)
			assert.Equal(t, c.want, string(got))
		})
	}
}

func FuzzMetadata(f *testing.F) {
	seed, err := filepath.Glob("../testdata/fixtures/*/*/metadata/*.metadata.json")
	require.NoError(f, err)
	for i := 0; i < len(seed); i += 7 {
		data, err := os.ReadFile(seed[i])
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte(strings.Repeat(`{"schemas":[`, 20000)))
	f.Fuzz(func(t *testing.T, data []byte) {
		meta, err := table.ParseMetadataBytes(data)
		if err != nil {
			return
		}
		merged, err := mergeMetadata(data, meta, meta)
		if err != nil {
			return
		}
		if !bytes.Equal(merged, data) {
			t.Errorf("no change made %s of %s", merged, data)
		}
	})
}
