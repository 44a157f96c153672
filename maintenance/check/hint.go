package check

import (
	"fmt"
	"strings"
)

// hint completes what an issue says is to be done about it: with the names of this finding, with the command that mends
// it, and with the one that shows its bytes where they are in question. alone says that no other finding is of its issue.
func (f *Finding) hint(alone bool) string {
	parts := []string{strings.ReplaceAll(f.Hint, "TABLE", word(f.Table))}
	if f.Repair != None {
		parts = append(parts, f.repair(alone))
	}
	if f.Offset != nil && f.Length != nil && f.Effect != Waste && f.Issue != colifetime {
		parts = append(parts, fmt.Sprintf("dvcompactor inspect -c FILE --offset %d --length %d %s shows the deletion vector", *f.Offset, *f.Length, word(f.Location)))
	}
	return strings.Join(parts, "; ")
}

// repair is the command that mends the finding.
func (f *Finding) repair(alone bool) string {
	command := "dvcompactor repair -c FILE --issue " + f.Issue
	if f.Ref != "main" {
		command += " --ref " + word(f.Ref)
	}
	if about := f.about(); !alone && about != "" {
		command += " --file " + word(about)
	}
	command += " " + word(f.Table) + " shows what it would do"
	if f.Repair == Ask {
		return command + " and how many deleted rows come back, --apply --restore-rows with that number does it"
	}
	return command + ", --apply does it"
}

// about tells the finding from others of its issue: a deletion vector by its place in a Puffin file, a lost delete by its
// data file, anything else by the object that is wrong.
func (f *Finding) about() string {
	switch {
	case f.Offset != nil:
		return fmt.Sprintf("%s#%d", f.Location, *f.Offset)
	case f.Location == "" || f.Issue == "delete-dropped" || f.Issue == "delete-lost-in-rewrite":
		return f.DataFile
	}
	return f.Location
}

// word makes a shell take a text as one word, whatever is in it: paths are from the table.
func word(text string) string {
	odd := func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("_./:=@%+,#-", r)
	}
	if text != "" && !strings.ContainsFunc(text, odd) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
