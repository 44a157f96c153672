package positiondelete

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/dvcompactor/dvcompactor/internal/objectfile"
)

// Reasons why a position delete file cannot be used. The file then stays live as it is.
var (
	ErrFormat       = objectfile.ErrFormat                                  // not of its format, damaged, encrypted, unknown codec
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

// Unreadable says whether an error of [Read] is a fact about the file, which is damaged or not there, and none of the store.
func Unreadable(err error) bool {
	var bad *Error
	return errors.As(err, &bad) || errors.Is(err, fs.ErrNotExist)
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }
