package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// build builds the program, without the race detector even when the tests have it.
func build(t *testing.T) string {
	binary := filepath.Join(t.TempDir(), "dvcompactor")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "../../cmd/dvcompactor")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// process is one run of the program.
type process struct {
	cmd     *exec.Cmd
	started chan struct{} // closed when it has a process
	ended   chan struct{} // closed when it is no more
	stdout  bytes.Buffer
	stderr  bytes.Buffer
}

// command is the command line of a scenario.
func (s scenario) command(config string) []string {
	return slices.Concat([]string{s.binary}, s.args, []string{"--config", config, "--output", "json", "lake.db.t"})
}

// newProcess prepares a run of a command line; nothing of the environment of the tests is left to it.
func newProcess(ctx context.Context, home string, argv []string) *process {
	p := &process{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...), started: make(chan struct{}), ended: make(chan struct{})}
	p.cmd.Env = []string{"HOME=" + home, "AWS_EC2_METADATA_DISABLED=true"}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	return p
}

func (p *process) run(t *testing.T) {
	require.NoError(t, p.cmd.Start())
	close(p.started)
	_ = p.cmd.Wait() // how it ended is in its state
	close(p.ended)
}

// kill ends the process at once and returns when it is no more.
func (p *process) kill() {
	<-p.started
	_ = p.cmd.Process.Kill() // it may be gone
	<-p.ended
}

// outcome is what a run that came to its end says.
type outcome struct {
	Committed bool `json:"committed"`
}

// finish runs a command line to its end, which has to be a good one.
func finish(t *testing.T, home string, argv []string) outcome {
	p := newProcess(t.Context(), home, argv)
	p.run(t)
	require.Equal(t, 0, p.cmd.ProcessState.ExitCode(), "%s%s", &p.stdout, &p.stderr)
	var out outcome
	require.NoError(t, json.Unmarshal(p.stdout.Bytes(), &out), "%s", &p.stdout)
	return out
}
