package daemon

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/term"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// many are tables with as many runs as are remembered of each.
func many(n int) []State {
	var out []State
	for i := range n {
		name := fmt.Sprintf("lake.namespace_%02d.table_%05d", i%50, i)
		var runs, checks []Run
		for k := range maxRuns {
			runs = append(runs, merged(1000+k*i%977, 10, 20+k))
			checks = append(checks, found(map[string]int{}))
		}
		out = append(out, maintained(name, runs...), checked(name, checks...))
	}
	return out
}

func TestThousandsOfTablesAreOnPagesOfTwoHundredThatLinksLeadThrough(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	tables := testlake.Size(5000, 1000)
	h := site(Status{Tables: many(tables)})
	seen := map[string]bool{}
	pages := 0
	for address := "/"; address != ""; pages++ {
		body, code := get(t, h, address)
		require.Equal(t, http.StatusOK, code)
		assert.Less(t, len(body), most, address)
		page := look(t, h, address)
		address = ""
		for _, name := range page.tables() {
			assert.False(t, seen[name], name)
			seen[name] = true
		}
		for _, a := range page.all("a") {
			if a.attr("rel") == "next" {
				address = a.attr("href")
			}
		}
	}
	assert.Len(t, seen, tables)
	assert.Equal(t, tables/perPage, pages)
	last := fmt.Sprintf("%s to %s of %[2]s tables", term.Count(int64(tables-perPage+1)), term.Count(int64(tables)))
	assert.Contains(t, look(t, h, fmt.Sprintf("/?page=%d", pages)).text(), last)
}

func TestAPageThatIsNotThereIsTheNearestOne(t *testing.T) {
	t.Parallel()
	h := site(Status{Tables: many(201)})
	for address, want := range map[string]string{"/?page=0": "Page 1 of 2", "/?page=x": "Page 1 of 2", "/?page=99": "Page 2 of 2", "/?page=-5": "Page 1 of 2", "/?page=99999999999999999999": "Page 1 of 2"} {
		assert.Contains(t, look(t, h, address).text(), want, address)
	}
}

func TestTheFilterGoesByNamePolicyAndHealth(t *testing.T) {
	t.Parallel()
	paused := maintained("prod.sales.orders")
	paused.Record.Paused = "backfill"
	h := site(Status{Tables: []State{maintained("prod.hr.people", merged(1, 1, 1)), checked("prod.hr.people"), maintained("prod.sales.items", merged(1, 1, 1)), paused}})
	for query, want := range map[string][]string{
		"SALES": {"prod.sales.orders", "prod.sales.items"}, "weekly": {"prod.hr.people"}, "paused": {"prod.sales.orders"}, " people ": {"prod.hr.people"},
		"healthy": {"prod.hr.people", "prod.sales.items"}, "": {"prod.sales.orders", "prod.hr.people", "prod.sales.items"}, "nowhere": nil,
	} {
		page := look(t, h, "/?q="+url.QueryEscape(query))
		assert.Equal(t, want, page.tables(), query)
		assert.Equal(t, query, page.all("input")[0].attr("value"))
	}
	assert.Contains(t, look(t, h, "/?q=nowhere").text(), "No table matches")
}

func TestAFilterStaysWhenPagesAreTurned(t *testing.T) {
	t.Parallel()
	page := look(t, site(Status{Tables: many(450)}), "/?q=table_&page=2")
	var links []string
	for _, a := range page.all("a") {
		if a.attr("rel") != "" {
			links = append(links, a.attr("rel")+" "+a.attr("href"))
		}
	}
	assert.Equal(t, []string{"prev ./?q=table_", "next ./?page=3&q=table_"}, links)
}

func BenchmarkPageOfFiveThousandTables(b *testing.B) {
	states := many(5000)
	known, names := map[Key]Record{}, map[string]bool{}
	for _, s := range states {
		known[s.Key], names[s.Table] = s.Record, true
	}
	policies := map[bool]*config.Policy{false: compacting(), true: checking()}
	d := New(Options{Config: &config.Config{Daemon: config.DefaultDaemon()}, Log: zap.NewNop(), Metrics: NewMetrics("v"), Now: func() time.Time { return pageTime }})
	_, err := d.roster.Set(pageTime, sortedKeys(names), func(_ string, check bool) (*config.Policy, string) { return policies[check], "" }, func(k Key) (Record, bool) {
		r, ok := known[k]
		return r, ok
	})
	require.NoError(b, err)
	h := d.Handler(HandlerOptions{Version: "v"})
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		b.ReportMetric(float64(w.Body.Len()), "B/page")
	}
}
