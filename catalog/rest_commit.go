package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"
)

// Commit posts the requirements and updates, once: only a request that was refused for its token is repeated.
func (c *restCatalog) Commit(ctx context.Context, t *Table, requirements []table.Requirement, updates []table.Update) error {
	name, err := spell(t.Identifier, c.options.SigV4)
	if err != nil {
		return &CommitError{Outcome: ErrRefused, Table: t.Name(), Err: err}
	}
	var reply table.Metadata
	x, err := c.call(name.within(ctx), func(ctx context.Context) (err error) {
		reply, _, err = c.client.CommitTable(ctx, name.given, requirements, updates)
		return err
	})
	if err == nil {
		err = checkReply(t, reply, updates)
	}
	if err == nil {
		return nil
	}
	if notFound(err) {
		err = fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return &CommitError{Outcome: restOutcome(x, err), Table: t.Name(), Err: err, RetryAfter: x.asked()}
}

// restOutcome classifies a failed commit. Only what is certain not to have happened is called a conflict or refused.
func restOutcome(x *exchange, err error) error {
	switch code := x.status.Load(); {
	case code == http.StatusConflict, code == http.StatusPreconditionFailed, code == http.StatusTooManyRequests:
		return ErrConflict
	case code >= 400 && code < 500 && code != http.StatusRequestTimeout:
		if lostRace(err) {
			return ErrConflict
		}
		return ErrRefused
	case code == 0 && !x.sent.Load():
		return unsent(err)
	}
	return ErrUnknown
}

// unsent classifies a request that never had a connection.
func unsent(err error) error {
	var network *url.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, rest.ErrOAuthError):
		return ErrRefused
	case errors.As(err, &network):
		return ErrConflict // not reachable: nothing was tried
	}
	return ErrRefused
}

// checkReply looks for the committed snapshots in the metadata that the catalog answered with. A reply without them is
// not one to this commit, for instance one to a request that was redirected, or one of a cache.
func checkReply(t *Table, reply table.Metadata, updates []table.Update) error {
	if got, want := reply.TableUUID(), t.Metadata.TableUUID(); got != want {
		return fmt.Errorf("the reply is about table uuid %s, want %s", got, want)
	}
	for _, u := range updates {
		if u.Action() != table.UpdateAddSnapshot {
			continue
		}
		id, err := addedSnapshot(u)
		if err != nil {
			return err
		}
		if reply.SnapshotByID(id) == nil {
			return fmt.Errorf("the reply has no snapshot %d", id)
		}
	}
	return nil
}

// addedSnapshot reads the id in an update, whose type iceberg-go keeps to itself, from its JSON form.
func addedSnapshot(u table.Update) (int64, error) {
	data, err := json.Marshal(u)
	if err != nil {
		return 0, err
	}
	var out struct {
		Snapshot struct {
			ID int64 `json:"snapshot-id"`
		} `json:"snapshot"`
	}
	err = json.Unmarshal(data, &out)
	return out.Snapshot.ID, err
}
