//go:build nohive

package catalog_test

import (
	"testing"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/stretchr/testify/assert"
)

func TestAProgramThatWasBuiltWithoutHiveSaysSo(t *testing.T) {
	t.Parallel()
	_, err := catalog.Open(t.Context(), catalog.Options{Name: "lake", Type: "hive", URI: "thrift://localhost"})
	assert.ErrorContains(t, err, "catalog lake: this program was built without the Hive Metastore (-tags nohive)")
}
