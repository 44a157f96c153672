package catalog

import (
	"fmt"
	"strings"

	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// checkProperties refuses a table whose properties would decide how its files are reached. iceberg-go takes the
// properties in a table's metadata for settings of the file access, and they override those of the operator: whoever
// can write metadata could send our requests, signed with our credentials, to a server of his own. What the catalog
// itself hands out with the table overrides both and is trusted.
func (f *tableFiles) checkProperties() error {
	for key := range f.table.Properties() {
		if _, told := f.vended.settings[key]; strings.HasPrefix(key, "s3.") && !told {
			return fmt.Errorf("%w: the table's property %s would decide how its files are reached; remove it, or map the bucket in the section storage of the configuration",
				storage.ErrRefusedLocation, key)
		}
	}
	return nil
}
