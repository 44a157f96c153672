package positiondelete

import (
	"errors"
	"fmt"

	"github.com/dvcompactor/dvcompactor/internal/parquetfile"
)

// Reasons why a position delete file cannot be used. The file then stays live as it is.
var (
	ErrFormat       = parquetfile.ErrFormat                                 // not Parquet, damaged, encrypted, unknown codec
	ErrColumn       = errors.New("column missing or of another type")       // file_path or pos
	ErrNull         = errors.New("null file_path or pos")                   // says nothing about which row is deleted
	ErrPosition     = errors.New("position outside 0..9223372030412324864") // cannot be in a deletion vector
	errDictionaryOf = errors.New("file_path is neither string nor binary")
)

// Error says which position delete file cannot be used and why. Test the reason with errors.Is.
type Error struct {
	Location string
	Err      error
}

// Error says which file and why.
func (e *Error) Error() string { return fmt.Sprintf("position delete file %s: %v", e.Location, e.Err) }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }
