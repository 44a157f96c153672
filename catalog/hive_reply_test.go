package catalog_test

import (
	"context"
	"net"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake/hive"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// theList begins the result of get_all_databases, of so many texts.
func theList(ctx context.Context, p thrift.TProtocol, n int) {
	_, _ = p.WriteFieldBegin(ctx, "", thrift.LIST, 0), p.WriteListBegin(ctx, thrift.STRING, n) // the client may be gone
}

func TestAMetastoreIsNotBelievedWhatItSaysOfTheLengthOfItsReply(t *testing.T) {
	t.Parallel()
	hiveIsIn(t)
	for want, reply := range map[string]func(context.Context, thrift.TProtocol) error{
		"a list of 2097152 elements": func(ctx context.Context, p thrift.TProtocol) error {
			theList(ctx, p, 2<<20)
			return nil
		},
		"size exceeded max allowed": func(ctx context.Context, p thrift.TProtocol) error {
			theList(ctx, p, 1)
			return p.WriteI32(ctx, 1<<30)
		},
		"the reply is longer than 64 MiB": func(ctx context.Context, p thrift.TProtocol) error {
			theList(ctx, p, 3)
			for range 3 {
				if err := p.WriteString(ctx, string(make([]byte, 40<<20))); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			c := opener(catalog.Options{Name: catalogName, Type: "hive", URI: "thrift://" + answering(t, reply), Retry: storage.RetryOptions{Attempts: 1}})(t)
			_, err := c.List(t.Context(), nil)
			require.ErrorContains(t, err, want)
			assert.ErrorContains(t, err, "listing catalog lake: metastore 127.0.0.1:")
		})
	}
}

// answering is the address of what answers the first request of a connection so.
func answering(t *testing.T, reply func(context.Context, thrift.TProtocol) error) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			request := make([]byte, 4<<10)
			if n, err := conn.Read(request); err == nil {
				hive.Answer(reply)(conn, request[:n])
			}
			_ = conn.Close() // the client may have gone already
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		<-ended
	})
	return listener.Addr().String()
}
