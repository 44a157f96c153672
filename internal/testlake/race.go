package testlake

import (
	"context"
	"sync/atomic"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
)

// Racing is a catalog in which something else happens right before each commit.
type Racing struct {
	catalog.Catalog
	Before func(n int) // n counts commits from 1
	// Instead is what a commit does, if set.
	Instead func(ctx context.Context, t *catalog.Table, r []table.Requirement, u []table.Update) error

	n atomic.Int32
}

// Commits returns how many commits were tried.
func (c *Racing) Commits() int { return int(c.n.Load()) }

// Commit implements catalog.Catalog.
func (c *Racing) Commit(ctx context.Context, t *catalog.Table, r []table.Requirement, u []table.Update) error {
	n := int(c.n.Add(1))
	if c.Before != nil {
		c.Before(n)
	}
	if c.Instead != nil {
		return c.Instead(ctx, t, r, u)
	}
	return c.Catalog.Commit(ctx, t, r, u)
}
