// Package logkey names the fields of log lines. They are a contract with whoever searches the logs.
package logkey

// The keys.
const (
	Table          = "table"
	Ref            = "ref"
	Action         = "action"
	PlanID         = "plan_id"
	SnapshotBefore = "snapshot_before"
	SnapshotAfter  = "snapshot_after"
	Committed      = "committed"
	DataFiles      = "data_files"
	PuffinsBefore  = "puffin_files_before"
	PuffinsAfter   = "puffin_files_after"
	DeletesBefore  = "position_delete_files_before"
	DeletesAfter   = "position_delete_files_after"
	Work           = "work"
	Skipped        = "skipped"
	Dropped        = "dropped"
	Attempts       = "attempts"
	Damaged        = "damaged"
	Findings       = "findings"
	RestoredRows   = "restored_rows"
	Policy         = "policy"
	Result         = "result"
	Why            = "why"     // a trigger fired, or by how much none did
	Slot           = "slot"    // the scheduled time that a run is for
	Catalog        = "catalog" // its name in the configuration
	Tables         = "tables"  // how many
	Event          = "event"   // that the webhook is told of
	Address        = "address" // that a server listens on
	TLS            = "tls"
	Requests       = "requests"
	Bytes          = "bytes" // read and written
	BytesRead      = "bytes_read"
	BytesWritten   = "bytes_written"
	Seconds        = "seconds"
	Error          = "error"
	Kind           = "kind"
	ExitCode       = "exit_code"
)
