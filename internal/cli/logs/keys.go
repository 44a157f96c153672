package logs

// Keys of log fields. They are a contract with whoever searches the logs.
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
	Requests       = "requests"
	BytesRead      = "bytes_read"
	BytesWritten   = "bytes_written"
	Seconds        = "seconds"
	Error          = "error"
	Kind           = "kind"
	ExitCode       = "exit_code"
)
