package azure

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	azblob "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"gocloud.dev/blob/driver"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
)

// reader implements driver.Reader.
type reader struct {
	body       io.ReadCloser
	attributes driver.ReaderAttributes
}

// NewRangeReader implements driver.Bucket.
func (b *bucket) NewRangeReader(ctx context.Context, key string, offset, length int64, opts *driver.ReaderOptions) (driver.Reader, error) {
	if opts.BeforeRead != nil {
		if err := opts.BeforeRead(cloud.NoParameters); err != nil {
			return nil, err
		}
	}
	if err := checkKey(key); err != nil {
		return nil, err
	}
	wanted := azblob.HTTPRange{Offset: offset}
	if length > 0 {
		wanted.Count = length
	}
	reply, err := b.client.NewBlobClient(key).DownloadStream(once(ctx), &azblob.DownloadStreamOptions{Range: wanted})
	if err != nil {
		return nil, judge(err)
	}
	size, err := check(reply, offset, length)
	if err != nil {
		_ = reply.Body.Close() // nobody has read from it
		return nil, err
	}
	return &reader{body: reply.Body, attributes: driver.ReaderAttributes{
		ContentType: value(reply.ContentType), ModTime: value(reply.LastModified), Size: size,
	}}, nil
}

// check compares a reply with what was asked for and returns the size of the object.
func check(reply azblob.DownloadStreamResponse, offset, length int64) (int64, error) {
	sent := value(reply.ContentLength)
	if reply.ContentRange == nil {
		return sent, cloud.CheckRange(offset, length, sent, 0, sent)
	}
	if beyond(*reply.ContentRange, offset) {
		return 0, &cloud.Error{Kind: cloud.BeyondEnd, Err: fmt.Errorf("it sent nothing as %q", *reply.ContentRange)}
	}
	first, last, size, ok := cloud.ParseContentRange(*reply.ContentRange)
	if !ok || size == cloud.UnknownSize || reply.ContentLength != nil && sent != last-first+1 {
		return 0, &cloud.Error{Kind: cloud.WrongReply, Err: fmt.Errorf("it sent %d bytes as %q", sent, *reply.ContentRange)}
	}
	return size, cloud.CheckRange(offset, length, size, first, last-first+1)
}

// beyond tells whether a reply says, in Azurite's way, that the object ends before the range begins: "bytes 8-4/5". Azure
// itself answers with status 416.
func beyond(contentRange string, offset int64) bool {
	_, total, _ := strings.Cut(contentRange, "/")
	size, err := strconv.ParseInt(total, 10, 64)
	return err == nil && size <= offset && contentRange == fmt.Sprintf("bytes %d-%d/%d", offset, size-1, size)
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	return n, judge(err)
}

// Close implements io.Closer.
func (r *reader) Close() error { return r.body.Close() }

// Attributes implements driver.Reader.
func (r *reader) Attributes() *driver.ReaderAttributes { return &r.attributes }

// As implements driver.Reader.
func (r *reader) As(any) bool { return false }
