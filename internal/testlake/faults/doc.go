// Package faults breaks a store and a catalog as a script says: which call fails, and how.
//
// A script has one rule a line:
//
//	OPERATION [GLOB] [WHEN]: FAULT [DURATION]
//
// For instance:
//
//	# the store is busy at first
//	put *.puffin #1-2: 503
//	get-range every 3: short      # every third one ends early
//	list always: stale
//	commit #1: lost-reply
//	load db.t #2+: slow 20ms
//	write #7: crash-after
//
// OPERATION is a call: get (of a whole object or of its rest), get-range, head, put, delete, list (one page); load or
// commit of a catalog; or write, which is put, delete and commit; or any.
//
// GLOB chooses by the key of the object, or by the name of the table ("db.t"). In it * is any text, also with slashes,
// and ? one character. The default is *.
//
// WHEN counts the calls that the rule is about, from 1: #2 is the second, #2+ that and all later ones, #2-4 three of
// them, "every 3" the third, the sixth and so on, "always" (the default) all of them.
//
// Of the rules that are due at a call the first one of the script happens. Lines that begin with # are comments, and so is
// what comes after a # behind the fault.
//
// # Faults
//
// A store and a catalog know these. Nothing is done unless it says so.
//
//	fail         the call is refused for good: no permission
//	429          too many requests
//	503          the service is not available; of a commit nothing is known then
//	reset        the connection is reset
//	lost-reply   the call is done, then the connection is reset
//	slow D       the call is done D later
//	crash        everything ends here: this call and every later one fails with ErrCrashed
//	crash-after  the same, after the call was done
//
// A store knows these too.
//
//	412          put: a precondition does not hold
//	short        get, get-range: the bytes end at half
//	garbage      get, get-range, put: the bytes are wrong, their number is right
//	stale        get, get-range, head, list: objects that were written through the script are not there yet
//	pretend      put, delete: acknowledged, not done
//	torn         put: half of the object is stored, then everything ends as with crash. This is what a store does whose
//	             writes are not atomic. delete and commit have no half: crash
//
// A catalog knows these too.
//
//	stale                   load: the table as it was loaded before, if it was
//	conflict                commit: somebody else was first, or the catalog says so
//	refused                 commit: the catalog does not take it
//	unknown                 commit: not done, and nothing is known
//	conflict-after-success  commit: done, and the answer is that to a second copy of it: conflict
//	pretend                 commit: acknowledged, not done
//
// The errors are those of the real thing: of the AWS SDK for a store, *catalog.CommitError for a commit, those of
// iceberg-go's REST client for a load. So whoever sorts errors by their kind sorts these the same way.
//
// # In front of what
//
// [Script.Bucket], [Script.Opener] and [Script.Catalog] work in the process; [Script.Lake] puts both in front of a whole
// test lake. [Script.Handler] works in front of an HTTP server, for clients that are other processes. One script may be
// used for all of them at once, and by many goroutines; its calls are counted together.
package faults
