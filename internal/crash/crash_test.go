package crash

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dvcompactor/dvcompactor/internal/testlake/faults"
)

// scenario is a run that is killed at every point.
type scenario struct {
	title, what string
	fixture     string
	args        []string
	script      string // what goes wrong apart from the kills
	open        func(t *testing.T, fixture string) *lab
	// count lets a run come to its end and returns the points at which one can be killed, and kill kills one there.
	count func(t *testing.T, s scenario, l *lab) []*point
	kill  func(t *testing.T, s scenario, l *lab, p *point)

	binary string
}

func scenarios() []scenario {
	return []scenario{
		{title: "Migration, S3 and a REST catalog", fixture: "v2-branches-tags", args: []string{"migrate", "--upgrade-format"}, open: remoteLab, count: countRequests, kill: killAtRequest,
			what: "A v2 table with two branches is upgraded to v3, and the position delete files of `main` become deletion vectors."},
		{title: "Compaction, S3 and a REST catalog", fixture: "v3-shared-puffin", args: []string{"compact", "--target-puffin-size", "150"}, open: remoteLab, count: countRequests, kill: killAtRequest,
			what: "The deletion vectors of shared Puffin files go into new, small ones."},
		{title: "Compaction that meets a conflict, S3 and a REST catalog", fixture: "v3-upgraded-mixed", args: []string{"compact", "--target-puffin-size", "150"}, script: "commit #1: conflict", open: remoteLab, count: countRequests, kill: killAtRequest,
			what: "Position deletes and deletion vectors become new deletion vectors. The first commit is answered with a conflict, so that the manifests are removed and written again."},
		{title: "Compaction in place, S3 and a REST catalog", fixture: "v2-file-granular", args: []string{"compact", "--granularity", "file", "--min-input-files", "2"}, open: remoteLab, count: countRequests, kill: killAtRequest,
			what: "The position delete files of a v2 table, which stays one, become one for each data file."},
		{title: "Merging of delete manifests, S3 and a REST catalog", fixture: "v2-file-granular", args: []string{"compact", "--min-input-files", "99"}, open: manyManifestsLab, count: countRequests, kill: killAtRequest,
			what: "Three delete manifests of a v2 table become one. Nothing else of the table changes, and no file is written but metadata."},
		{title: "Migration, local files and SQLite", fixture: "v2-branches-tags", args: []string{"migrate", "--upgrade-format"}, open: localLab, count: countCalls, kill: killAtCall,
			what: "The same migration. A point is a system call that changes something in the folder of the lake; the program is killed right before it."},
		{title: "Migration, local files and SQLite, power cut", fixture: "v2-branches-tags", args: []string{"migrate", "--upgrade-format"}, open: localLab, count: countSyncs, kill: cutPowerAtCall,
			what: "The same migration. What had not been synced when the program was killed is gone: writes to files that were not synced after them, names in folders that were not synced after them. The points are those where that is more than before: the first call, and each one after a sync."},
	}
}

// point is a moment to kill a run at, and what came of it.
type point struct {
	number int    // of the write, from 1
	write  string // what is written
	fault  string // the kill in the language of package faults
	moment string // the same in words
	end    bool   // it is the end of the run, which nobody kills

	tried              bool
	committed          bool // the table had the snapshot of the run afterwards
	orphans, temporary int
}

func (p *point) name() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s %s", p.number, p.write, p.moment))
}

// The whole promise at a crash: wherever a run was, the table is as before it or as after it, nothing that is referred
// to is missing, and the next run of the same command needs nobody's help.
func TestARunThatIsKilledAnywhereIsMadeGoodByTheNext(t *testing.T) {
	t.Parallel()
	binary := build(t)
	sections := make([]string, len(scenarios()))
	t.Run("killed", func(t *testing.T) {
		for i, s := range scenarios() {
			t.Run(s.title, func(t *testing.T) {
				t.Parallel()
				s.binary = binary
				sections[i] = s.section(s.run(t))
			})
		}
	})
	if !t.Failed() {
		assertDocument(t, sections)
	}
}

// run kills the run of a scenario at each of its points, on a fresh copy of the lake for each.
func (s scenario) run(t *testing.T) []*point {
	l := s.open(t, s.fixture)
	before := l.look(t)
	points := s.count(t, s, l)
	after := l.look(t)
	after.sameAs(t, before)
	require.Empty(t, after.orphans)
	require.NotEqual(t, before.head, after.head)
	require.Greater(t, len(points), 5)
	t.Run("at", func(t *testing.T) {
		for _, p := range chosen(points) {
			t.Run(p.name(), func(t *testing.T) {
				t.Parallel()
				l := s.open(t, s.fixture)
				s.kill(t, s, l, p)
				p.judge(t, l, s.command(l.config), before, after)
			})
		}
	})
	return points
}

// chosen returns the points to kill a run at: all of them, or with -short the first of each kind of write and each moment, and
// the end.
func chosen(points []*point) []*point {
	if !testing.Short() {
		return points
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(points), func(p *point) bool {
		write, _, _ := strings.Cut(p.write, " (") // without which of several it is
		key := write + " " + p.moment
		again := seen[key]
		seen[key] = true
		return again
	})
}

// judge looks at a lake after a run on it was killed, and runs the same command again, twice. before and after are what
// an unbroken run makes.
func (p *point) judge(t *testing.T, l *lab, argv []string, before, after *state) {
	p.tried = true
	killed := l.look(t)
	killed.sameAs(t, before)
	p.committed = killed.head != before.head
	p.orphans, p.temporary = len(killed.orphans), killed.temporary
	require.LessOrEqual(t, p.orphans, p.number, "there cannot be more orphans than writes")
	if p.committed {
		killed.tidyAs(t, after)
	}
	require.True(t, p.committed || !p.end, "the run said that it had committed")

	require.Equal(t, !p.committed, finish(t, l.dir, argv).Committed, "the next run has to do what is not done, and that only")
	mended := l.look(t)
	mended.sameAs(t, before)
	mended.tidyAs(t, after)
	require.Equal(t, killed.orphans, mended.orphans, "the next run leaves nothing of its own behind")

	require.False(t, finish(t, l.dir, argv).Committed, "there is nothing left to do")
	require.Equal(t, mended.head, l.head(t))
}

// moments are the kills at a request, with what they mean.
func moments(op string) [][2]string {
	out := [][2]string{{"crash", "before it"}, {"crash-after", "after it, before the reply"}}
	if op == "put" {
		out = append(out[:1], [2]string{"torn", "in the middle of it"}, out[1])
	}
	return out
}

// countRequests returns the points around each request that writes.
func countRequests(t *testing.T, s scenario, l *lab) (points []*point) {
	var writes []string
	config, closed := l.front(t, faults.New(t, s.script), func(op, name string) {
		if op == "commit" {
			writes = append(writes, op)
			return
		}
		writes = append(writes, op+" "+kind(name))
	})
	require.True(t, finish(t, l.dir, s.command(config)).Committed)
	closed()
	for i, name := range numbered(writes) {
		op, _, _ := strings.Cut(name, " ")
		for _, m := range moments(op) {
			points = append(points, &point{number: i + 1, write: name, fault: m[0], moment: m[1]})
		}
	}
	return points
}

// killAtRequest kills a run at a request. The servers go on.
func killAtRequest(t *testing.T, s scenario, l *lab, p *point) {
	script := faults.New(t, fmt.Sprintf("write #%d: %s\n%s", p.number, p.fault, s.script))
	config, closed := l.front(t, script, func(string, string) {})
	victim := newProcess(t.Context(), l.dir, s.command(config))
	script.OnCrash(victim.kill)
	victim.run(t)
	closed()
	status, ok := victim.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok && status.Signaled() && status.Signal() == syscall.SIGKILL, "%v %s%s", victim.cmd.ProcessState, &victim.stdout, &victim.stderr)
	require.True(t, script.Crashed())
}

// kind says what a file is, by its name.
func kind(name string) string {
	base := path.Base(name)
	switch {
	case path.Ext(base) == ".puffin":
		return "Puffin file"
	case strings.HasSuffix(base, "-deletes.parquet"):
		return "position delete file"
	case path.Ext(base) == ".avro" && strings.HasPrefix(base, "snap-"):
		return "manifest list"
	case path.Ext(base) == ".avro":
		return "manifest"
	case strings.HasSuffix(base, ".metadata.json"):
		return "metadata file"
	}
	return base
}

// numbered tells names that come more than once apart: "manifest (2 of 3)".
func numbered(names []string) []string {
	all, seen := map[string]int{}, map[string]int{}
	for _, n := range names {
		all[n]++
	}
	out := make([]string, len(names))
	for i, n := range names {
		seen[n]++
		if out[i] = n; all[n] > 1 {
			out[i] = fmt.Sprintf("%s (%d of %d)", n, seen[n], all[n])
		}
	}
	return out
}
