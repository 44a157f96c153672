package positiondelete

import "fmt"

// runs cuts records, which come one by one, into runs of one path.
type runs struct {
	file      File
	visit     Visit
	path      []byte
	positions []int64
	nulls     int64
}

// add takes a record. Its path may be kept by the caller only.
func (r *runs) add(path []byte, pos int64) error {
	if string(path) != string(r.path) || len(r.positions) == batchRows {
		if err := r.flush(); err != nil {
			return err
		}
		r.path = append(r.path[:0], path...)
	}
	r.positions = append(r.positions, pos)
	return nil
}

// null takes a record without a path or without a position.
func (r *runs) null() error {
	if r.file.Nulls == nil {
		return fmt.Errorf("%w: a record without path or without position", ErrNull)
	}
	r.nulls++
	return nil
}

// flush hands on what was collected. It is to be called after the last record too.
func (r *runs) flush() error {
	if n := r.nulls; n > 0 {
		r.nulls = 0
		r.file.Nulls(n)
	}
	if len(r.positions) == 0 {
		return nil
	}
	defer func() { r.positions = r.positions[:0] }()
	return r.visit(r.path, r.positions)
}
