package snapshot

import (
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/stretchr/testify/assert"
)

func TestPartitionFieldsGetNamesThatAvroAllows(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"region": "region", "_a1": "_a1", "da#a": "da_x23a", "1st": "_1st", "a.b": "a_x2Eb", "größe": "gr_xF6_xDFe", "日": "_x65E5", "a b": "a_x20b",
	} {
		assert.Equal(t, want, avroName(name))
	}
	spec := iceberg.NewPartitionSpecID(3,
		iceberg.PartitionField{SourceIDs: []int{1}, FieldID: 1000, Name: "a_x23", Transform: iceberg.IdentityTransform{}},
		iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1001, Name: "a#", Transform: iceberg.IdentityTransform{}},
	)
	var names []string
	for _, f := range avroSpec(&spec).Fields() {
		names = append(names, f.Name)
	}
	assert.Equal(t, []string{"a_x23", "a_x23_1001"}, names)
	assert.Equal(t, 3, avroSpec(&spec).ID())
}

func TestNamesInTheSchemaOfAManifestAreReplacedOnlyWhereTheyHaveToBe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, want string }{
		"letters of another language": {`{"type":"record","name":"r2","fields":[{"name":"größe","type":["null","int"],"field-id":1000}]}`,
			`{"fields":[{"field-id":1000,"name":"gr_xF6_xDFe","type":["null","int"]}],"name":"r2","type":"record"}`},
		"escaped":             {`{"fields":[{"name":"\u65e5","type":"int"}]}`, `{"fields":[{"name":"_x65E5","type":"int"}]}`},
		"only in a doc":       {`{"fields":[{"name":"a","doc":"größe","type":"int"}]}`, ""},
		"names that may be":   {`{"fields":[{"name":"a","type":"int"}]}`, ""},
		"not JSON":            {`{"ü`, ""},
		"a default is a name": {`{"fields":[{"name":"a","type":"string","default":"ü"}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, changed := plainNames([]byte(c.schema))
			assert.Equal(t, c.want != "", changed)
			if !changed {
				c.want = c.schema
			}
			assert.Equal(t, c.want, string(got))
		})
	}
}
