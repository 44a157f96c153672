package catalog_test

import (
	"net/http"
	"strconv"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake/dbproxy"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
)

// situations are the rows of the table of outcomes. A catalog that is added gets a column: a lab in laboratories and a
// cell in every row that can happen to it. Whatever may have happened must be unknown; only what certainly has not may be
// a conflict, when trying again makes sense, or refused.
var situations = []situation{
	everywhere("nothing else", committed, nothing),
	everywhere("another writer commits to the branch first", conflict, somebodyElse("main")),
	{"another writer commits to another branch first, so that only the sequence number is taken", map[string]cell{
		"SQLite":     one(conflict, somebodyElse("audit")),
		"PostgreSQL": one(conflict, somebodyElse("audit")),
		"MySQL":      one(conflict, somebodyElse("audit")),
		"Glue":       one(conflict, somebodyElse("audit")),
		"Hive":       one(conflict, somebodyElse("audit")),
		"REST":       one(refused, somebodyElse("audit")),
	}},
	everywhere("the table was dropped", refused, dropped),
	everywhere("the table was dropped and made anew under its name", conflict, madeAnew),
	{"the catalog is not there: connections are refused", map[string]cell{
		"PostgreSQL": one(conflict, proxyStopped),
		"MySQL":      one(conflict, proxyStopped),
		"Glue":       one(conflict, glueStopped),
		"Hive":       one(conflict, proxyStopped),
		"REST":       one(conflict, restStopped),
	}},
	{"the connection breaks before it is done", map[string]cell{
		"PostgreSQL": one(unknown, cutting(dbproxy.BeforeApply)),
		"MySQL":      one(unknown, cutting(dbproxy.BeforeApply)),
		"Glue":       one(unknown, breakingGlue(restcatalog.HangUp)),
		"Hive":       one(unknown, cutting(dbproxy.BeforeApply)),
		"REST":       one(unknown, breaking(restcatalog.HangUp)),
	}},
	{"the connection breaks after it is done: the reply is lost", map[string]cell{
		"PostgreSQL": happened(one(unknown, cutting(dbproxy.AfterApply))),
		"MySQL":      happened(one(unknown, cutting(dbproxy.AfterApply))),
		"Glue":       happened(one(unknown, breakingGlue(restcatalog.Done(restcatalog.HangUp)))),
		"Hive":       happened(one(unknown, cutting(dbproxy.AfterApply))),
		"REST":       happened(one(unknown, breaking(restcatalog.Done(restcatalog.HangUp)))),
	}},
	{"no reply comes in time", map[string]cell{
		"PostgreSQL": impatient(one(unknown, rowLocked)),
		"MySQL":      parameter("innodb_lock_wait_timeout", "3600", impatient(one(unknown, mysqlRowLocked))),
		"Glue":       impatient(one(unknown, breakingGlue(restcatalog.Stall))),
		"Hive":       slow(one(unknown, stalling(dbproxy.BeforeApply))),
		"REST":       impatient(one(unknown, breaking(restcatalog.Stall))),
	}},
	{"no reply comes in time, although it is done", map[string]cell{
		"Glue": impatient(happened(one(unknown, breakingGlue(restcatalog.Done(restcatalog.Stall))))),
		"Hive": slow(happened(one(unknown, stalling(dbproxy.AfterApply)))),
		"REST": impatient(happened(one(unknown, breaking(restcatalog.Done(restcatalog.Stall))))),
	}},
	{"the server says 500, 502, 503 or 504 and has done nothing", map[string]cell{
		"Glue": several(unknown, glueFails(asItIs)),
		"REST": several(unknown, serverErrors(func(f restcatalog.Fault) restcatalog.Fault { return f })),
	}},
	{"the server says 500, 502, 503 or 504 after it is done", map[string]cell{
		"Glue": happened(several(unknown, glueFails(restcatalog.Done))),
		"REST": happened(several(unknown, serverErrors(restcatalog.Done))),
	}},
	{"the server says 409 to a copy of a commit that is done, which a proxy sent again", map[string]cell{
		"REST": happened(one(conflict, breaking(restcatalog.Done(restcatalog.Status(http.StatusConflict))))),
	}},
	{"the server says 429: too many requests", map[string]cell{
		"Glue": several(conflict, glueSays("ThrottlingException", "TooManyRequestsException")),
		"REST": one(conflict, breaking(restcatalog.Later(http.StatusTooManyRequests, "1"))),
	}},
	{"the server says 400, 403 or 422", map[string]cell{
		"Glue": several(refused, glueSays("AccessDeniedException", "InvalidInputException", "ExpiredTokenException")),
		"REST": several(refused, map[string]arrangement{
			"400": breaking(restcatalog.Status(400)), "403": breaking(restcatalog.Status(403)), "422": breaking(restcatalog.Status(422)),
		}),
	}},
	{"the server says 400 in the words of a lost race, “requirement failed”", map[string]cell{
		"REST": one(conflict, breaking(restcatalog.Body(400, `{"error": {"message": "Requirement failed: branch main has changed", "type": "ValidationException", "code": 400}}`))),
	}},
	{"the reply makes no sense, or is about something else", map[string]cell{
		"Glue": several(unknown, map[string]arrangement{"garbage": breakingGlue(restcatalog.Body(200, "<html>welcome</html>")), "a redirect": breakingGlue(restcatalog.Redirect)}),
		"Hive": one(unknown, hiveAnswers(dbproxy.BeforeApply, hiveGarbles)),
		"REST": several(unknown, map[string]arrangement{
			"garbage": breaking(restcatalog.Body(200, "<html>welcome</html>")), "nothing": breaking(restcatalog.Body(200, "")),
			"an empty document": breaking(restcatalog.Body(200, "{}")), "a redirect": breaking(restcatalog.Redirect),
		}),
	}},
	{"the access token has expired (401 or 419)", map[string]cell{
		"REST": several(committed, map[string]arrangement{"401": revoked(), "419": breaking(restcatalog.Status(419))}),
	}},
	{"the access token has expired and the server gives no other", map[string]cell{
		"REST": one(refused, revoked(restcatalog.Status(http.StatusUnauthorized))),
	}},
	{"the access token has expired and the server that gives tokens is out of order", map[string]cell{
		"REST": impatient(several(conflict, map[string]arrangement{
			"500": revoked(restcatalog.Status(500)), "it hangs": revoked(restcatalog.Stall), "it hangs up": revoked(restcatalog.HangUp),
		})),
	}},
	{"the credentials that came with the table have expired", map[string]cell{
		"REST": vending(several(committed, map[string]arrangement{
			"ExpiredToken": expired(http.StatusBadRequest, "ExpiredToken"), "InvalidAccessKeyId": expired(http.StatusForbidden, "InvalidAccessKeyId"),
		})),
	}},
	{"somebody holds a lock when the statement starts", map[string]cell{
		"SQLite":     impatient(several(conflict, map[string]arrangement{"for writing": sqliteHeld("BEGIN IMMEDIATE"), "for everything": sqliteHeld("BEGIN EXCLUSIVE")})),
		"PostgreSQL": parameter("lock_timeout", "50", one(conflict, rowLocked)),
		"MySQL":      slow(one(conflict, mysqlRowLocked)),
	}},
	{"somebody holds a lock when the statement ends", map[string]cell{
		"SQLite": impatient(one(conflict, sqliteHeld("BEGIN", "SELECT * FROM iceberg_tables"))),
	}},
	{"the statement takes longer than the database allows", map[string]cell{
		"PostgreSQL": parameter("statement_timeout", "500", one(conflict, rowLocked)),
		"MySQL":      parameter("max_statement_time", "0.5", one(conflict, mysqlRowLocked)),
	}},
	{"the database cannot serialize it with another transaction", map[string]cell{
		"PostgreSQL": parameter("default_transaction_isolation", "repeatable read", one(conflict, rowChanged)),
		"MySQL":      several(conflict, map[string]arrangement{"a deadlock": mysqlTrigger(1213), "a row that changed": mysqlTrigger(1020)}),
	}},
	{"the database refuses the statement", map[string]cell{
		"SQLite":     one(refused, sqliteTrigger),
		"PostgreSQL": one(refused, postgresTrigger("TRIGGER no BEFORE UPDATE ON iceberg_tables")),
		"MySQL":      one(refused, mysqlTrigger(1644)),
	}},
	{"the database refuses it at COMMIT", map[string]cell{
		"PostgreSQL": one(refused, postgresTrigger("CONSTRAINT TRIGGER no AFTER UPDATE ON iceberg_tables DEFERRABLE INITIALLY DEFERRED")),
	}},
	{"the database is a replica that can only be read", map[string]cell{
		"PostgreSQL": parameter("default_transaction_read_only", "on", one(refused, nothing)),
		"MySQL":      parameter("tx_read_only", "1", one(refused, nothing)),
	}},
	{"the server ends the session within the statement", map[string]cell{
		"PostgreSQL": one(unknown, backendTerminated),
		"MySQL":      one(unknown, mysqlKilled),
	}},
	{"somebody holds the table's lock", map[string]cell{"Hive": briefly(one(conflict, hiveHeld))}},
	{"the metastore says that the table has been modified", map[string]cell{
		"Hive": one(conflict, hiveSays(dbproxy.BeforeApply, metaException, modified)),
	}},
	{"it says so to a copy of a commit that is done, which it repeated itself", map[string]cell{
		"Hive": one(committed, hiveSays(dbproxy.AfterApply, metaException, modified)),
	}},
	{"the metastore says InvalidOperationException", map[string]cell{
		"Hive": one(refused, hiveSays(dbproxy.BeforeApply, invalidOperation, "not today")),
	}},
	{"the metastore says MetaException and has done nothing", map[string]cell{
		"Hive": one(unknown, hiveSays(dbproxy.BeforeApply, metaException, "not today")),
	}},
	{"the metastore says MetaException after it is done", map[string]cell{
		"Hive": happened(one(unknown, hiveSays(dbproxy.AfterApply, metaException, "a listener failed"))),
	}},
	{"no locks are to be taken, and another writer was first", map[string]cell{
		"Hive": unlocked(one(conflict, somebodyElse("main"))),
	}},
	{"no locks are to be taken, but the metastore is too old to check conditions", map[string]cell{
		"Hive": onHive3(unlocked(one(refused, nothing))),
	}},
}

// everywhere is a situation that every catalog makes the same of.
func everywhere(name, want string, arrange arrangement) situation {
	s := situation{name: name, cells: map[string]cell{}}
	for _, column := range columns {
		s.cells[column] = one(want, arrange)
	}
	return s
}

func one(want string, arrange arrangement) cell {
	return several(want, map[string]arrangement{"": arrange})
}

func several(want string, ways map[string]arrangement) cell { return cell{want: want, ways: ways} }

func happened(c cell) cell {
	c.happened = true
	return c
}

// vending is for tables whose files are on S3, with credentials that come with them.
func vending(c cell) cell {
	c.lab = vendingLab
	return c
}

// impatient gives requests little time, for situations in which all of it goes by.
func impatient(c cell) cell { return within(patience, c) }

// slow gives requests the time that is needed when half of it may go by.
func slow(c cell) cell { return within(4*patience, c) }

func within(limit time.Duration, c cell) cell {
	c.tune = func(o *catalog.Options) { o.Timeout = limit }
	return c
}

// parameter sets a parameter of the sessions with the database.
func parameter(name, value string, c cell) cell {
	tuned := c.tune
	c.tune = func(o *catalog.Options) {
		if tuned != nil {
			tuned(o)
		}
		o.URI = withParameter(o.URI, name, value)
	}
	return c
}

func serverErrors(how func(restcatalog.Fault) restcatalog.Fault) map[string]arrangement {
	out := map[string]arrangement{}
	for _, code := range []int{500, 502, 504} {
		out[strconv.Itoa(code)] = breaking(how(restcatalog.Status(code)))
	}
	out["503"] = breaking(how(restcatalog.Later(503, "3600")))
	return out
}

// patience is the time limit of a request for tests in which a reply never comes.
const patience = 2 * time.Second

// watchdog ends tests in which something does not happen that must.
const watchdog = time.Minute
