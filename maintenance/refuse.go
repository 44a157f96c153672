package maintenance

import (
	"fmt"

	"github.com/apache/iceberg-go"
)

// upgradable refuses an upgrade that cannot give every row an id: manifests of format version 1 may not say how many
// rows they have.
func (s *selection) upgradable() error {
	if !s.upgrade {
		return nil
	}
	for _, m := range s.state.Manifests {
		if m.ManifestContent() == iceberg.ManifestContentData && m.FirstRowID() == nil && (m.AddedRows() < 0 || m.ExistingRows() < 0) {
			return fmt.Errorf("%w: manifest %s does not say how many rows it has, so format version 3 could not number them: rewrite the table's manifests first", ErrRefusedTable, m.FilePath())
		}
	}
	return nil
}

// encrypted refuses tables with encrypted delete files: rewriting metadata would lose their keys.
func (s *selection) encrypted() error {
	for d := range s.state.Deletes() {
		if d.Encrypted {
			return fmt.Errorf("%w: delete file %s is encrypted", ErrRefusedTable, d.Path)
		}
	}
	return nil
}
