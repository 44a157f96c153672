package crash

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"
)

// Of ptrace(2) and wait(2), where package syscall has no names.
const (
	ptraceGetSyscallInfo = 0x420e
	ptraceExitKill       = 0x100000
	syscallEntry         = 1
	waitAll              = 0x40000000 // __WALL: threads too
	syscallStop          = syscall.SIGTRAP | 0x80
)

// syscallInfo is struct ptrace_syscall_info at the entry of a call.
type syscallInfo struct {
	op     uint8
	_      [3]uint8
	arch   uint32
	ip, sp uint64
	number uint64
	args   [6]uint64
	_      [2]uint64
}

// trace runs a program to its end and stops it before each system call of each of its threads. at is told of the call
// and says whether to kill the program instead. cmd must not have readers or writers that need goroutines.
func trace(cmd *exec.Cmd, at func(thread int, info *syscallInfo) (kill bool)) (syscall.WaitStatus, error) {
	runtime.LockOSThread() // only the thread that started a traced program may trace it
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true} // a group of its own can be waited for alone
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	pid := cmd.Process.Pid
	defer func() { _ = cmd.Process.Release() }() // it is waited for here
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, waitAll, nil); err != nil {
		return status, err
	}
	const options = syscall.PTRACE_O_TRACESYSGOOD | syscall.PTRACE_O_TRACECLONE | ptraceExitKill
	if err := errors.Join(syscall.PtraceSetOptions(pid, options), syscall.PtraceSyscall(pid, 0)); err != nil {
		return status, err
	}
	return follow(pid, at)
}

// follow lets the threads of a traced program go on until it has ended.
func follow(pid int, at func(thread int, info *syscallInfo) (kill bool)) (end syscall.WaitStatus, err error) {
	for {
		var status syscall.WaitStatus
		thread, err := syscall.Wait4(-pid, &status, waitAll, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.ECHILD):
			return end, nil
		case err != nil:
			return end, err
		case !status.Stopped():
			if thread == pid {
				end = status
			}
			continue
		}
		deliver := 0
		switch sig := status.StopSignal(); {
		case sig == syscallStop:
			if info, ok := entered(thread); ok && at(thread, info) {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					return end, err
				}
			}
		case sig == syscall.SIGTRAP, sig == syscall.SIGSTOP: // a new thread, on both sides
		default:
			deliver = int(sig)
		}
		_ = syscall.PtraceSyscall(thread, deliver) // it may have been killed
	}
}

// entered returns the call that a thread is about to do, false at the end of one.
func entered(thread int) (*syscallInfo, bool) {
	var info syscallInfo
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, ptraceGetSyscallInfo, uintptr(thread), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	return &info, errno == 0 && info.op == syscallEntry
}

// text reads a C string of the traced program.
func text(thread int, address uint64) string {
	var out []byte
	var word [8]byte
	for len(out) < 4096 {
		n, err := syscall.PtracePeekData(thread, uintptr(address)+uintptr(len(out)), word[:])
		if err != nil {
			return string(out)
		}
		for _, c := range word[:n] {
			if c == 0 {
				return string(out)
			}
			out = append(out, c)
		}
	}
	return string(out)
}
