package bugs

// maintained is the package of the tests of runs.
const maintained = "./maintenance"

// inPlaceBugs are about position delete files that are rewritten as what they are.
func inPlaceBugs() []bug {
	return []bug{
		{"24", "a position delete file goes although its records are not in a new one", []edit{
			{"maintenance/inplace_settle.go", "!removable(f, v, c, covered)", "!removable(f, v, c, func(t *snapshot.DataFile) bool { return r.holder[t] == nil || covered(t) })"},
			{"maintenance/inplace_settle.go", "			p.adds[holder[t]] = true", "			if holder[t] != nil {\n				p.adds[holder[t]] = true\n			}"},
		}, named{}},
		{"24", "records of a file that somebody removed meanwhile come back", []edit{
			{"maintenance/inplace_settle.go", "!slices.ContainsFunc(f.holds, func(h held) bool { return v.dropped[h.file] }) &&\n		", ""},
			{"maintenance/rebase.go", "v.missing[f.file] = true\n			for", "for"},
		}, named{maintained, "TestAFileThatSomebodyRemovedMeanwhileIsNotBroughtBack"}},
		{"24", "a new position delete file is newer than its sources", []edit{
			{"maintenance/inplace_write.go", "max(c.open.file.Seq, m.seq)", "max(c.open.file.Seq, m.seq+1)"},
		}, named{}},
		{"24", "a new position delete file is as old as its first source", []edit{
			{"maintenance/inplace_write.go", "c.open.file.Seq = max(c.open.file.Seq, m.seq)", "if c.open.file.Seq == 0 {\n		c.open.file.Seq = m.seq\n	}"},
		}, named{maintained, "TestAFileAboutDataFilesOfSeveralAgesAppliesToEachOfThem"}},
		{"24", "files that apply to a live data file count as dangling, and others do not", []edit{
			{"maintenance/inplace_select.go", "return f != nil && (d.AppliesTo(f) || f.Twice)", "return f == nil || !(d.AppliesTo(f) || f.Twice)"},
		}, named{maintained, "TestFilesOfDataFilesThatAreGoneGoWhateverTheirNumber"}},
		{"24", "records of several partitions and specs come into one file", []edit{
			{"maintenance/inplace_write.go", "n < len(sets) && sets[n].file.Group == sets[0].file.Group", "n < len(sets)"},
			{"maintenance/inplace_write.go", "c != nil && c.group == g", "c != nil && g != nil"},
		}, named{maintained, "TestEveryFixtureOfVersion2KeepsItsDeletedPositionsInPlace"}},
		{"24", "a position is written twice", []edit{
			{"internal/positiondelete/write.go", "append(e.paths, text), append(e.positions, pos)", "append(e.paths, text, text), append(e.positions, pos, pos)"},
			{"internal/positiondelete/write.go", "len(e.positions) == e.batch", "len(e.positions) >= e.batch"},
		}, named{maintained, "TestManyPositionDeleteFilesOfAPartitionBecomeOneSortedFile"}},
		{"24", "the bounds of an entry leave positions out", []edit{
			{"internal/positiondelete/write.go", "min(w.LowerPos, pos), max(w.UpperPos, pos)", "w.LowerPos, pos"},
		}, named{maintained, "TestManyPositionDeleteFilesOfAPartitionBecomeOneSortedFile"}},
		{"24", "bounds are cut as other writers do", []edit{
			{"internal/positiondelete/write.go", "FilePathID: []byte(path), posID", "FilePathID: []byte(path)[:min(16, len(path))], posID"},
		}, named{maintained, "TestManyPositionDeleteFilesOfAPartitionBecomeOneSortedFile"}},
		{"24", "position delete files are added to a table that was upgraded meanwhile", []edit{
			{"maintenance/inplace_settle.go", "case upgraded || !sameData(f, live):", "case !sameData(f, live), upgraded && live == f:"},
		}, named{maintained, "TestATableThatIsUpgradedMeanwhileGetsNoPositionDeleteFiles"}},
		{"24", "a partition becomes no better with every run", []edit{
			{"maintenance/inplace_settle.go", "p != nil && p.pays()", "p != nil"},
			{"maintenance/inplace_select.go", "	case n < p.MinInputFiles:", "	case n < 0:"},
			{"maintenance/inplace_select.go", "p.Granularity == ByPartition && *after >= n:", "p.Granularity == ByPartition && *after < 0:"},
		}, named{maintained, "TestOneSmallFileForEachDataFileIsLeftAloneByFile"}},
		{"1", "the snapshot of a branch becomes the head of main", []edit{
			{"snapshot/producer.go", "table.NewSetSnapshotRefUpdate(p.change.Ref", "table.NewSetSnapshotRefUpdate(table.MainBranch"},
		}, named{maintained, "TestEveryFixtureOfVersion2KeepsItsDeletedPositionsInPlace"}},
	}
}

// mergeBugs are about the merging of delete manifests.
func mergeBugs() []bug {
	return []bug{
		{"23", "of the manifests that a merge makes only the last one is listed", []edit{
			{"snapshot/manifests.go", "r.done = append(r.done, recordOf(m, r.p.version))", "r.done = []iceberg.ManifestFile{recordOf(m, r.p.version)}"},
		}, named{maintained, "TestManifestsAreMergedUpToTheTargetSizeAndThenNeverAgain"}},
		{"23", "a merge leaves out the last manifest", []edit{
			{"snapshot/manifests.go", "err = inOrder(ctx, p.fs, s.rewrite, ", "err = inOrder(ctx, p.fs, s.rewrite[:max(1, len(s.rewrite)-1)], "},
		}, named{maintained, "TestManyDeleteManifestsAreMergedWhenThereIsNothingElseToDo"}},
		{"23", "entries with status DELETED are carried as EXISTING", []edit{
			{"snapshot/manifests.go", "for e, err := range wholeEntries(ctx, fs, m) {", "for e, err := range allEntries(ctx, fs, m) {"},
			{"snapshot/manifests.go", "// schemaFor finds", `func allEntries(ctx context.Context, fs iceio.IO, m iceberg.ManifestFile) func(yield func(iceberg.ManifestEntry, error) bool) {
	return func(yield func(iceberg.ManifestEntry, error) bool) {
		_ = decode(ctx, fs, m, iceberg.NewManifestReader, nil, func(e iceberg.ManifestEntry) error {
			yield(e, nil)
			return nil
		})
	}
}

// schemaFor finds`},
		}, named{}},
		{"23", "an entry gets the sequence number of the merge", []edit{
			{"snapshot/manifests.go", "err = live.write(func(w *iceberg.ManifestWriter) error { return w.Existing(e) })",
				"id, seq := e.SnapshotID(), p.state.Metadata.LastSequenceNumber()+1\n			e = iceberg.NewManifestEntry(iceberg.EntryStatusEXISTING, &id, &seq, e.FileSequenceNum(), f)\n			err = live.write(func(w *iceberg.ManifestWriter) error { return w.Existing(e) })"},
		}, named{maintained, "TestManyDeleteManifestsAreMergedWhenThereIsNothingElseToDo"}},
		{"23", "an entry counts as added by the merge", []edit{
			{"snapshot/manifests.go", "return w.Existing(e) }", "return w.Add(e) }"},
		}, named{maintained, "TestManyDeleteManifestsAreMergedWhenThereIsNothingElseToDo"}},
		{"23", "manifests of several partition specs become one", []edit{
			{"snapshot/manifests.go", "	for _, m := range p.state.Manifests {\n		s := w.bySpec[m.PartitionSpecID()]\n", "	for _, m := range p.state.Manifests {\n		s := w.bySpec[m.PartitionSpecID()]\n		if ids := w.specs(); len(ids) > 0 {\n			s = w.bySpec[ids[0]]\n		}\n"},
		}, named{maintained, "TestManifestsOfTwoSpecsAreMergedEachWithItsOwn"}},
		{"23", "manifests with equality deletes are merged", []edit{
			{"snapshot/merge.go", "c.whole && c.equalityDeletes == 0 &&", "c.whole &&"},
		}, named{maintained, "TestManifestsWithEqualityDeletesAreLeftWhereTheyAre"}},
	}
}

// whereBugs are about predicates over partitions.
func whereBugs() []bug {
	const predicates = "./maintenance/where"
	return []bug{
		{"25", "the partitions of every spec are judged as those of the last one", []edit{
			{"maintenance/where/bind.go", "c := f.specs[spec]\n", "c := f.specs[int32(len(f.specs)-1)]\n"},
		}, named{maintained, "TestThePartitionsOfAPredicateAreThoseWhoseTuplesPass"}},
		{"25", "a comparison with null is true", []edit{
			{"maintenance/where/bind.go", "op != iceberg.OpIsNull {\n			return false", "op != iceberg.OpIsNull {\n			return true"},
		}, named{predicates, "TestEveryRowThatPassesIsInAPartitionThatIsTakenWhateverTypeAndTransform"}},
		{"25", "a value that is transformed is compared as it is", []edit{
			{"maintenance/where/bind.go", "projected, err := f.Transform.Project(f.Name, p)", "projected, err := iceberg.IdentityTransform{}.Project(f.Name, p)"},
		}, named{predicates, "TestEveryRowThatPassesIsInAPartitionThatIsTakenWhateverTypeAndTransform"}},
		{"8", "of a Puffin file only the deletion vectors in chosen partitions move", []edit{
			{"maintenance/selection.go", "		s.retire[d] = true\n	}\n	s.puffins", "		s.retire[d] = s.chosen(d.Group)\n	}\n	s.puffins"},
			{"maintenance/settle.go", "return stays[d.Path] }", "return false }"},
		}, named{maintained, "TestADeletionVectorOfAnotherPartitionInTheSamePuffinIsTakenAlongAndNamed"}},
	}
}
