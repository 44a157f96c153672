package maintenance_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/where"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// chosen lists the partitions of a plan, spec and label.
func chosen(p *maintenance.Plan) []string {
	var out []string
	for _, part := range p.Partitions {
		out = append(out, fmt.Sprintf("%d %s", part.SpecID, part.Partition))
	}
	return out
}

// predicateOf writes that a partition field has the value that a label shows.
func predicateOf(t *testing.T, f iceberg.PartitionField, shown string) string {
	name := strconv.Quote(f.Name)
	if shown == "null" {
		return name + " IS NULL"
	}
	if text, err := strconv.Unquote(shown); err == nil {
		return name + " = '" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	if f.Transform.String() == "day" {
		days, err := strconv.Atoi(shown)
		require.NoError(t, err)
		return name + " = '" + time.Unix(0, 0).UTC().AddDate(0, 0, days).Format(time.DateOnly) + "'"
	}
	return name + " = " + shown
}

// fields cuts a partition as chosen lists it into its fields.
func fields(partition string) []string {
	_, label, _ := strings.Cut(partition, " ")
	return strings.Split(label, ", ")
}

// shownValues lists the values that a partition field has in some partitions.
func shownValues(partitions []string, name string) []string {
	var out []string
	for _, part := range partitions {
		for _, field := range fields(part) {
			if value, ok := strings.CutPrefix(field, name+"="); ok && !slices.Contains(out, value) {
				out = append(out, value)
			}
		}
	}
	return out
}

// passing keeps the partitions in which a field has a value, and those that do not have the field.
func passing(partitions []string, name, value string) []string {
	return slices.DeleteFunc(slices.Clone(partitions), func(part string) bool {
		return slices.ContainsFunc(fields(part), func(field string) bool {
			return strings.HasPrefix(field, name+"=") && field != name+"="+value
		})
	})
}

func TestThePartitionsOfAPredicateAreThoseWhoseTuplesPass(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, name := range testlake.Fixtures(t) {
		lake := testlake.Copy(t, name)
		for tbl := range lake.Expected {
			loaded := lake.Load(t, tbl)
			plan := func(predicate string) *maintenance.Plan {
				p, err := maintenance.MakePlan(t.Context(), loaded, maintenance.Options{Action: maintenance.Migrate, UpgradeFormat: true, Where: predicate})
				require.NoError(t, err, "%s: %s", name, predicate)
				return p
			}
			all := chosen(plan(""))
			for _, spec := range loaded.Metadata.PartitionSpecs() {
				for _, f := range spec.Fields() {
					for _, value := range shownValues(all, f.Name) {
						tried++
						assert.Equal(t, passing(all, f.Name, value), chosen(plan(predicateOf(t, f, value))), "%s: %s = %s", name, f.Name, value)
					}
				}
			}
		}
	}
	assert.Greater(t, tried, 5)
}

func TestADeletionVectorOfAnotherPartitionInTheSamePuffinIsTakenAlongAndNamed(t *testing.T) {
	t.Parallel()
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1000, Name: "region", Transform: iceberg.IdentityTransform{}})
	l := judged(t, forge.Options{Version: 3, Spec: &spec})
	var data []iceberg.DataFile
	for i := range 4 {
		data = append(data, l.DataFile(fmt.Sprintf("%d.parquet", i), 0, forge.Tuple{1000: int32(i)}, 100))
	}
	l.Commit(forge.Change{Add: forge.Files(data...)})
	add := func(of ...int) {
		var vectors []forge.Vector
		for _, i := range of {
			vectors = append(vectors, forge.Vector{Data: data[i], Positions: []int64{int64(i)}})
		}
		l.Commit(forge.Change{Add: forge.Files(l.DeletionVectors(vectors...)...)})
	}
	add(0, 1)
	add(2)
	add(3)
	o := fast(maintenance.Compact)
	o.Where = "region IN (0, 2)"
	p := planOn(t, l, o)
	assert.Len(t, p.Puffins, 2)
	assert.Equal(t, []string{data[1].FilePath()}, p.TakenAlong)
	assert.Equal(t, o.Where, p.Settings.Where)
	apart := o
	apart.Where = "region = 3"
	assert.False(t, planOn(t, l, apart).Work, "one small Puffin file cannot become fewer")
	assert.NotEqual(t, p.Fingerprint, planOn(t, l, fast(maintenance.Compact)).Fingerprint)

	r, err := maintenance.Apply(t.Context(), l.Catalog, forge.Ident(), p, fast(maintenance.Compact))
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.Equal(t, 3, r.DataFiles)
	assert.Equal(t, 2, r.After.PuffinFiles)
	assert.False(t, runOn(t, l, o).Committed)
}

func TestAPredicateOnAColumnThatDoesNotPartitionIsRefused(t *testing.T) {
	t.Parallel()
	l := byRegion(t, 2, nil)
	for predicate, want := range map[string]string{"id = 1": "id does not partition the table; what does is region", "region =": "at character 9"} {
		_, err := maintenance.MakePlan(t.Context(), l.Load(), maintenance.Options{Action: maintenance.Compact, Where: predicate})
		require.ErrorIs(t, err, where.ErrPredicate)
		require.ErrorContains(t, err, want)
	}
}
