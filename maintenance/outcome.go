package maintenance

import (
	"errors"

	"github.com/dvcompactor/dvcompactor/catalog"
)

// hide keeps the text of an error and nothing else: what kind it was no longer matters.
func hide(err error) error {
	if err == nil || errors.Is(err, ErrAbsent) {
		return nil
	}
	return errors.New(err.Error())
}

// outcome gives a failed commit another outcome. The old one must not be found in the error any more.
func outcome(is error, t *catalog.Table, err error, more ...error) error {
	var c *catalog.CommitError
	if errors.As(err, &c) {
		err = c.Err
	}
	return &catalog.CommitError{Outcome: is, Table: t.Name(), Err: errors.Join(append([]error{err}, more...)...)}
}
