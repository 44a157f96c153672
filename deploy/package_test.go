package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asked runs a script of a package where systemd is at work, and returns what it asked of systemctl, which fails each time.
func asked(t *testing.T, script, argument, systemd string) string {
	t.Helper()
	dir := t.TempDir()
	log, fake := filepath.Join(dir, "log"), filepath.Join(dir, "systemctl")
	require.NoError(t, os.WriteFile(fake, []byte("#!/bin/sh\necho \"$*\" >>\""+log+"\"\nexit 1\n"), 0o700))
	text := strings.ReplaceAll(read(t, "package/"+script), "/run/systemd/system", systemd)
	require.Contains(t, text, systemd)
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", text, script, argument)
	cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "a package is installed and removed even when systemd does not answer\n%s", out)
	assert.Empty(t, string(out))
	if _, err := os.Stat(log); err != nil {
		return ""
	}
	return read(t, log)
}

func TestPackagesReplaceADaemonThatRunsAndStopItOnlyWhenTheyAreRemoved(t *testing.T) {
	t.Parallel()
	const restart, stop, reload = "daemon-reload\ntry-restart dvcompactor.service\n", "disable --now dvcompactor.service\n", "daemon-reload\n"
	for _, c := range []struct{ script, argument, want string }{
		{"postinstall", "configure", restart}, {"postinstall", "1", restart}, {"postinstall", "2", restart},
		{"preremove", "remove", stop}, {"preremove", "0", stop}, {"preremove", "upgrade", ""}, {"preremove", "1", ""},
		{"postremove", "remove", reload}, {"postremove", "0", reload},
	} {
		assert.Equal(t, c.want, asked(t, c.script, c.argument, t.TempDir()), "%s %s", c.script, c.argument)
		assert.Empty(t, asked(t, c.script, c.argument, "/nowhere"), "%s %s without systemd", c.script, c.argument)
	}
}
