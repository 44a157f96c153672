package daemon

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are what the daemon tells Prometheus. Series of configured policies exist from the first second on.
type Metrics struct {
	registry *prometheus.Registry

	runs                         *prometheus.CounterVec
	duration                     *prometheus.HistogramVec
	conflicts, dropped           prometheus.Counter
	attempts                     prometheus.Histogram
	read, written                prometheus.Counter
	operations, operationsFailed *prometheus.CounterVec
	operationDuration            *prometheus.HistogramVec
	reloaded                     prometheus.Gauge
}

// NewMetrics registers all metrics. version is that of the program.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry:          prometheus.NewRegistry(),
		runs:              prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dvcompactor_runs_total", Help: "Runs on one table, by action and result."}, []string{"action", "result"}),
		duration:          prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "dvcompactor_run_duration_seconds", Help: "How long runs took.", Buckets: prometheus.ExponentialBuckets(0.1, 4, 9)}, []string{"action"}),
		conflicts:         prometheus.NewCounter(prometheus.CounterOpts{Name: "dvcompactor_commit_conflicts_total", Help: "Commits that lost a race."}),
		dropped:           prometheus.NewCounter(prometheus.CounterOpts{Name: "dvcompactor_files_dropped_by_conflict_total", Help: "Data files left for the next run because their deletes changed meanwhile."}),
		attempts:          prometheus.NewHistogram(prometheus.HistogramOpts{Name: "dvcompactor_commit_attempts", Help: "Attempts to commit of each run that committed.", Buckets: []float64{1, 2, 3, 5, 10}}),
		read:              prometheus.NewCounter(prometheus.CounterOpts{Name: "dvcompactor_bytes_read_total", Help: "Bytes read from stores."}),
		written:           prometheus.NewCounter(prometheus.CounterOpts{Name: "dvcompactor_bytes_written_total", Help: "Bytes written to stores."}),
		operations:        prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dvcompactor_bucket_operations_total", Help: "Requests to stores, each attempt."}, []string{"op"}),
		operationsFailed:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dvcompactor_bucket_operation_failures_total", Help: "Requests to stores that failed, but not because an object was not there, or was there already."}, []string{"op"}),
		operationDuration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "dvcompactor_bucket_operation_duration_seconds", Help: "How long requests to stores took.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 8)}, []string{"op"}),
		reloaded:          prometheus.NewGauge(prometheus.GaugeOpts{Name: "dvcompactor_config_last_reload_successful", Help: "Whether the last configuration that was read is in effect."}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "dvcompactor_build_info", Help: "The version of the program.", ConstLabels: prometheus.Labels{"version": version}})
	build.Set(1)
	m.reloaded.Set(1)
	m.registry.MustRegister(m.runs, m.duration, m.conflicts, m.dropped, m.attempts, m.read, m.written, m.operations, m.operationsFailed, m.operationDuration, m.reloaded, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Expect makes the series of actions.
func (m *Metrics) Expect(actions ...string) {
	for _, action := range actions {
		for _, r := range Results() {
			m.runs.WithLabelValues(action, string(r))
		}
		m.duration.WithLabelValues(action)
	}
	for _, op := range storage.Ops() {
		m.operations.WithLabelValues(string(op))
		m.operationsFailed.WithLabelValues(string(op))
		m.operationDuration.WithLabelValues(string(op))
	}
}

// Request notes a request to a store. It is a [storage.Options.Observe].
func (m *Metrics) Request(op storage.Op, took time.Duration, err error) {
	m.operations.WithLabelValues(string(op)).Inc()
	m.operationDuration.WithLabelValues(string(op)).Observe(took.Seconds())
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, storage.ErrExists) && !errors.Is(err, context.Canceled) {
		m.operationsFailed.WithLabelValues(string(op)).Inc()
	}
}

// Reloaded notes whether a new configuration is in effect.
func (m *Metrics) Reloaded(ok bool) { m.reloaded.Set(float64(b2i(ok))) }

// Observe notes a run.
func (m *Metrics) Observe(r Run) {
	m.runs.WithLabelValues(r.Action, string(r.Result)).Inc()
	m.duration.WithLabelValues(r.Action).Observe(r.Seconds)
	if r.Attempts > 1 {
		m.conflicts.Add(float64(r.Attempts - b2i(r.Committed)))
	}
	if r.Committed {
		m.attempts.Observe(float64(r.Attempts))
	}
	m.dropped.Add(float64(r.Dropped))
	s := r.stats
	m.read.Add(float64(s.BytesRead))
	m.written.Add(float64(s.BytesWritten))
}

// Tables adds the metrics of tables, which are read from the status at each scrape: a table that is gone has none.
func (m *Metrics) Tables(status func() Status, label bool) error {
	return m.registry.Register(&tableCollector{status: status, label: label, descs: tableDescs(label)})
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// tableCollector makes metrics of how tables stand.
type tableCollector struct {
	status func() Status
	label  bool // by table; else sums over all of a policy
	descs  map[string]*prometheus.Desc
}

func tableDescs(label bool) map[string]*prometheus.Desc {
	labels := func(more ...string) []string {
		if label {
			return append([]string{"policy", "table"}, more...)
		}
		return append([]string{"policy"}, more...)
	}
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc("dvcompactor_"+name, help, labels(more...), nil)
	}
	return map[string]*prometheus.Desc{
		"unread":       desc("unread", "Whether what is remembered of the table cannot be read, so that it is left alone until it can."),
		"halted":       desc("halted", "Whether a safety check refused the table, until somebody resumes it."),
		"paused":       desc("paused", "Whether the table is paused."),
		"last_success": desc("last_success_timestamp_seconds", "When the last run of the table that did not fail began."),
		"next_run":     desc("next_run_timestamp_seconds", "When the next run of the table is due, which may be in the past when it waits for its turn; 0 when it is blocked, or never."),
		"owed":         desc("run_owed_timestamp_seconds", "When the first of the runs was due that none without a failure has made up for; in the future when none is missing, 0 when the table is blocked or never runs."),
		"delete_files": desc("delete_files", "Live delete files after the last run.", "kind"),
		"puffin_files": desc("puffin_files", "Puffin files after the last run."),
		"dv_blobs":     desc("dv_blobs", "Live deletion vectors after the last run."),
		"deleted_rows": desc("deleted_rows", "Deleted rows after the last run."),
		"pending":      desc("plan_pending_files", "Delete files that the last run of the table could have merged or written anew, and did not: no trigger fired, or it failed."),
		"corrupt":      desc("corrupt_dvs", "Findings that are damage, by issue: of the last check, and of those before that read other parts of the table.", "issue"),
	}
}

// Describe implements prometheus.Collector.
func (c *tableCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// sample is one value with its labels.
type sample struct {
	desc   string
	labels [3]string // policy, table, and one more
}

// Collect implements prometheus.Collector.
func (c *tableCollector) Collect(out chan<- prometheus.Metric) {
	values := map[sample]float64{}
	status := c.status()
	if !c.label {
		for _, policy := range status.Policies {
			for _, desc := range []string{"unread", "halted", "paused", "last_success", "next_run", "owed"} {
				values[sample{desc, [3]string{policy}}] = 0
			}
		}
	}
	for _, s := range status.Tables {
		c.table(s, func(desc, more string, v float64, join func(a, b float64) float64) {
			key := sample{desc, [3]string{s.Policy.Name, s.Table, more}}
			if !c.label {
				key.labels[1] = ""
			}
			values[key] = join(values[key], v)
		})
	}
	for key, v := range values {
		labels := []string{key.labels[0]}
		if c.label {
			labels = append(labels, key.labels[1])
		}
		if key.desc == "delete_files" || key.desc == "corrupt" {
			labels = append(labels, key.labels[2])
		}
		out <- prometheus.MustNewConstMetric(c.descs[key.desc], prometheus.GaugeValue, v, labels...)
	}
}

// How the values of several tables become one, without the label.
func sum(a, b float64) float64    { return a + b }
func latest(a, b float64) float64 { return max(a, b) }

// earliest takes 0 for never.
func earliest(a, b float64) float64 {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// table tells of one table.
func (c *tableCollector) table(s State, tell func(desc, more string, v float64, join func(a, b float64) float64)) {
	tell("unread", "", float64(b2i(s.Record.Unread != "")), sum)
	tell("halted", "", float64(b2i(s.Record.Halted != "")), sum)
	tell("paused", "", float64(b2i(s.Record.Pause() != "")), sum)
	tell("last_success", "", seconds(s.Record.succeeded()), latest)
	tell("next_run", "", seconds(s.Next), earliest)
	tell("owed", "", seconds(s.Owed), earliest)
	last := s.Record.last()
	if last == nil {
		return
	}
	if s.Check {
		for issue, n := range s.found() {
			tell("corrupt", issue, float64(n), sum)
		}
		return
	}
	tell("pending", "", float64(last.Pending), sum)
	counts := last.After
	if counts == nil {
		counts = last.Before
	}
	if counts == nil {
		return
	}
	tell("delete_files", "position", float64(counts.PositionDeleteFiles), sum)
	tell("delete_files", "equality", float64(counts.EqualityDeleteFiles), sum)
	tell("dv_blobs", "", float64(counts.DeletionVectors), sum)
	tell("puffin_files", "", float64(counts.PuffinFiles), sum)
	tell("deleted_rows", "", float64(counts.DeletedRows), sum)
}

// seconds since the epoch; 0 for the zero time.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.Unix())
}
