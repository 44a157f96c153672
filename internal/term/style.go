package term

// Style paints text with ANSI colours, or leaves it alone. The zero value leaves it alone.
type Style struct{ on bool }

// NewStyle makes a style that paints when on is true.
func NewStyle(on bool) Style { return Style{on: on} }

// Colour says whether the style paints.
func (s Style) Colour() bool { return s.on }

func (s Style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold is for names and headings.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Dim is for what matters less.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Good is for what got better or is in order.
func (s Style) Good(text string) string { return s.paint("32", text) }

// Warn is for what was left alone.
func (s Style) Warn(text string) string { return s.paint("33", text) }

// Bad is for what is damaged or went wrong.
func (s Style) Bad(text string) string { return s.paint("31", text) }
