package faults

// Operations.
const (
	opGet      = "get"
	opGetRange = "get-range"
	opHead     = "head"
	opPut      = "put"
	opDelete   = "delete"
	opList     = "list"
	opLoad     = "load"
	opCommit   = "commit"
	opWrite    = "write"
	opAny      = "any"
)

// operations returns the calls that an operation of a rule is about, nil when there is no such operation.
func operations(op string) []string {
	switch op {
	case opGet, opGetRange, opHead, opPut, opDelete, opList, opLoad, opCommit:
		return []string{op}
	case opWrite:
		return []string{opPut, opDelete, opCommit}
	case opAny:
		return []string{opGet, opGetRange, opHead, opPut, opDelete, opList, opLoad, opCommit}
	}
	return nil
}

// damage is what happens to the bytes or the freshness of a call that is done.
type damage int

const (
	intact damage = iota
	short
	garbage
	stale
	torn
)

// answer is what the caller is told in place of the truth.
type answer string

const (
	truth       answer = ""
	denied      answer = "fail"
	missing     answer = "404" // of what a stale store does not show
	notMatched  answer = "412"
	tooMany     answer = "429"
	unavailable answer = "503"
	reset       answer = "reset"
	conflict    answer = "conflict"
	refused     answer = "refused"
	unknown     answer = "unknown"
)

// effect is what a fault does to a call.
type effect struct {
	ops    []string // calls that it is possible for
	done   bool     // the call is done
	damage damage
	answer answer
	crash  bool // then everything ends
	takes  bool // it has a duration
}

// effects returns what each fault of the language does.
func effects() map[string]effect {
	all, reads := operations(opAny), []string{opGet, opGetRange}
	return map[string]effect{
		"fail":                   {ops: all, answer: denied},
		"429":                    {ops: all, answer: tooMany},
		"503":                    {ops: all, answer: unavailable},
		"reset":                  {ops: all, answer: reset},
		"lost-reply":             {ops: all, done: true, answer: reset},
		"slow":                   {ops: all, done: true, takes: true},
		"crash":                  {ops: all, crash: true},
		"crash-after":            {ops: all, done: true, crash: true},
		"412":                    {ops: []string{opPut}, answer: notMatched},
		"short":                  {ops: reads, done: true, damage: short},
		"garbage":                {ops: append([]string{opPut}, reads...), done: true, damage: garbage},
		"stale":                  {ops: append([]string{opHead, opList, opLoad}, reads...), done: true, damage: stale},
		"pretend":                {ops: operations(opWrite)},
		"torn":                   {ops: operations(opWrite), damage: torn, crash: true},
		"conflict":               {ops: []string{opCommit}, answer: conflict},
		"refused":                {ops: []string{opCommit}, answer: refused},
		"unknown":                {ops: []string{opCommit}, answer: unknown},
		"conflict-after-success": {ops: []string{opCommit}, done: true, answer: conflict},
	}
}
