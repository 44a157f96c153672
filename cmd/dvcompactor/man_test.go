package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
)

func TestEveryVerbThatHelpListsHasAManualPage(t *testing.T) {
	s := newShell(t)
	dir := filepath.Join(t.TempDir(), "man")
	assert.Equal(t, outcome{}, s.run("man", dir))
	for _, verb := range []string{"dvcompactor", "dvcompactor-compact", "dvcompactor-config-check", "dvcompactor-completion"} {
		page, err := os.ReadFile(filepath.Join(dir, verb+".1"))
		require.NoError(t, err)
		assert.Contains(t, string(page), ".SH SYNOPSIS")
		assert.NotContains(t, string(page), "Auto generated")
	}
	root, err := os.ReadFile(filepath.Join(dir, "dvcompactor.1"))
	require.NoError(t, err)
	assert.Contains(t, string(root), "\\fBdvcompactor-migrate(1)\\fP")
	assert.Regexp(t, `(?m)^ *10 +\S`, string(root), "exit codes, a line each")
	assert.NoFileExists(t, filepath.Join(dir, "dvcompactor-man.1"))
	assert.Equal(t, exit.Usage, s.run("man").code)
	assert.NotContains(t, s.run("--help").stdout, "manual page")
}
