//go:build !nohive

package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	metastore "github.com/beltran/gohive/hive_metastore"
)

// Bounds of what a metastore is believed: a reply has so many bytes, and a list in it so many elements, for which memory
// is asked for before they come.
const (
	hiveReply    = 64 << 20
	hiveElements = 1 << 20
)

var errHiveReply = fmt.Errorf("the reply is longer than %d MiB", hiveReply>>20)

// hiveSession speaks to a metastore, over one connection at a time, which is made when it is needed. It is for one
// goroutine.
type hiveSession struct {
	addresses []string
	timeout   time.Duration // of one request

	conn   *meter
	client *metastore.ThriftHiveMetastoreClient
}

func (c *hiveCatalog) session() *hiveSession {
	return &hiveSession{addresses: c.addresses, timeout: c.options.Timeout}
}

// reading lets do ask in a session of its own, again and again while it gets no answer, as often as reads are repeated.
// One that took all the time it had is not.
func (c *hiveCatalog) reading(ctx context.Context, do func(*hiveSession) error) error {
	return c.options.Retry.Repeat(ctx, func(int) error {
		s := c.session()
		defer s.close()
		return do(s)
	}, func(err error) (bool, time.Duration) {
		return !hiveAnswered(err) && !errors.Is(err, ErrNotFound) && !errors.Is(err, context.DeadlineExceeded), 0
	})
}

// call lets do send one request and read the reply, within the time of a request. What remains of a connection on which
// that did not work is not used again.
func (s *hiveSession) call(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if err := s.connect(ctx); err != nil {
		return err
	}
	conn := s.conn
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	conn.left = hiveReply
	err := do(ctx)
	if ended := !stop(); ended || err != nil && !hiveAnswered(err) {
		s.close()
	}
	switch {
	case err == nil || hiveAnswered(err):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("metastore %s: %w: %w", conn.RemoteAddr(), ctx.Err(), err)
	case errors.Is(err, io.EOF):
		err = fmt.Errorf("it ended the connection, as those do that ask for Kerberos or TLS, which this program does not speak: %w", err)
	}
	return fmt.Errorf("metastore %s: %w", conn.RemoteAddr(), err)
}

// connect makes a connection unless there is one, to the first address that takes it.
func (s *hiveSession) connect(ctx context.Context) error {
	if s.conn != nil {
		return nil
	}
	var failed []error
	for _, address := range s.addresses {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		s.conn = &meter{Conn: conn}
		protocol := boundedProtocol{thrift.NewTBinaryProtocolConf(thrift.NewStreamTransportRW(s.conn), &thrift.TConfiguration{MaxMessageSize: hiveReply})}
		s.client = metastore.NewThriftHiveMetastoreClient(thrift.NewTStandardClient(protocol, protocol))
		return nil
	}
	return fmt.Errorf("no metastore takes a connection: %w", errors.Join(failed...))
}

func (s *hiveSession) close() {
	if s.conn != nil {
		_ = s.conn.Close() // it may be closed already
	}
	s.conn, s.client = nil, nil
}

// ask is call for a request with an answer.
func ask[T any](ctx context.Context, s *hiveSession, do func(context.Context) (*T, error)) (out *T, err error) {
	err = s.call(ctx, func(ctx context.Context) error {
		if out, err = do(ctx); err == nil && out == nil {
			err = errors.New("the reply is empty")
		}
		return err
	})
	return out, err
}

func (s *hiveSession) databases(ctx context.Context) (out []string, err error) {
	err = s.call(ctx, func(ctx context.Context) error {
		out, err = s.client.GetAllDatabases(ctx)
		return err
	})
	return out, err
}

func (s *hiveSession) names(ctx context.Context, database string) (out []string, err error) {
	err = s.call(ctx, func(ctx context.Context) error {
		out, err = s.client.GetAllTables(ctx, database)
		return err
	})
	return out, err
}

// capable says that we know of tables that may only be read in certain ways, which metastores hide from others.
func capable() *metastore.ClientCapabilities {
	return &metastore.ClientCapabilities{Values: []metastore.ClientCapability{metastore.ClientCapability_INSERT_ONLY_TABLES}}
}

func (s *hiveSession) tables(ctx context.Context, database string, names []string) ([]*metastore.Table, error) {
	reply, err := ask(ctx, s, func(ctx context.Context) (*metastore.GetTablesResult_, error) {
		return s.client.GetTableObjectsByNameReq(ctx, &metastore.GetTablesRequest{DbName: database, TblNames: names, Capabilities: capable()})
	})
	if err != nil {
		return nil, err
	}
	return reply.GetTables(), nil
}

func (s *hiveSession) table(ctx context.Context, database, name string) (*metastore.Table, error) {
	reply, err := ask(ctx, s, func(ctx context.Context) (*metastore.GetTableResult_, error) {
		return s.client.GetTableReq(ctx, &metastore.GetTableRequest{DbName: database, TblName: name, Capabilities: capable(), ID: -1})
	})
	if err != nil {
		return nil, err
	}
	return reply.GetTable(), nil
}

// hiveAnswered says that an error is an answer of the metastore: one of those that its methods declare, or that it could
// not carry out the request.
func hiveAnswered(err error) bool {
	var application thrift.TApplicationException
	var declared thrift.TException
	if errors.As(err, &application) {
		return application.TypeId() != thrift.BAD_SEQUENCE_ID && application.TypeId() != thrift.WRONG_METHOD_NAME && application.TypeId() != thrift.INVALID_MESSAGE_TYPE_EXCEPTION
	}
	return errors.As(err, &declared) && declared.TExceptionType() == thrift.TExceptionTypeCompiled
}

// meter is a connection that gives so many more bytes.
type meter struct {
	net.Conn
	left int
}

// Read implements io.Reader.
func (m *meter) Read(b []byte) (int, error) {
	if m.left <= 0 {
		return 0, errHiveReply
	}
	n, err := m.Conn.Read(b[:min(len(b), m.left)])
	m.left -= n
	return n, err
}

// boundedProtocol is the binary protocol, which asks for memory for as many elements as a reply says that it has.
type boundedProtocol struct{ *thrift.TBinaryProtocol }

// ReadListBegin implements thrift.TProtocol.
func (p boundedProtocol) ReadListBegin(ctx context.Context) (thrift.TType, int, error) {
	kind, n, err := p.TBinaryProtocol.ReadListBegin(ctx)
	return kind, n, bounded(n, err)
}

// ReadSetBegin implements thrift.TProtocol.
func (p boundedProtocol) ReadSetBegin(ctx context.Context) (thrift.TType, int, error) {
	kind, n, err := p.TBinaryProtocol.ReadSetBegin(ctx)
	return kind, n, bounded(n, err)
}

// ReadMapBegin implements thrift.TProtocol.
func (p boundedProtocol) ReadMapBegin(ctx context.Context) (key, value thrift.TType, n int, err error) {
	key, value, n, err = p.TBinaryProtocol.ReadMapBegin(ctx)
	return key, value, n, bounded(n, err)
}

// Skip implements thrift.TProtocol.
func (p boundedProtocol) Skip(ctx context.Context, kind thrift.TType) error {
	return thrift.SkipDefaultDepth(ctx, p, kind)
}

func bounded(n int, err error) error {
	if err == nil && n > hiveElements {
		return fmt.Errorf("the reply has a list of %d elements, more than %d", n, hiveElements)
	}
	return err
}
