//go:build nogcs || noazure

package storage

import "fmt"

// leftOut is the error of a store that is not part of this build.
func leftOut(store, tag string) error {
	return fmt.Errorf("%w: this program was built without %s (-tags %s); use the one that is released, or build it without the tag", ErrUnknownScheme, store, tag)
}
