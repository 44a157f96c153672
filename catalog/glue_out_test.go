//go:build noglue

package catalog_test

import (
	"testing"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/stretchr/testify/assert"
)

func TestAProgramThatWasBuiltWithoutGlueSaysSo(t *testing.T) {
	t.Parallel()
	_, err := catalog.Open(t.Context(), catalog.Options{Name: "lake", Type: "glue"})
	assert.ErrorContains(t, err, "catalog lake: this program was built without AWS Glue (-tags noglue)")
}
