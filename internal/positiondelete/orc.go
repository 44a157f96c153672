package positiondelete

import (
	"fmt"
	"strconv"

	"github.com/dvcompactor/dvcompactor/internal/objectfile"
	"github.com/dvcompactor/dvcompactor/internal/orcfile"
)

// readORC passes the records of the ORC file that in reads to visit.
func readORC(in *objectfile.Reader, f File, visit Visit) error {
	file, err := orcfile.Open(in, in.Size())
	if err != nil {
		return err
	}
	path, pathByName := findORC(file.Columns, FilePathID, "file_path")
	pos, posByName := findORC(file.Columns, posID, "pos")
	switch {
	case path == nil || pos == nil || path == pos:
		return fmt.Errorf("%w: no file_path and pos among %d columns", ErrColumn, len(file.Columns))
	case !path.Text():
		return fmt.Errorf("%w: file_path is no string", ErrColumn)
	case !pos.Long() || pos.Attributes["iceberg.long-type"] == "TIME":
		return fmt.Errorf("%w: pos is no long", ErrColumn)
	}
	if f.ByName != nil && (pathByName || posByName) {
		f.ByName()
	}
	out := runs{file: f, visit: visit}
	err = file.Each(*path, *pos, func(row orcfile.Row) error {
		if row.Null {
			return out.null()
		}
		return out.add(row.Text, row.Number)
	})
	if err != nil {
		return err
	}
	return out.flush()
}

// findORC returns a column, nil when there is none. Its id is the attribute "iceberg.id" (table spec, "ORC").
func findORC(columns []orcfile.Column, id int, name string) (column *orcfile.Column, byName bool) {
	for i, c := range columns {
		if c.Attributes["iceberg.id"] == strconv.Itoa(id) {
			return &columns[i], false
		}
	}
	for i, c := range columns {
		if c.Name == name {
			return &columns[i], true
		}
	}
	return nil, true
}
