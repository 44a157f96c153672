package catalog_test

import (
	"testing"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A proxy that repeats a request turns an applied commit into a 409.
func TestAConflictWithTheOwnCommitIsRecognisedWhenTheCatalogThenCannotBeAsked(t *testing.T) {
	t.Parallel()
	for name, outages := range map[string]int{"once": 1, "twice": 2, "for as long as anybody waits": 8 * attempts} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := faultyREST(t, catalog.Options{})
			c := l.open(t)
			lake := l.withDeletes(t, c)
			want := lake.Read(t, "t", "main").Positions
			s.Break("commit", restcatalog.Done(restcatalog.Status(409)))
			s.Break("load", nil) // the first load is that of the run
			for range outages {
				s.Break("load", restcatalog.Status(503))
			}
			_, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), migrate())
			if outages < 8*attempts {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, catalog.ErrUnknown)
				require.NotErrorIs(t, err, catalog.ErrConflict, "a conflict would be retried, or cleaned up after")
			}
			require.Equal(t, 1, replaced(t, c))
			assert.Equal(t, want, lake.Read(t, "t", "main").Positions, "the table is readable")
		})
	}
}
