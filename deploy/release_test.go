package deploy

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// distVariable names the folder of what goreleaser made.
const distVariable = "DVC_RELEASE_DIST"

// release is the part of what goreleaser made that is for one machine.
type release struct {
	dir                       string
	Version, Commit, Tag      string
	archive, deb, rpm, binary string
}

// released finds the release that is to be looked at.
func released(t *testing.T) release {
	t.Helper()
	dir := os.Getenv(distVariable)
	if dir == "" {
		t.Skipf("%s does not name the folder of a release", distVariable)
	}
	r := release{dir: dir}
	require.NoError(t, json.Unmarshal([]byte(read(t, filepath.Join(dir, "metadata.json"))), &r))
	r.archive = only(t, filepath.Join(dir, "*_linux_amd64.tar.gz"))
	r.deb = only(t, filepath.Join(dir, "*_linux_amd64.deb"))
	r.rpm = only(t, filepath.Join(dir, "*_linux_amd64.rpm"))
	r.binary = only(t, filepath.Join(dir, "dvcompactor_linux_amd64_*", "dvcompactor"))
	return r
}

func only(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.Len(t, found, 1, pattern)
	return found[0]
}

// files returns the paths below a folder of all that is in it and no folder, sorted.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	}))
	return out
}

// pages are the names of the manual pages that the program of a release writes.
func (r release) pages(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	output(t, r.binary, "man", dir)
	out := files(t, dir)
	require.Contains(t, out, "dvcompactor-compact.1")
	return out
}

// hasTheProgram wants a file to be the program of a release, and one that can be run.
func (r release) hasTheProgram(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o755), info.Mode())
	assert.True(t, read(t, r.binary) == read(t, path), "it is another program")
}

// inFolder puts a folder in front of names.
func inFolder(folder string, names []string) []string {
	var out []string
	for _, name := range names {
		out = append(out, folder+"/"+name)
	}
	return out
}

func TestTheProgramOfAReleaseSaysItsVersion(t *testing.T) {
	t.Parallel()
	r := released(t)
	says := output(t, r.binary, "version")
	assert.Contains(t, says, r.Commit)
	assert.Contains(t, says, "dvcompactor "+r.Tag+" ", "with the tag, and nothing that was changed after it")
}

func TestAnArchiveHasAllThatAMachineNeeds(t *testing.T) {
	t.Parallel()
	r, dir := released(t), t.TempDir()
	output(t, tool(t, "tar"), "--extract", "--file", r.archive, "--directory", dir)
	want := slices.Concat(
		[]string{"LICENSE", "README.md", "SECURITY.md", "deploy/systemd/dvcompactor.service", "docs/config.example.yaml", "docs/runbook.md", "dvcompactor"},
		[]string{"dist-completions/_dvcompactor", "dist-completions/dvcompactor.bash", "dist-completions/dvcompactor.fish"},
		inFolder("dist-man", r.pages(t)))
	assert.ElementsMatch(t, want, files(t, dir))
	r.hasTheProgram(t, filepath.Join(dir, "dvcompactor"))
	for _, name := range []string{"LICENSE", "README.md", "deploy/systemd/dvcompactor.service", "docs/config.example.yaml"} {
		assert.Equal(t, read(t, filepath.Join("..", name)), read(t, filepath.Join(dir, name)), name)
	}
	for shell, file := range map[string]string{"bash": "dvcompactor.bash", "zsh": "_dvcompactor", "fish": "dvcompactor.fish"} {
		assert.Equal(t, output(t, r.binary, "completion", shell), read(t, filepath.Join(dir, "dist-completions", file)))
	}
}

// installed are the files that a package puts on a machine.
func (r release) installed(t *testing.T, zsh string) []string {
	return slices.Concat([]string{
		"etc/dvcompactor/config.yaml", "etc/dvcompactor/environment", "usr/bin/dvcompactor", "usr/lib/systemd/system/dvcompactor.service",
		"usr/share/bash-completion/completions/dvcompactor", "usr/share/fish/vendor_completions.d/dvcompactor.fish", "usr/share/zsh/" + zsh + "/_dvcompactor",
		"usr/share/doc/dvcompactor/config.example.yaml", "usr/share/doc/dvcompactor/copyright", "usr/share/doc/dvcompactor/runbook.md",
	}, inFolder("usr/share/man/man1", r.pages(t)))
}

// kept are the files whose changes an upgrade leaves alone.
const kept = "/etc/dvcompactor/config.yaml\n/etc/dvcompactor/environment\n"

func TestAPackageForDebianInstallsTheDaemonAndKeepsItsConfiguration(t *testing.T) {
	t.Parallel()
	r := released(t)
	dpkg, dir := tool(t, "dpkg-deb"), t.TempDir()
	output(t, dpkg, "--raw-extract", r.deb, dir)
	control := func(name string) string { return read(t, filepath.Join(dir, "DEBIAN", name)) }
	assert.Equal(t, kept, control("conffiles"))
	assert.Contains(t, control("control"), "\nVersion: "+r.Version+"\n")
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		assert.Contains(t, control(script), "systemctl", script)
	}
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "DEBIAN")))
	assert.ElementsMatch(t, r.installed(t, "vendor-completions"), files(t, dir))
	r.hasTheProgram(t, filepath.Join(dir, "usr/bin/dvcompactor"))
	secrets, err := os.Stat(filepath.Join(dir, "etc/dvcompactor/environment"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), secrets.Mode())
}

func TestAPackageForRPMInstallsTheDaemonAndKeepsItsConfiguration(t *testing.T) {
	t.Parallel()
	r := released(t)
	query := func(args ...string) string {
		return output(t, tool(t, "rpm"), append([]string{"--query", "--package", r.rpm}, args...)...)
	}
	assert.ElementsMatch(t, inFolder("", r.installed(t, "site-functions")), strings.Fields(query("--list")))
	assert.Equal(t, kept, query("--configfiles"))
	assert.Equal(t, r.Version, query("--queryformat", "%{VERSION}"))
	assert.Contains(t, query("--queryformat", "[%{FILENAMES} %{FILEMODES:perms} %{FILEFLAGS:fflags}\n]"), "/etc/dvcompactor/environment -rw------- cn\n", "changes are kept, and nobody else reads it")
	assert.Equal(t, 3, strings.Count(query("--scripts"), "scriptlet (using /bin/sh):"))
}

// The configuration of a package is a beginning: the daemon says what is missing, in words that lead on, and does nothing.
func TestTheConfigurationOfAPackageSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := released(t)
	out, err := exec.CommandContext(t.Context(), r.binary, "serve", "--config", "package/config.yaml").CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 2, exit.ExitCode(), "after which systemd does not start it again")
	assert.Contains(t, string(out), "catalogs: is empty; write catalogs:")
}

func TestTheChecksumsOfAReleaseAreThoseOfAllItsFiles(t *testing.T) {
	t.Parallel()
	r := released(t)
	var listed []string
	for line := range strings.Lines(read(t, filepath.Join(r.dir, "checksums.txt"))) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		require.True(t, ok, line)
		got := sha256.Sum256([]byte(read(t, filepath.Join(r.dir, name))))
		assert.Equal(t, sum, hex.EncodeToString(got[:]), name)
		listed = append(listed, filepath.Join(r.dir, name))
	}
	made, err := filepath.Glob(filepath.Join(r.dir, "dvcompactor_"+r.Version+"_*"))
	require.NoError(t, err)
	assert.ElementsMatch(t, made, listed)
}

// component is a module in a bill of materials.
type component struct {
	Name, Version string
	Evidence      struct{ Licenses []any }
}

func TestTheBillOfMaterialsNamesEveryModuleInTheProgram(t *testing.T) {
	t.Parallel()
	r := released(t)
	var bill struct {
		BomFormat, SpecVersion string
		Metadata               struct{ Component component }
		Components             []component
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, r.archive+".cdx.json")), &bill))
	assert.Equal(t, "CycloneDX", bill.BomFormat)
	assert.NotEmpty(t, bill.SpecVersion)
	assert.Equal(t, "github.com/dvcompactor/dvcompactor", bill.Metadata.Component.Name)
	assert.Equal(t, r.Tag, bill.Metadata.Component.Version)

	built, err := buildinfo.ReadFile(r.binary)
	require.NoError(t, err)
	want := map[string]string{"std": built.GoVersion}
	for _, m := range built.Deps {
		want[m.Path] = m.Version
	}
	got, licensed := map[string]string{}, 0
	for _, c := range bill.Components {
		got[c.Name] = c.Version
		if len(c.Evidence.Licenses) > 0 {
			licensed++
		}
	}
	assert.Equal(t, want, got)
	assert.Equal(t, regexp.MustCompile(`github.com/apache/iceberg-go (\S+)`).FindStringSubmatch(read(t, "../go.mod"))[1], got["github.com/apache/iceberg-go"])
	assert.Greater(t, licensed, len(want)*9/10, "the licences of nearly all can be told")
}
