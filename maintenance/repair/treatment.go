package repair

// treatment is what an issue concerns, and so how it is mended.
type treatment int

const (
	nothing    treatment = iota // there is no repair
	ofVector                    // a data file gets one new deletion vector for those that it has
	ofPuffin                    // every deletion vector of the Puffin file moves to a new one
	ofObject                    // as ofPuffin or ofDeletes, whichever the object is, or ofManifest
	ofDeletes                   // new deletion vectors, or position delete files, hold the records of a position delete file
	ofEntry                     // the entry goes
	ofHistory                   // positions that were lost are deleted again
	ofManifest                  // the manifest is written anew, or the manifest list says the right things of it
	ofSummary                   // the totals of the snapshot summary are counted
	ofNearMiss                  // as ofDeletes, when an alias says what a path means
)

// treatmentOf returns how an issue is mended.
func treatmentOf(issue string) treatment {
	switch issue {
	case "dv-duplicate", "dv-listed-twice", "dv-resurrected", "dv-partition", "dv-sequence", "dv-fields-missing", "dv-range", "dv-misbound",
		"dv-reference-stale", "dv-cardinality", "dv-corrupt", "dv-bare-blob", "dv-missing", "dv-incomplete", "dv-in-v2", "dv-empty",
		"dv-crc-complement", "puffin-colifetime", "dv-trailing-bytes", "dv-key-order":
		return ofVector
	case "puffin-blob-metadata", "puffin-compressed", "puffin-flags":
		return ofPuffin
	case "file-size", "entry-extras", "position-out-of-range":
		return ofObject
	case "delete-dangling-records", "delete-partition", "delete-reference-stale", "delete-after-upgrade", "delete-bounds", "delete-rows":
		return ofDeletes
	case "dv-dangling", "delete-aged", "delete-superseded", "delete-unreadable":
		return ofEntry
	case "delete-dropped", "delete-lost-in-rewrite":
		return ofHistory
	case "manifest-content", "manifest-summary":
		return ofManifest
	case "summary-drift":
		return ofSummary
	case "path-near-miss":
		return ofNearMiss
	}
	return nothing
}

// decides says whether an issue makes it unclear what the deletes of its data file are. A data file that has one is not
// touched unless the operator names the issue; other issues of it are mended on the way.
func decides(issue string) bool {
	switch issue {
	case "dv-duplicate", "dv-listed-twice", "dv-resurrected", "dv-partition", "dv-sequence", "dv-fields-missing", "dv-range", "dv-misbound",
		"dv-cardinality", "dv-corrupt", "dv-missing", "dv-incomplete", "dv-in-v2", "dv-crc-complement", "dv-key-order",
		"position-out-of-range", "data-file-twice", "delete-dropped", "delete-lost-in-rewrite":
		return true
	}
	return false
}
