package catalog_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// committerEnv makes the test binary a committer: a process that does nothing but commit.
const committerEnv = "DVCOMPACTOR_TEST_COMMITTER"

// committerJob is what a committer is told: commits of the snapshots First, First+1, ... to table db.t.
type committerJob struct {
	Options catalog.Options
	First   int64
	Commits int64
}

func TestMain(m *testing.M) {
	if os.Getenv(committerEnv) == "" {
		os.Exit(testlake.Main(m))
	}
	if err := committer(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// committer reads its job, says that it is ready, waits for a line, and commits. A conflict is answered with a new
// attempt on what the table is then, everything else is a failure. In the end it says how many conflicts there were.
func committer(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	var job committerJob
	if err := json.Unmarshal(line, &job); err != nil {
		return err
	}
	c, err := catalog.Open(ctx, job.Options)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "ready")
	if _, err := lines.ReadBytes('\n'); err != nil {
		return err
	}
	conflicts := 0
	for id := job.First; id < job.First+job.Commits; {
		tbl, err := c.Load(ctx, []string{"db", "t"})
		if err != nil {
			return err
		}
		requirements, updates := addSnapshot(tbl, "main", id)
		err = c.Commit(ctx, tbl, requirements, updates)
		switch {
		case err == nil:
			id++
		case errors.Is(err, catalog.ErrConflict):
			conflicts++
		default:
			return err
		}
	}
	fmt.Fprintln(out, conflicts)
	return c.Close()
}

// startCommitter starts a process; the result lets it go and returns its number of conflicts.
func startCommitter(t *testing.T, job committerJob) (commit func() int) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), committerEnv+"=1"), os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, json.NewEncoder(in).Encode(job))
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return func() (conflicts int) {
		_, err := io.WriteString(in, "\n")
		assert.NoError(t, err)
		_, err = fmt.Fscan(lines, &conflicts)
		assert.NoError(t, err)
		assert.NoError(t, cmd.Wait())
		return conflicts
	}
}

func twoProcesses(t *testing.T, l *lab) {
	const commits = 25
	l.create(t, map[string]string{"write.metadata.previous-versions-max": "1000"}, "db", "t")
	results := make(chan int, 2)
	for _, start := range []func() int{
		startCommitter(t, committerJob{Options: l.options, First: 1, Commits: commits}),
		startCommitter(t, committerJob{Options: l.options, First: 1 + commits, Commits: commits}),
	} {
		go func() { results <- start() }()
	}
	t.Logf("%d conflicts", <-results+<-results)

	meta := load(t, l.open(t), "db", "t").Metadata
	assert.Len(t, meta.Snapshots(), 2*commits)
	seen := map[int64]bool{}
	for s := meta.SnapshotByName("main"); s != nil; {
		require.False(t, seen[s.SnapshotID])
		seen[s.SnapshotID] = true
		assert.EqualValues(t, 2*commits+1-len(seen), s.SequenceNumber)
		if s.ParentSnapshotID == nil {
			break
		}
		s = meta.SnapshotByID(*s.ParentSnapshotID)
	}
	assert.Len(t, seen, 2*commits, "the history is one line that every commit is on, once")
	assert.Equal(t, 2*commits+1, l.metadataFiles(t), "losers leave nothing behind")
}
