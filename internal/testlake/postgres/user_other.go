//go:build !unix

package postgres

import (
	"errors"
	"syscall"
)

func unprivileged(string) (*syscall.SysProcAttr, error) {
	return nil, errors.New("not on this system")
}
