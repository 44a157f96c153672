// Package loopback is what tests need that start the server of others as a process of their own.
package loopback

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FreeAddress returns a host:port of this machine that nobody listens at.
func FreeAddress(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}

// Await asks a server again and again until it answers, and tells whether it did: as long as its process has not ended, and
// for some time at most.
func Await(ended <-chan struct{}, patience time.Duration, answers func() bool) bool {
	const pause = 20 * time.Millisecond
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if answers() {
			return true
		}
		select {
		case <-ended:
			return false
		case <-time.After(pause):
		}
	}
	return false
}
