package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/dvcompactor/dvcompactor/puffin"
	"golang.org/x/sync/errgroup"
)

// puffins asks for the sizes of the new files and reads the footers of those that are Puffin files: what a reader learns
// there has to be what the manifests say.
func (c *checker) puffins(ctx context.Context) error {
	vectors := map[string][]Vector{}
	for _, v := range c.Added {
		vectors[v.Puffin] = append(vectors[v.Puffin], v)
	}
	for _, location := range slices.Sorted(maps.Keys(vectors)) {
		if err := c.puffin(ctx, location, vectors[location]); err != nil {
			return fmt.Errorf("puffin file %s: %w", location, err)
		}
	}
	if err := c.sizes(ctx); err != nil {
		return err
	}
	files := len(c.AddedFiles)
	c.compared("B10", len(vectors)+files, "%d Puffin files and %d position delete files are there with the size that the manifests say", len(vectors), files)
	c.compared("B3", len(c.Added), "%d blobs in their footers have the ranges, data files and cardinalities of the manifests", len(c.Added))
	return nil
}

// sizes asks for the sizes of the new position delete files, of which there may be one for each data file.
func (c *checker) sizes(ctx context.Context) error {
	found := make([]string, len(c.AddedFiles))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, c.Parallelism))
	for i, f := range c.AddedFiles {
		g.Go(func() error {
			if size, err := c.After.Store.Object(f.Location, 0).Size(ctx); err != nil {
				found[i] = err.Error()
			} else if size != f.Size {
				found[i] = fmt.Sprintf("it has %d bytes, want %d", size, f.Size)
			}
			return ctx.Err()
		})
	}
	err := g.Wait()
	for i, why := range found {
		if why != "" {
			c.differ("B10", "position delete file %s: %s", c.AddedFiles[i].Location, why)
		}
	}
	return err
}

func (c *checker) puffin(ctx context.Context, location string, vectors []Vector) error {
	object := c.After.Store.Object(location, 0)
	size, err := object.Size(ctx)
	if err != nil {
		c.differ("B10", "Puffin file %s: %v", location, err)
		return nil
	}
	if size != vectors[0].PuffinSize {
		c.differ("B10", "Puffin file %s has %d bytes, want %d", location, size, vectors[0].PuffinSize)
		return nil
	}
	footer, err := puffin.Open(ctx, object, puffin.OpenOptions{Location: location, Size: size})
	if err != nil {
		c.differ("B3", "%v", err)
		return nil
	}
	if footer.FooterCompressed {
		c.differ("B3", "the footer of %s is compressed", location)
	}
	blobs := map[int64]puffin.BlobMetadata{}
	for _, b := range footer.Blobs {
		blobs[b.Offset] = b
	}
	for _, v := range vectors {
		if why := blobDiffers(blobs[v.Offset], v); why != "" {
			c.differ("B3", "the footer of %s: blob at %d: %s", location, v.Offset, why)
		}
	}
	return nil
}

// blobDiffers says in what a blob of a footer is not the vector of a manifest entry.
func blobDiffers(b puffin.BlobMetadata, v Vector) string {
	switch {
	case !b.IsDeletionVector():
		return "is not a deletion vector"
	case b.Length != v.Length:
		return fmt.Sprintf("has length %d, want %d", b.Length, v.Length)
	case b.ReferencedDataFile() != v.DataFile.Path:
		return fmt.Sprintf("is of %q, want %q", b.ReferencedDataFile(), v.DataFile.Path)
	case b.Cardinality() != v.Cardinality:
		return fmt.Sprintf("has cardinality %d, want %d", b.Cardinality(), v.Cardinality)
	case b.CompressionCodec != puffin.CodecNone || b.SnapshotID != -1 || b.SequenceNumber != -1:
		return "has a codec, a snapshot id or a sequence number"
	}
	return ""
}
