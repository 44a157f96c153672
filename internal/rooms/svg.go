package rooms

import (
	"fmt"
	"html"
	"strings"
)

// Measures of the picture, in pixels.
const (
	boxWidth, boxHeight   = 220.0, 58.0
	columnStep, rowStep   = 244.0, 104.0
	marginX, marginTop    = 28.0, 30.0
	marginBottom, arrowIn = 52.0, 9.0
)

// style gives the picture its own background, so that it can be read on any page, light or dark.
const style = `
  .page { fill: #ffffff; stroke: #d0d7de }
  .box { fill: #f6f8fa; stroke: #8c959f }
  .public { fill: #ddf4ff; stroke: #0969da }
  .tests { stroke-dasharray: 5 4 }
  .arrow { fill: none; stroke: #57606a; stroke-width: 1.4 }
  .head { fill: #57606a }
  .name { fill: #1f2328; font: 600 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }
  .what, .note { fill: #57606a; font: 12.5px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #30363d }
    .box { fill: #161b22; stroke: #6e7681 }
    .public { fill: #0c2d6b; stroke: #58a6ff }
    .arrow { stroke: #9198a1 }
    .head { fill: #9198a1 }
    .name { fill: #f0f6fc }
    .what, .note { fill: #b1bac4 }
  }
`

// SVG draws the rooms that have packages, and the essential arrows between them.
func SVG(rooms []Room, packages []Package) string {
	var shown []Room
	for _, r := range rooms {
		for _, p := range packages {
			if within(p.Path, r.Path) {
				shown = append(shown, r)
				break
			}
		}
	}
	d := &drawing{rooms: map[string]Room{}}
	for _, r := range shown {
		d.rooms[r.Path] = r
		d.columns, d.rows = max(d.columns, r.X), max(d.rows, r.Y)
	}
	d.open()
	for _, a := range Essential(Arrows(rooms, packages)) {
		d.arrow(a)
	}
	for _, r := range shown {
		d.box(r)
	}
	d.note("An arrow means: imports. What follows from other arrows is left out. Blue: open to other modules. Dashed: for tests only.")
	d.printf("</svg>\n")
	return d.out.String()
}

type drawing struct {
	out     strings.Builder
	rooms   map[string]Room
	columns float64
	rows    int
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.out, format, args...) }

func (d *drawing) size() (width, height float64) {
	return 2*marginX + d.columns*columnStep + boxWidth, marginTop + float64(d.rows)*rowStep + boxHeight + marginBottom
}

func (d *drawing) open() {
	width, height := d.size()
	d.printf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" role=\"img\">\n", width, height, width, height)
	d.printf("<title>The rooms of dvcompactor and what they import</title>\n<style>%s</style>\n", style)
	d.printf("<defs><marker id=\"head\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path class=\"head\" d=\"M0 0L10 5L0 10z\"/></marker></defs>\n")
	d.printf("<rect class=\"page\" x=\"0.5\" y=\"0.5\" width=\"%g\" height=\"%g\" rx=\"10\"/>\n", width-1, height-1)
}

// corner is the upper left corner of a room's box.
func (r Room) corner() (x, y float64) {
	return marginX + r.X*columnStep, marginTop + float64(r.Y)*rowStep
}

func (d *drawing) box(r Room) {
	x, y := r.corner()
	class := "box"
	switch {
	case testsOnly(r.Path):
		class += " tests"
	case !strings.HasPrefix(r.Path, "internal/") && !strings.HasPrefix(r.Path, "cmd/"):
		class += " public"
	}
	d.printf("<g><rect class=\"%s\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" rx=\"7\"/>", class, x, y, boxWidth, boxHeight)
	d.printf("<text class=\"name\" x=\"%g\" y=\"%g\" text-anchor=\"middle\">%s</text>", x+boxWidth/2, y+25, html.EscapeString(r.Path))
	d.printf("<text class=\"what\" x=\"%g\" y=\"%g\" text-anchor=\"middle\">%s</text></g>\n", x+boxWidth/2, y+44, html.EscapeString(r.What))
}

// arrow draws a curve from the lower edge of one box to the upper edge of another, or between the sides of two boxes in
// one row. Ends are shifted towards each other, so that arrows of one box do not start in one point.
func (d *drawing) arrow(a Arrow) {
	from, to := d.rooms[a.From], d.rooms[a.To]
	x1, y1 := from.corner()
	x2, y2 := to.corner()
	if from.Y == to.Y {
		d.sideways(x1, y1, x2)
		return
	}
	side := clamp((to.X - from.X) / 2)
	x1 += boxWidth/2 + side*boxWidth*0.36
	x2 += boxWidth/2 - side*boxWidth*0.3
	y1 += boxHeight
	bend := (y2 - y1) / 2
	d.printf("<path class=\"arrow\" marker-end=\"url(#head)\" d=\"M%g %gC%g %g %g %g %g %g\"/>\n", x1, y1, x1, y1+bend, x2, y2-bend, x2, y2-1)
}

func (d *drawing) sideways(x1, y, x2 float64) {
	y += boxHeight / 2
	if x2 > x1 {
		x1 += boxWidth
		x2 -= 1
	} else {
		x2 += boxWidth + 1
	}
	d.printf("<path class=\"arrow\" marker-end=\"url(#head)\" d=\"M%g %gL%g %g\"/>\n", x1, y, x2, y)
}

func clamp(v float64) float64 { return max(-1, min(1, v)) }

func (d *drawing) note(text string) {
	_, height := d.size()
	d.printf("<text class=\"note\" x=\"%g\" y=\"%g\">%s</text>\n", marginX, height-18, html.EscapeString(text))
}
