package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/cli/golden"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/verify"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func text(t *testing.T, doc any) string {
	var b bytes.Buffer
	require.NoError(t, Write(&b, doc))
	return b.String()
}

func report() *maintenance.Report {
	before, after := int64(1), int64(2)
	return &maintenance.Report{
		Table: "prod.sales.orders", Ref: "main", Action: maintenance.Compact, PlanID: "0123456789abcdef", SnapshotBefore: &before, SnapshotAfter: &after, Committed: true,
		Before: maintenance.Counts{PositionDeleteFiles: 3, DeletedRows: 7, DeleteBytes: 1000}, After: maintenance.Counts{DeletionVectors: 2, PuffinFiles: 1, DeletedRows: 7},
		DigestBefore: "ab", DigestAfter: "ab", DataFiles: 2, Puffins: []string{"s3://lake/<&>.puffin"}, DeleteFiles: []string{}, Attempts: 1, Seconds: 0.123456, Dropped: []string{}, Findings: []any{}, Warnings: []string{"the clock is wrong"},
		Verified: []string{"A1: 2 data manifests are the same"}, Verification: maintenance.Verification{Checks: []verify.Check{{Name: "A1", What: "2 data manifests are the same", Compared: 2}}, Requests: 3, Bytes: 400, Seconds: 0.25}, Requests: storage.Stats{Gets: 1, RangeGets: 2, Heads: 3, Puts: 4, Deletes: 5, Lists: 6, Retries: 7, Failures: 8, BytesRead: 9, BytesWritten: 10},
		Skipped: []maintenance.Skip{{Reason: "dv-sequence", DataFile: "s3://lake/f", Detail: "why", Hint: "what next"}},
	}
}

func TestDocuments(t *testing.T) {
	plan := &maintenance.Plan{Table: "prod.sales.orders", Ref: "main", Action: maintenance.Compact, PlanID: "0123", Partitions: []maintenance.PartitionPlan{{Partition: "day=1"}},
		Puffins: []maintenance.PuffinPlan{{Location: "s3://lake/x.puffin", Reason: "small"}}, DanglingDVs: []string{}, Manifests: []maintenance.ManifestPlan{{SpecID: 1, Manifests: 120, Bytes: 1000000, After: 1}}, Skipped: []maintenance.Skip{}}
	refused := errors.New("no")
	for name, doc := range map[string]any{
		"run":        NewRun(report(), nil),
		"run-failed": NewRun(&maintenance.Report{Table: "prod.sales.orders"}, maintenance.ErrConflicts),
		"plan":       NewPlan(plan, &Policy{Name: "nightly", Why: "policy nightly: prod.* matches", Trigger: "min_puffin_files 1 < 50"}, nil),
		"error":      Error{NewFailure(refused, false)},
		"list": List{
			Tables: []any{NewRun(report(), nil)}, Skipped: []Skipped{{Table: "prod.sales.private", Reason: "its property dvcompactor.enabled is false"}},
			Failed: []any{Failed{Table: "prod.sales.gone", Ref: "main", Failure: NewFailure(catalog.ErrNotFound, false)}}, Committed: true,
		},
	} {
		t.Run(name, func(t *testing.T) { golden.Assert(t, name+".json", text(t, doc)) })
	}
}

func committedIn(t *testing.T, doc any) any {
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(text(t, doc)), &fields))
	require.Contains(t, fields, "committed")
	return fields["committed"]
}

func TestEveryDocumentSaysWhetherItCommitted(t *testing.T) {
	unknown := &catalog.CommitError{Outcome: catalog.ErrUnknown, Err: errors.New("EOF")}
	assert.Equal(t, true, committedIn(t, NewRun(report(), nil)))
	assert.Equal(t, true, committedIn(t, NewRun(report(), maintenance.ErrVerify)), "it did, although the run failed")
	assert.Equal(t, false, committedIn(t, NewRun(&maintenance.Report{}, maintenance.ErrConflicts)))
	assert.Nil(t, committedIn(t, NewRun(&maintenance.Report{}, unknown)), "nobody knows")
	assert.Equal(t, false, committedIn(t, NewPlan(&maintenance.Plan{}, nil, nil)))
	assert.Equal(t, false, committedIn(t, Failed{Failure: NewFailure(maintenance.ErrStale, false)}))
	assert.Equal(t, false, committedIn(t, Error{NewFailure(errors.New("x"), false)}))
	assert.Equal(t, false, committedIn(t, List{}))
}

func savedPlan(table string) *maintenance.Plan {
	return &maintenance.Plan{Table: table, Ref: "main", Action: maintenance.Compact, TableUUID: "u", Fingerprint: "f", PlanID: "p", Skipped: []maintenance.Skip{{Reason: "r"}}}
}

func TestSavedPlansComeBack(t *testing.T) {
	one := text(t, NewPlan(savedPlan("prod.a.b"), nil, nil))
	plans, err := ReadPlans([]byte(one))
	require.NoError(t, err)
	assert.Equal(t, []*maintenance.Plan{savedPlan("prod.a.b")}, plans)
	plans, err = ReadPlans([]byte(text(t, NewPlan(savedPlan("prod.a.b"), &Policy{Name: "nightly"}, nil))))
	require.NoError(t, err)
	assert.Equal(t, []*maintenance.Plan{savedPlan("prod.a.b")}, plans, "which policy there was is not a part of what is to be done")

	list := text(t, List{Tables: []any{NewPlan(savedPlan("prod.a.b"), nil, nil), NewPlan(savedPlan("prod.a.c"), nil, nil)}, Skipped: []Skipped{}, Failed: []any{}})
	plans, err = ReadPlans([]byte(list))
	require.NoError(t, err)
	assert.Len(t, plans, 2)
	assert.Equal(t, "prod.a.c", plans[1].Table)
}

func TestWhatIsNotAPlanIsRefused(t *testing.T) {
	good := text(t, NewPlan(savedPlan("prod.a.b"), nil, nil))
	for name, c := range map[string]struct{ text, want string }{
		"not JSON":              {"plan", "not a plan"},
		"empty":                 {"", "not a plan"},
		"a list":                {"[]", "not a plan"},
		"another document":      {`{"version": "1"}`, "unknown field"},
		"a field of the future": {strings.Replace(good, `"ref"`, `"where": "x", "ref"`, 1), "unknown field"},
		"no fingerprint":        {strings.Replace(good, `"fingerprint": "f"`, `"fingerprint": ""`, 1), "want table, ref"},
		"another action":        {strings.Replace(good, `"action": "compact"`, `"action": "explode"`, 1), `action "explode"`},
		"a failed plan":         {text(t, NewPlan(savedPlan("prod.a.b"), nil, errors.New("no way"))), "no way"},
		"a list with failures":  {`{"tables": [], "failed": [{"table": "x"}]}`, "not complete"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadPlans([]byte(c.text))
			assert.ErrorContains(t, err, c.want)
		})
	}
}
