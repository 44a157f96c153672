package puffin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// check refuses a range that cannot hold a deletion vector, before anything is read by it.
func (r DeletionVectorRange) check() error {
	switch {
	case r.Offset < 0:
		return r.corrupt(newFault(KindRange, 0, "content offset", "0 or more", r.Offset), -r.Offset-1)
	case r.Length < minDVSize || r.Length > MaxBlobSize:
		return r.corrupt(newFault(KindRange, 0, "content size of the deletion vector",
			fmt.Sprintf("%d to %d bytes", minDVSize, MaxBlobSize), r.Length), 0)
	case r.Offset > r.Offset+r.Length:
		return r.corrupt(newFault(KindRange, 0, "content offset", "an end below 2^63", r.Offset), 0)
	}
	return nil
}

// readError names the range in an error of the reader. A short object is corruption, a failed transport is not.
func (r DeletionVectorRange) readError(err error) error {
	var short *shortObjectError
	if errors.As(err, &short) {
		c := r.corrupt(newFault(KindRange, 0, "deletion vector", fmt.Sprintf("%d bytes", r.Length),
			fmt.Sprintf("an object of %d bytes", short.size)), 0)
		c.Err = err
		return c
	}
	where := fmt.Sprintf("deletion vector at %d+%d", r.Offset, r.Length)
	if r.ReferencedDataFile != "" {
		where += " of " + r.ReferencedDataFile
	}
	if r.Location != "" {
		where = r.Location + ": " + where
	}
	return fmt.Errorf("%s: %w", where, err)
}

// ReadDeletionVector reads the deletion vector at rng with one request, without the footer, and decodes it as
// [DecodeDeletionVector] does (Iceberg spec, "Deletion Vectors": a manifest entry holds all that is needed). A damaged
// footer is no obstacle.
//
// Errors are [*CorruptionError] for wrong bytes and for a range outside the object, when r is a [Sizer] that says so;
// others are r's own, wrapped.
func ReadDeletionVector(ctx context.Context, r RangeReader, rng DeletionVectorRange) (*Bitmap, error) {
	blob, err := readBlobAt(ctx, r, rng)
	if err != nil {
		return nil, err
	}
	return DecodeDeletionVector(blob, rng)
}

func readBlobAt(ctx context.Context, r RangeReader, rng DeletionVectorRange) ([]byte, error) {
	if err := rng.check(); err != nil {
		return nil, err
	}
	blob, err := readRange(ctx, r, rng.Offset, rng.Length)
	if err != nil {
		return nil, rng.readError(err)
	}
	return blob, nil
}

// ReadOptions bound the requests of [ReadDeletionVectors].
type ReadOptions struct {
	// MaxRequest is the largest request made for more than one vector, in bytes; 0 means [DefaultMaxRequest].
	MaxRequest int64
	// MaxGap is how many bytes between two vectors are read for nothing to save a request; 0 means
	// [DefaultMaxGap], a negative number joins vectors that touch only.
	MaxGap int64
}

func (o ReadOptions) withDefaults() ReadOptions {
	o.MaxRequest = cmp.Or(o.MaxRequest, DefaultMaxRequest)
	o.MaxGap = max(cmp.Or(o.MaxGap, DefaultMaxGap), 0)
	return o
}

// ReadDeletionVectors reads many deletion vectors of one object with few requests: it sorts ranges by offset and reads
// those that touch, or nearly do, at once. It calls deliver once for each range, in the order of their offsets, with
// the index into ranges and either the set or the error [ReadDeletionVector] would give. A damaged vector, or one
// whose range is wrong, does not stop its neighbours. No more than one request is held in memory.
//
// It stops with the error of deliver or of ctx; errors of single ranges are not returned.
func ReadDeletionVectors(ctx context.Context, r RangeReader, ranges []DeletionVectorRange, opts ReadOptions,
	deliver func(index int, b *Bitmap, err error) error) error {
	return ReadDeletionVectorBlobs(ctx, r, ranges, opts, func(i int, blob []byte, err error) error {
		if err != nil {
			return deliver(i, nil, err)
		}
		m, err := DecodeDeletionVector(blob, ranges[i])
		return deliver(i, m, err)
	})
}

// ReadDeletionVectorBlobs is [ReadDeletionVectors] for callers that look at the bytes themselves: deliver gets each blob
// as it is stored, or why it could not be read. A blob is valid during the call only.
func ReadDeletionVectorBlobs(ctx context.Context, r RangeReader, ranges []DeletionVectorRange, opts ReadOptions,
	deliver func(index int, blob []byte, err error) error) error {
	opts = opts.withDefaults()
	for _, batch := range coalesce(ranges, opts) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := readBatch(ctx, r, ranges, batch, deliver); err != nil {
			return err
		}
	}
	return nil
}

// batch is one request: the indexes of the ranges it serves, and where it begins and ends.
type batch struct {
	indexes    []int
	start, end int64
}

// coalesce groups ranges into requests. A range that is wrong in itself stands alone.
func coalesce(ranges []DeletionVectorRange, opts ReadOptions) []batch {
	order := make([]int, len(ranges))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(ranges[a].Offset, ranges[b].Offset), cmp.Compare(ranges[a].Length, ranges[b].Length))
	})
	var batches []batch
	joinable := false
	for _, i := range order {
		rng := ranges[i]
		if rng.check() != nil {
			batches = append(batches, batch{indexes: []int{i}})
			joinable = false
			continue
		}
		end := rng.Offset + rng.Length
		if joinable {
			last := &batches[len(batches)-1]
			if rng.Offset-last.end <= opts.MaxGap && max(end, last.end)-last.start <= opts.MaxRequest {
				last.indexes = append(last.indexes, i)
				last.end = max(end, last.end)
				continue
			}
		}
		batches = append(batches, batch{indexes: []int{i}, start: rng.Offset, end: end})
		joinable = true
	}
	return batches
}

// readBatch makes the request of a batch and delivers its blobs.
func readBatch(ctx context.Context, r RangeReader, ranges []DeletionVectorRange, b batch,
	deliver func(int, []byte, error) error) error {
	if len(b.indexes) == 1 {
		i := b.indexes[0]
		blob, err := readBlobAt(ctx, r, ranges[i])
		return deliverOrStop(ctx, deliver, i, blob, err)
	}
	data, err := readRange(ctx, r, b.start, b.end-b.start)
	for _, i := range b.indexes {
		rng := ranges[i]
		var blob []byte
		var blobErr error
		if err == nil {
			at := rng.Offset - b.start
			blob = data[at : at+rng.Length]
		} else {
			// One range that is wrong must not take its neighbours along, so each gets a request of its own.
			blob, blobErr = readBlobAt(ctx, r, rng)
		}
		if err := deliverOrStop(ctx, deliver, i, blob, blobErr); err != nil {
			return err
		}
	}
	return nil
}

// deliverOrStop does not blame a vector for a context that ended.
func deliverOrStop(ctx context.Context, deliver func(int, []byte, error) error, i int, blob []byte, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return deliver(i, blob, err)
}
