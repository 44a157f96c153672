package crash

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dvcompactor/dvcompactor/internal/storage/localblob"
)

const (
	renameat2 = 316
	atFDCWD   = -100
)

// change is a system call that changes a file.
type change struct {
	verb, path string
	to         string // of a rename or link
}

// changeOf reads what a call changes; false when it is not one that changes files.
func changeOf(thread int, info *syscallInfo) (c change, ok bool) {
	const here = uint64(atFDCWD & 0xffffffff)
	a := info.args
	switch info.number {
	case syscall.SYS_OPEN:
		return change{verb: "create", path: pathAt(thread, here, a[0])}, a[1]&syscall.O_CREAT != 0
	case syscall.SYS_OPENAT:
		return change{verb: "create", path: pathAt(thread, a[0], a[1])}, a[2]&syscall.O_CREAT != 0
	case syscall.SYS_WRITE, syscall.SYS_PWRITE64:
		return change{verb: "write", path: pathOf(thread, a[0])}, true
	case syscall.SYS_FSYNC, syscall.SYS_FDATASYNC:
		return change{verb: "sync", path: pathOf(thread, a[0])}, true
	case syscall.SYS_FTRUNCATE:
		return change{verb: "truncate", path: pathOf(thread, a[0])}, true
	case syscall.SYS_RENAME, syscall.SYS_LINK:
		return change{verb: "rename", path: pathAt(thread, here, a[0]), to: pathAt(thread, here, a[1])}, true
	case syscall.SYS_RENAMEAT, renameat2, syscall.SYS_LINKAT:
		return change{verb: "rename", path: pathAt(thread, a[0], a[1]), to: pathAt(thread, a[2], a[3])}, true
	case syscall.SYS_UNLINK, syscall.SYS_RMDIR:
		return change{verb: "remove", path: pathAt(thread, here, a[0])}, true
	case syscall.SYS_UNLINKAT:
		return change{verb: "remove", path: pathAt(thread, a[0], a[1])}, true
	case syscall.SYS_MKDIR:
		return change{verb: "make", path: pathAt(thread, here, a[0])}, true
	case syscall.SYS_MKDIRAT:
		return change{verb: "make", path: pathAt(thread, a[0], a[1])}, true
	}
	return change{}, false
}

// pathOf returns the path of an open file, or what it is instead of a file.
func pathOf(thread int, fd uint64) string {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", thread, int32(fd)))
	if err != nil {
		return ""
	}
	return path
}

// pathAt returns the path of a name below an open folder.
func pathAt(thread int, fd, address uint64) string {
	name := text(thread, address)
	switch {
	case filepath.IsAbs(name):
		return filepath.Clean(name)
	case int32(fd) == atFDCWD:
		cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", thread))
		if err != nil {
			return name
		}
		return filepath.Join(cwd, name)
	}
	return filepath.Join(pathOf(thread, fd), name)
}

// traced runs a command line and tells of each change below a folder, counted from 1, before it happens.
func traced(t *testing.T, dir string, argv []string, at func(n int, c change) (kill bool)) syscall.WaitStatus {
	n := 0
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = []string{"HOME=" + dir}
	status, err := trace(cmd, func(thread int, info *syscallInfo) bool {
		c, ok := changeOf(thread, info)
		if !ok || c.path != dir && !strings.HasPrefix(c.path, dir+"/") {
			return false
		}
		n++
		return at(n, c)
	})
	if errors.Is(err, syscall.EPERM) {
		t.Skip("this machine does not let a process trace another")
	}
	require.NoError(t, err)
	return status
}

// countCalls returns a point before each call that changes something, and one at the end.
func countCalls(t *testing.T, s scenario, l *lab) (points []*point) {
	var changes []change
	named := map[string]string{} // kinds of temporary files, which get their names with a rename
	status := traced(t, l.dir, s.command(l.config), func(_ int, c change) bool {
		changes = append(changes, c)
		if c.verb == "rename" {
			named[c.path] = kind(c.to)
		}
		return false
	})
	require.True(t, status.Exited() && status.ExitStatus() == 0, "%v", status)
	for i, write := range numbered(describe(l.dir, changes, named)) {
		points = append(points, &point{number: i + 1, write: write})
	}
	return append(points, &point{number: len(points) + 1, write: "the end of the run", end: true})
}

// countSyncs returns the points of countCalls at which another thing has been synced.
func countSyncs(t *testing.T, s scenario, l *lab) (points []*point) {
	all := countCalls(t, s, l)
	for i, p := range all {
		if i == 0 || p.end || strings.HasPrefix(all[i-1].write, "sync ") {
			points = append(points, p)
		}
	}
	return points
}

// describe says what each change is to what.
func describe(dir string, changes []change, named map[string]string) []string {
	var out []string
	for _, c := range changes {
		what := kind(c.path)
		if strings.HasPrefix(what, localblob.TempPrefix) {
			what = "temporary " + named[c.path]
		}
		if info, err := os.Stat(c.path); err == nil && info.IsDir() {
			what = "folder " + cmp.Or(strings.TrimPrefix(strings.TrimPrefix(c.path, dir), "/"), "of catalog.db")
		}
		out = append(out, c.verb+" "+what)
	}
	return out
}

// killAtCall kills a run before a call, or at its end.
func killAtCall(t *testing.T, s scenario, l *lab, p *point) {
	p.stopped(t, traced(t, l.dir, s.command(l.config), func(n int, _ change) bool { return n == p.number }))
}

// stopped demands that a run ended where it was to end.
func (p *point) stopped(t *testing.T, status syscall.WaitStatus) {
	if p.end {
		require.True(t, status.Exited() && status.ExitStatus() == 0, "%v", status)
		return
	}
	require.True(t, status.Signaled() && status.Signal() == syscall.SIGKILL, "%v", status)
}

// cutPowerAtCall kills a run before a call, or at its end, and takes away what was not synced until then.
func cutPowerAtCall(t *testing.T, s scenario, l *lab, p *point) {
	d := newDisk(t, l.dir)
	p.stopped(t, traced(t, l.dir, s.command(l.config), func(n int, c change) bool {
		if n < p.number && c.verb == "sync" {
			d.sync(t, c.path)
		}
		return n == p.number
	}))
	d.cutPower(t)
}
