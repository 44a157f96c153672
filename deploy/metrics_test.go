package deploy

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/daemon"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/require"
)

// metrics are the labels of each series, by its name, with the values that they have.
type metrics map[string]map[string][]string

// exported are the metrics of a daemon that knows one table, which was maintained and checked.
func exported(t *testing.T) metrics {
	m := daemon.NewMetrics("v1")
	m.Expect(config.ActionCompact, config.ActionMigrate, config.ActionCheck)
	m.Observe(daemon.Run{Action: config.ActionCompact, Result: daemon.ResultDone})
	policy := &config.Policy{Name: "nightly"}
	status := daemon.Status{Tables: []daemon.State{
		{Key: daemon.Key{Table: "lake.db.t"}, Policy: policy, Record: daemon.Record{Runs: []daemon.Run{{Before: &maintenance.Counts{}}}}},
		{Key: daemon.Key{Table: "lake.db.t", Check: true}, Policy: policy, Record: daemon.Record{Runs: []daemon.Run{{Result: daemon.ResultDamaged, Findings: map[string]int{"dv-corrupt": 1}}}}},
	}}
	require.NoError(t, m.Tables(func() daemon.Status { return status }, true))
	reply := httptest.NewRecorder()
	m.Handler().ServeHTTP(reply, httptest.NewRequest("GET", "/metrics", nil))
	line := regexp.MustCompile(`(?m)^([a-z]\w*)(?:\{(.*)\})? `)
	equation := regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
	out := metrics{}
	for _, l := range line.FindAllStringSubmatch(reply.Body.String(), -1) {
		if out[l[1]] == nil {
			out[l[1]] = map[string][]string{"job": nil, "instance": nil}
		}
		for _, e := range equation.FindAllStringSubmatch(l[2], -1) {
			out[l[1]][e[1]] = append(out[l[1]][e[1]], e[2])
		}
	}
	require.Contains(t, out, "dvcompactor_halted")
	return out
}

// mention is a metric in a text, with the labels that it selects.
type mention struct {
	name   string
	labels map[string]string
}

// mentioned are the metrics that a text names. A label that is compared with a pattern counts once for each alternative.
func mentioned(text string) []mention {
	selector := regexp.MustCompile(`\b((?:dvcompactor|process|go)_\w+)(\{[^}]*\})?`)
	matcher := regexp.MustCompile(`(\w+)\s*(?:=|!=|=~|!~)\s*\\?"([^"\\]*)\\?"`)
	var out []mention
	for _, m := range selector.FindAllStringSubmatch(text, -1) {
		out = append(out, mention{name: m[1]})
		for _, e := range matcher.FindAllStringSubmatch(m[2], -1) {
			for value := range strings.SplitSeq(e[2], "|") {
				out = append(out, mention{m[1], map[string]string{e[1]: value}})
			}
		}
	}
	return out
}
