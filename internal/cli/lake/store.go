package lake

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// Store opens the stores that the configuration maps, and local files, for objects that are named by location rather
// than found in a table. The lake closes it.
func (l *Lake) Store(ctx context.Context) (*storage.Store, error) {
	if l.store == nil {
		s, err := storage.Open(ctx, storage.Options{Mounts: l.settings.Mounts, Retry: l.settings.Retries, Observe: l.settings.Observe})
		if err != nil {
			return nil, err
		}
		l.store = s
	}
	return l.store, nil
}

// Location makes a location of what a command line names: a location as it is, or a path of the local system.
func Location(text string) (string, error) {
	if IsLocation(text) {
		return text, nil
	}
	return filepath.Abs(text)
}

// IsLocation says whether text is a location rather than a path or a table.
func IsLocation(text string) bool {
	return strings.Contains(text, "://") || strings.HasPrefix(text, "file:")
}
