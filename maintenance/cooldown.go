package maintenance

import (
	"fmt"
	"time"

	"github.com/dvcompactor/dvcompactor/snapshot"
)

// coolDown says which delete entries are hot: added by a snapshot that is younger than the cool-down. A running DELETE or
// MERGE of an engine fails when the deletion vector that it read was replaced meanwhile, and it is likely to come back to
// the data files whose deletes it changed last.
//
// Age goes by the snapshot's timestamp; one in the future is as hot as one of now. An entry whose snapshot has expired is
// old.
type coolDown struct {
	since int64           // milliseconds since the epoch; 0 switches the cool-down off
	hot   map[int64]int64 // timestamps of hot snapshots by their ids
}

// hotSinceMs returns the time, in milliseconds since the epoch, after which a change is hot, or 0.
func (o Options) hotSinceMs() int64 {
	if o.hotSince == 0 && o.CoolDown > 0 {
		return o.Now().Add(-o.CoolDown).UnixMilli()
	}
	return o.hotSince
}

func newCoolDown(s *snapshot.State, since int64) *coolDown {
	c := &coolDown{since: since, hot: map[int64]int64{}}
	if since == 0 {
		return c
	}
	for _, snap := range s.Metadata.Snapshots() {
		if snap.TimestampMs > since {
			c.hot[snap.SnapshotID] = snap.TimestampMs
		}
	}
	return c
}

// covers says whether an entry is hot.
func (c *coolDown) covers(d *snapshot.DeleteFile) bool {
	_, hot := c.hot[d.SnapshotID]
	return hot
}

// why explains that an entry is hot, in words that do not depend on when it is asked.
func (c *coolDown) why(d *snapshot.DeleteFile) string {
	at := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
	return fmt.Sprintf("added by snapshot %d at %s; what changed after %s is left alone", d.SnapshotID, at(c.hot[d.SnapshotID]), at(c.since))
}

const hintCoolDown = "a later run takes it"

// blockHot blocks the data files of a partition whose deletion vector is hot, and names the hot position delete files:
// which data files those are about is known when they are read. It says whether anything is left to merge.
func (s *selection) blockHot(g *snapshot.Group) bool {
	for _, f := range g.Data {
		if dv := f.DV(); dv != nil && s.cool.covers(dv) {
			s.block(f, "cool-down", "its deletion vector was "+s.cool.why(dv), hintCoolDown)
		}
	}
	left := false
	for _, d := range g.PositionDeletes {
		if !s.cool.covers(d) {
			left = true
			continue
		}
		s.skipped = append(s.skipped, s.hotFile(d))
	}
	if !left {
		s.leave(g)
	}
	return left
}

// hotFile says that a position delete file is hot.
func (s *selection) hotFile(d *snapshot.DeleteFile) Skip {
	return Skip{Reason: "cool-down", Location: d.Path, Hint: hintCoolDown,
		Detail: "position delete file " + s.cool.why(d) + ", with the data files that it has records of"}
}

// leave keeps the deletion vectors of a partition where they are, because its position deletes will not be read.
func (s *selection) leave(g *snapshot.Group) {
	for _, f := range g.Data {
		s.blocked[f] = true
		for _, dv := range f.DVs {
			s.fixed[dv] = true
		}
	}
}

// hotVectors names the hot deletion vectors of a Puffin file that would be written anew, and says whether there are any:
// then it stays whole.
func (s *selection) hotVectors(dvs []*snapshot.DeleteFile) bool {
	hot := false
	for _, d := range dvs {
		if s.cool.covers(d) {
			hot = true
			s.skipped = append(s.skipped, Skip{Reason: "cool-down", Location: d.Path, DataFile: d.Referenced, Detail: "its deletion vector was " + s.cool.why(d), Hint: hintCoolDown})
		}
	}
	return hot
}

// blockTouched blocks the data files that a hot position delete file turned out to have records of.
func (m *merger) blockTouched(fact *facts) {
	if !m.sel.cool.covers(fact.file) {
		return
	}
	for _, f := range fact.file.Group.Data {
		if fact.targets[f] {
			m.sel.block(f, "cool-down", "position delete file "+fact.file.Path+" has records of it and was "+m.sel.cool.why(fact.file), hintCoolDown)
		}
	}
}
