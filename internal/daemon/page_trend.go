package daemon

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dvcompactor/dvcompactor/internal/term"
)

// The size of a trend in its own units, with room for the width of the line.
const (
	trendWidth  = 240
	trendHeight = 56
	trendMargin = 6
)

// trend is a line through a number before and after each of some runs. A run is a drop at one place, what happens between
// two runs is the way from one place to the next.
type trend struct {
	What   string
	Points string // of the line, empty when nothing was counted
	Latest string
	Text   string // what the line shows, for those who do not see it
}

// newTrend draws one number of runs, newest last, each with counts before it.
func newTrend(what string, runs []Run, pick counter) trend {
	t := trend{What: what}
	if len(runs) == 0 {
		return t
	}
	first := pick(*runs[0].Before)
	values := []int64{first}
	for _, r := range runs {
		before := pick(*r.Before)
		after := before
		if r.After != nil {
			after = pick(*r.After)
		}
		values = append(values, before, after)
	}
	t.Points = line(values)
	last := values[len(values)-1]
	t.Latest = term.Count(last)
	t.Text = fmt.Sprintf("%s before the first of %s, %s after the last, %s at most", term.Count(first), term.Plural(int64(len(runs)), "run", "runs"), t.Latest, term.Count(highest(values)))
	return t
}

// line places values: the first at the left edge, then two at each place.
func line(values []int64) string {
	most := max(highest(values), 1)
	places := len(values) / 2
	var b strings.Builder
	for i, v := range values {
		x := trendMargin + (i+1)/2*(trendWidth-2*trendMargin)/places
		y := trendHeight - trendMargin - int(float64(v)/float64(most)*(trendHeight-2*trendMargin))
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.Itoa(x) + "," + strconv.Itoa(y))
	}
	return b.String()
}

func highest(values []int64) (most int64) {
	for _, v := range values {
		most = max(most, v)
	}
	return most
}

// trends are those of the page of a table.
func (g *tableGroup) trends() []trend {
	runs := g.counted(0)
	return []trend{
		newTrend("position delete files", runs, positionDeletes), newTrend("Puffin files", runs, puffins),
		newTrend("deletion vectors", runs, vectors), newTrend("deleted rows", runs, deletedRows),
	}
}

func itoa64(n int64) string { return strconv.FormatInt(n, 10) }
