package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheUnitOfSystemdIsValidAndHardened(t *testing.T) {
	t.Parallel()
	analyze := tool(t, "systemd-analyze")
	const program = "/usr/bin/dvcompactor"
	unit := read(t, "systemd/dvcompactor.service")
	require.Contains(t, unit, program)
	self, err := os.Executable()
	require.NoError(t, err)
	// a program that is not installed would be an error
	path := filepath.Join(t.TempDir(), "dvcompactor.service")
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(unit, program, self)), 0o600))
	require.Empty(t, output(t, analyze, "verify", "--man=no", path))
	// in tenths: a service with no hardening at all has 96, 40 and less is called well protected
	output(t, analyze, "security", "--offline=true", "--threshold=15", "--no-pager", path)
}
