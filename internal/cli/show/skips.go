package show

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dvcompactor/dvcompactor/internal/term"
	"github.com/dvcompactor/dvcompactor/maintenance"
)

// examples is how many of many things are shown.
const examples = 3

// skips writes what was left alone, grouped by reason, most frequent first.
func skips(p *page, s term.Style, all []maintenance.Skip) {
	if len(all) == 0 {
		return
	}
	p.printf("\n  %s\n", s.Warn("skipped: "+term.Count(int64(len(all)))))
	for _, group := range byReason(all) {
		p.printf("    %s  %s\n", s.Bold(group[0].Reason), term.Count(int64(len(group))))
		for i, skip := range group {
			if i == examples {
				p.printf("      %s\n", s.Dim(fmt.Sprintf("and %s more", term.Count(int64(len(group)-examples)))))
				break
			}
			p.printf("      %s\n", term.Safe(sentence(skip)))
		}
		for _, hint := range hints(group) {
			p.printf("      %s %s\n", s.Dim("hint:"), term.Safe(hint))
		}
	}
}

func byReason(all []maintenance.Skip) [][]maintenance.Skip {
	index := map[string]int{}
	var out [][]maintenance.Skip
	for _, skip := range all {
		i, ok := index[skip.Reason]
		if !ok {
			i = len(out)
			index[skip.Reason] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], skip)
	}
	slices.SortStableFunc(out, func(a, b []maintenance.Skip) int { return len(b) - len(a) })
	return out
}

// sentence says what is skipped and why in one line.
func sentence(skip maintenance.Skip) string {
	text := skip.Detail
	for _, location := range []string{skip.DataFile, skip.Location} {
		if location != "" && !strings.Contains(skip.Detail, location) {
			text = location + ": " + text
			break
		}
	}
	return text
}

// hints returns the different hints of a group.
func hints(group []maintenance.Skip) []string {
	var out []string
	for _, skip := range group {
		if skip.Hint != "" && !slices.Contains(out, skip.Hint) && len(out) < examples {
			out = append(out, skip.Hint)
		}
	}
	return out
}
