// Package inspect looks at one object or table and tells what is in it: the footer of a Puffin file, a deletion vector,
// the live deletes of a table. The JSON form is a contract; the text is for people.
//
// Damage is a result, not an error. Errors are failures to look: no such object, no permission, a broken connection.
package inspect

import (
	"errors"

	"github.com/dvcompactor/dvcompactor/puffin"
)

// Status says whether bytes are what the Puffin format requires.
type Status string

// The statuses.
const (
	OK          Status = "ok"
	Corrupt     Status = "corrupt"
	Unsupported Status = "unsupported"
)

// Verdict is what reading something came to.
type Verdict struct {
	Status Status  `json:"status"`
	Error  *string `json:"error"` // what is wrong, null when nothing is
}

// judge turns an error about bytes into a verdict; any other error comes back.
func judge(err error) (Verdict, error) {
	var status Status
	switch {
	case err == nil:
		return Verdict{Status: OK}, nil
	case errors.Is(err, puffin.ErrCorrupt):
		status = Corrupt
	case errors.Is(err, puffin.ErrUnsupported):
		status = Unsupported
	default:
		return Verdict{}, err
	}
	text := err.Error()
	return Verdict{Status: status, Error: &text}, nil
}

// OK says that nothing is wrong.
func (v Verdict) OK() bool { return v.Status == OK }

// text is the error, empty when there is none.
func (v Verdict) text() string {
	if v.Error == nil {
		return ""
	}
	return *v.Error
}
