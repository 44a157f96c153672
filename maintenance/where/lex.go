package where

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is that of a token.
type kind int

const (
	end    kind = iota
	word        // a name without quotes, or a keyword
	quoted      // a name in quotes
	number
	text
	hexadecimal
	symbol
)

// token is a piece of a predicate.
type token struct {
	kind kind
	text string // what it stands for: without quotes
	at   int    // bytes before it
}

// is says whether the token is a keyword, in either case, or a symbol.
func (t token) is(what string) bool {
	return t.kind == symbol && t.text == what || t.kind == word && strings.EqualFold(t.text, what)
}

// shown is the token in an error.
func (t token) shown() string {
	if t.kind == end {
		return "the end"
	}
	return t.text
}

// lexer cuts a predicate into tokens.
type lexer struct {
	input string
	at    int
}

func (l *lexer) next() (token, error) {
	l.at += len(l.input[l.at:]) - len(strings.TrimLeftFunc(l.input[l.at:], unicode.IsSpace))
	start, rest := l.at, l.input[l.at:]
	if rest == "" {
		return token{end, "", start}, nil
	}
	c, _ := utf8.DecodeRuneInString(rest)
	switch {
	case c == '\'':
		return l.quotedBy('\'', text, 0)
	case c == '"' || c == '`':
		return l.quotedBy(byte(c), quoted, 0)
	case (c == 'x' || c == 'X') && strings.HasPrefix(rest[1:], "'"):
		return l.quotedBy('\'', hexadecimal, 1)
	case unicode.IsDigit(c), c == '-', c == '+', c == '.':
		return l.number(), nil
	case inName(c):
		return l.while(word, inName), nil
	}
	for _, s := range []string{"<=", ">=", "!=", "<>", "==", "=", "<", ">", "(", ")", ","} {
		if strings.HasPrefix(rest, s) {
			l.at += len(s)
			return token{symbol, s, start}, nil
		}
	}
	return token{}, l.wrong(start, "unexpected %q", string(c))
}

func inName(c rune) bool {
	return c == '_' || c == '.' || unicode.IsLetter(c) || unicode.IsDigit(c)
}

func (l *lexer) while(k kind, in func(rune) bool) token {
	start, rest := l.at, l.input[l.at:]
	n := strings.IndexFunc(rest, func(c rune) bool { return !in(c) })
	if n < 0 {
		n = len(rest)
	}
	l.at += n
	return token{k, rest[:n], start}
}

// number takes what looks like one; whether it is, its type decides. A sign may follow an exponent only.
func (l *lexer) number() token {
	last := ' '
	return l.while(number, func(c rune) bool {
		sign := (c == '-' || c == '+') && (last == ' ' || last == 'e' || last == 'E')
		last = c
		return sign || inName(c)
	})
}

// quotedBy takes text between quotes, after a prefix; a quote inside of it is doubled.
func (l *lexer) quotedBy(quote byte, k kind, prefix int) (token, error) {
	start := l.at
	var b strings.Builder
	for i := start + prefix + 1; i < len(l.input); i++ {
		switch {
		case l.input[i] != quote:
			b.WriteByte(l.input[i])
		case i+1 < len(l.input) && l.input[i+1] == quote:
			b.WriteByte(quote)
			i++
		default:
			l.at = i + 1
			return token{k, b.String(), start}, nil
		}
	}
	return token{}, l.wrong(start, "there is no closing %c", quote)
}
