package damage

import (
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
)

// neighbours are healthy tables: each is close to the fault that its issue names.
func neighbours() []fault {
	near := func(issue, name string, in []shape, make func(*lab), also ...string) fault {
		return fault{name: name, issue: issue, also: also, in: in, make: make}
	}
	return slices.Concat(sharingNeighbours(near), footerNeighbours(near), deleteNeighbours(near), pastNeighbours(near))
}

// nearby makes a neighbour; also are what the table has besides and may have.
type nearby func(issue, name string, in []shape, make func(*lab), also ...string) fault

// sharingNeighbours are close to faults of sets and of entries.
func sharingNeighbours(near nearby) []fault {
	return []fault{
		near("dv-duplicate", "a vector in the place of another", vectorShapes(), func(l *lab) {
			l.replace(l.ancestor(), l.vector(hurt{}, l.shape.positions...)...)
		}),
		near("dv-duplicate", "a vector of the same data file on another branch", aloneShapes()[:2], func(l *lab) {
			l.Update(table.NewSetSnapshotRefUpdate("other", l.head().SnapshotID, table.BranchRef, 0, 0, 0))
			hurting(hurt{})(l)
			l.Commit(forge.Change{Ref: "other", Add: forge.Files(l.another(60)...)})
		}),
		near("dv-listed-twice", "a vector in a manifest that was merged", vectorShapes(), func(l *lab) {
			hurting(hurt{})(l)
			l.change(forge.Change{Merge: true})
		}),
		near("dv-resurrected", "a vector that was removed and added again", vectorShapes(), func(l *lab) {
			files := l.vectorsBefore()
			l.replace(files)
			l.commit(files...)
		}),
		near("dv-dangling", "a vector of a data file that was rewritten under its path", aloneShapes()[:3], func(l *lab) {
			l.drop(0)
			l.commit(l.data[0])
			hurting(hurt{})(l)
		}),
		near("dv-partition", "a vector of its own partition, and others of another", partShapes(), hurting(hurt{})),
		near("dv-sequence", "a vector as old as its data file", vectorShapes(), func(l *lab) {
			change := forge.Change{Add: forge.Files(l.vector(hurt{}, l.shape.positions...)...)}
			change.Add[0].Seq = ptr(int64(1)) // that of data file 0
			l.change(change)
		}),
		near("dv-empty", "a vector of one position", aloneShapes()[:3], func(l *lab) { l.commit(l.vector(hurt{}, 0)...) }),
		near("file-fully-deleted", "a vector of all rows but the first", single(), func(l *lab) {
			var most []int64
			for p := int64(1); p < rowsOf; p++ {
				most = append(most, p)
			}
			l.commit(l.vector(hurt{}, most...)...)
		}),
		near("data-file-twice", "a data file that went and came back", single(), func(l *lab) {
			l.drop(0)
			l.commit(l.data[0])
		}),
		near("dv-in-v2", "position deletes", fileShapes(), func(l *lab) { l.deleting(l.bounded()) }),
		near("summary-drift", "right totals", aloneShapes()[:1], func(l *lab) {
			l.change(forge.Change{Add: forge.Files(l.vector(hurt{}, l.shape.positions...)...), Summary: map[string]string{
				"total-delete-files": "2", "total-position-deletes": "5", "total-data-files": "3", "total-records": "300"}})
		}),
		near("manifest-summary", "unknown counts and no bounds", partShapes(), func(l *lab) {
			l.change(forge.Change{Add: forge.Files(l.vector(hurt{}, l.shape.positions...)...), Record: func(_ iceberg.ManifestFile, b *iceberg.ManifestBuilder) {
				b.AddedFiles(-1).AddedRows(-1).Partitions(nil)
			}})
		}),
		near("manifest-content", "delete manifests of a table that was upgraded", fileShapes(), func(l *lab) {
			l.deleting(l.bounded())
			l.upgrade()
		}),
	}
}

// footerNeighbours are close to faults of Puffin files.
func footerNeighbours(near nearby) []fault {
	return []fault{
		near("puffin-blob-metadata", "fields with the row position", vectorShapes(), hurting(hurt{said: set("fields", []int{2147483645})})),
		near("puffin-compressed", "a codec that is null", vectorShapes(), hurting(hurt{said: set("compression-codec", nil)})),
		near("puffin-orphan", "a Puffin file that an older snapshot references", vectorShapes(), func(l *lab) {
			l.replace(l.ancestor(), l.vector(hurt{}, l.shape.positions...)...)
		}),
		near("dv-range", "a gap before the blob", vectorShapes(), func(l *lab) {
			dead := l.part(2, 11)
			dead.Of = l.At + "/data/dead.parquet"
			c := forge.Puffin{Parts: append([]forge.Part{dead}, l.parts(l.shape.positions...)...)}
			l.commit(l.put(c, nil)[1:]...)
		}),
		near("dv-misbound", "two vectors of the same positions", aloneShapes()[:3], func(l *lab) {
			p := []forge.Part{l.part(0, l.shape.positions...), l.part(2, l.shape.positions...)}
			l.commit(l.put(forge.Puffin{Parts: p}, nil)...)
		}),
		near("dv-crc-complement", "a vector", manyKeys(), hurting(hurt{})),
		near("dv-key-order", "keys with a gap between them", manyKeys(), keysHurt(func(keys []keyed) []byte { return frame(keys, len(keys)) })),
		near("dv-trailing-bytes", "a vector that is encoded by hand", vectorShapes(), func(l *lab) {
			keys := split(l.shape.positions)
			hurting(hurt{blob: func([]byte) []byte { return frame(keys, len(keys)) }})(l)
		}),
		near("position-out-of-range", "the last row", vectorShapes()[:2], func(l *lab) { l.commit(l.vector(hurt{}, rowsOf-1)...) }),
		near("dv-incomplete", "a vector that holds what version 2 deleted", oldShapes(), func(l *lab) {
			l.commit(l.deletes(l.records(0, 1, 2)...).Build())
			l.upgrade()
			hurting(hurt{})(l)
		}, "delete-superseded"),
		near("dv-incomplete", "a vector of a data file that is younger than the deletes", oldShapes()[:1], func(l *lab) {
			d := l.deletes(l.records(0, 7)...).Build()
			l.change(forge.Change{Add: []forge.Added{{File: d, Seq: ptr(int64(0))}}})
			l.upgrade()
			hurting(hurt{})(l)
		}, "delete-aged"),
	}
}

// deleteNeighbours are close to faults of position delete files.
func deleteNeighbours(near nearby) []fault {
	return []fault{
		near("delete-bounds", "equal bounds that are a path", bothShapes(), func(l *lab) { l.deleting(l.bounded()) }),
		near("delete-bounds", "bounds that were cut and rounded up", bothShapes(), func(l *lab) {
			cut := l.path(0)[:15]
			l.deleting(forgeBounds(l.deletes(l.records(0, l.shape.positions...)...), cut+"a", cut+"b"))
		}),
		near("delete-rows", "a record that comes twice", bothShapes(), func(l *lab) {
			l.deleting(l.deletes(l.at(0, 1), l.at(0, 1), l.at(0, 2)).Build())
		}),
		near("delete-superseded", "a vector that holds only a part of the records", oldShapes()[:2], func(l *lab) {
			l.commit(l.deletes(append(l.records(0, 1, 2), l.at(1, 9))...).Build())
			l.upgrade()
			hurting(hurt{})(l)
		}),
		near("delete-aged", "a file as old as its data file", bothShapes(), func(l *lab) {
			l.change(forge.Change{Add: []forge.Added{{File: l.bounded(), Seq: ptr(int64(1))}}})
		}),
		near("delete-dangling-records", "records of a data file that another branch does not have", fileShapes()[2:], func(l *lab) {
			l.Lake.Commit(forge.Change{Remove: same(l.data[0])}) // on main
			l.deleting(l.bounded())
		}),
		near("delete-partition", "records of another partition beside those of its own", with(bothShapes(), inRegions), func(l *lab) {
			l.deleting(l.deletes(append(l.records(0, l.shape.positions...), l.at(2, 4))...).Build())
		}),
		near("delete-after-upgrade", "a file of before the upgrade", bothShapes(), func(l *lab) { l.deleting(l.bounded()) }),
		near("delete-reference-stale", "a file that references its data file", oldShapes()[:2], func(l *lab) {
			l.referencing(l.deletes(l.records(0, l.shape.positions...)...), l.path(0))
		}),
		near("path-near-miss", "a record of the same name in another folder", bothShapes(), func(l *lab) {
			other := forge.Record{Path: l.At + "/data/other/f001.parquet", Pos: 1}
			l.deleting(l.deletes(append([]forge.Record{l.at(0, 1)}, other)...).Build())
		}, "delete-dangling-records"),
		near("path-near-miss", "a record of a name that only begins like it", bothShapes(), func(l *lab) {
			other := forge.Record{Path: l.path(0) + ".orc", Pos: 1}
			l.deleting(l.deletes(l.at(0, 1), other).Build())
		}, "delete-dangling-records"),
	}
}

// pastNeighbours are close to what snapshots do wrong to the deletes of their parents.
func pastNeighbours(near nearby) []fault {
	return []fault{
		near("delete-dropped", "a vector that went with its data file", aloneShapes()[:3], func(l *lab) {
			l.replace(append(l.vectorsBefore(), l.data[0]))
		}),
		near("delete-dropped", "a vector whose positions were deleted again", aloneShapes()[:3], func(l *lab) {
			l.replace(l.vectorsBefore())
			l.commit(l.another(append([]int64{60}, l.shape.positions...)...)...)
		}),
		near("delete-dropped", "a position delete file that two others took the place of", bothShapes(), func(l *lab) {
			d := l.deletes(append(l.records(0, l.shape.positions...), l.at(1, 3))...).Build()
			l.deleting(d)
			l.replace([]iceberg.DataFile{d}, l.bounded(), l.deletes(l.at(1, 3)).Build())
		}),
		near("delete-dropped", "a position delete file that a vector took the place of", oldShapes(), func(l *lab) {
			d := l.bounded()
			l.commit(d)
			l.upgrade()
			l.replace([]iceberg.DataFile{d}, l.vector(hurt{}, l.shape.positions...)...)
		}),
		near("delete-dropped", "a roll-back", vectorShapes(), func(l *lab) {
			before := l.head().SnapshotID
			hurting(hurt{})(l)
			l.Update(table.NewSetSnapshotRefUpdate(l.ref, before, table.BranchRef, -1, -1, -1))
			l.commit(l.DataFile("", 0, l.data[0].Partition(), rowsOf))
		}, "puffin-orphan"),
		near("delete-lost-in-rewrite", "a vector whose lost position was deleted again", aloneShapes()[:3], func(l *lab) {
			smaller := l.smaller()
			l.replace(l.vectorsBefore(), smaller...)
			l.replace(smaller, l.another(l.shape.positions...)...)
		}),
		near("rows-resurrected", "a data file without the rows that a vector deleted", aloneShapes()[:2], func(l *lab) {
			old := append(l.vectorsBefore(), l.data[0])
			f := l.DataFile("", 0, l.data[0].Partition(), l.shape.rows-int64(len(l.shape.positions)))
			l.change(forge.Change{Operation: table.OpReplace, Add: forge.Files(f), Remove: same(old...)})
		}),
		near("puffin-colifetime", "vectors whose Puffin file also has one that no snapshot has", partShapes()[1:2], func(l *lab) {
			l.commit(l.vector(hurt{}, l.shape.positions...)[1:]...)
		}),
		near("lineage-damage", "a data file that says the ids it would inherit", single(), func(l *lab) {
			l.commit(l.NumberedDataFile("", 0, nil, rowsOf, 3*rowsOf))
		}),
		near("dv-fields-missing", "a position delete file, which has no offset", bothShapes(), func(l *lab) { l.deleting(l.bounded()) }),
		near("dv-cardinality", "a vector", vectorShapes(), hurting(hurt{})),
		near("file-size", "a vector in a Puffin file with a dead blob", vectorShapes()[1:2], func(l *lab) {
			l.commit(l.vector(hurt{}, l.shape.positions...)[1:]...)
		}),
	}
}
