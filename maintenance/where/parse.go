package where

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/apache/iceberg-go"
)

// ErrPredicate says that a predicate cannot be read, or is not about the partitions of the table.
var ErrPredicate = errors.New("predicate")

// Predicate is a predicate that has been read, for any table.
type Predicate struct {
	text string
	root node
}

// String is the predicate as it was given.
func (p *Predicate) String() string { return p.text }

// node is a leaf when it has a name; else all or any of its parts have to be true.
type node struct {
	any   bool
	parts []node
	leaf
}

// leaf is one test of a name.
type leaf struct {
	name  string
	op    iceberg.Operation // EQ, NEQ, LT, LTEQ, GT, GTEQ, IsNull or NotNull
	value token
	at    int
}

// maxDepth bounds parentheses and NOTs in each other.
const maxDepth = 200

// Parse reads a predicate. The error is an ErrPredicate that says where what is wrong.
func Parse(predicate string) (*Predicate, error) {
	p := &parser{lexer: lexer{input: predicate}}
	if !utf8.ValidString(predicate) {
		return nil, fmt.Errorf("%w: it is not UTF-8", ErrPredicate)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	root, err := p.disjunction(false)
	if err == nil && p.token.kind != end {
		err = p.wrong(p.token.at, "expected AND, OR or the end, not %s", p.token.shown())
	}
	if err != nil {
		return nil, err
	}
	return &Predicate{text: predicate, root: root}, nil
}

func (l *lexer) wrong(at int, format string, args ...any) error {
	place := utf8.RuneCountInString(l.input[:at]) + 1
	return fmt.Errorf("%w %q, at character %d: %s", ErrPredicate, l.input, place, fmt.Sprintf(format, args...))
}

// parser reads a predicate with one token of look-ahead. negated is passed down: what is under a NOT is read as its
// opposite, so that no NOT is left.
type parser struct {
	lexer
	token token
	depth int
}

func (p *parser) advance() (err error) {
	p.token, err = p.next()
	return err
}

// take goes on when the token is this one.
func (p *parser) take(what string) (bool, error) {
	if !p.token.is(what) {
		return false, nil
	}
	return true, p.advance()
}

func (p *parser) expect(what string) error {
	ok, err := p.take(what)
	if err == nil && !ok {
		err = p.wrong(p.token.at, "expected %s, not %s", what, p.token.shown())
	}
	return err
}

func (p *parser) disjunction(negated bool) (node, error) {
	return p.list("OR", !negated, func() (node, error) {
		return p.list("AND", negated, func() (node, error) { return p.term(negated) })
	})
}

// list reads parts with a word between them.
func (p *parser) list(between string, any bool, part func() (node, error)) (node, error) {
	out := node{any: any}
	for more := true; more; {
		n, err := part()
		if err != nil {
			return node{}, err
		}
		out.parts = append(out.parts, n)
		if more, err = p.take(between); err != nil {
			return node{}, err
		}
	}
	if len(out.parts) == 1 {
		return out.parts[0], nil
	}
	return out, nil
}

func (p *parser) term(negated bool) (node, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return node{}, p.wrong(p.token.at, "more than %d parentheses or NOTs in each other", maxDepth)
	}
	if not, err := p.take("NOT"); err != nil || not {
		if err != nil {
			return node{}, err
		}
		return p.term(!negated)
	}
	if open, err := p.take("("); err != nil || open {
		if err != nil {
			return node{}, err
		}
		n, err := p.disjunction(negated)
		if err == nil {
			err = p.expect(")")
		}
		return n, err
	}
	return p.test(negated)
}

// isName says whether the token can be the name of a column: a keyword has to be in quotes.
func (t token) isName() bool {
	if t.kind == quoted {
		return true
	}
	for _, keyword := range []string{"AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "TRUE", "FALSE"} {
		if t.is(keyword) {
			return false
		}
	}
	return t.kind == word
}

func (p *parser) test(negated bool) (node, error) {
	name := p.token
	if !name.isName() {
		return node{}, p.wrong(name.at, "expected the name of a column, not %s", name.shown())
	}
	if err := p.advance(); err != nil {
		return node{}, err
	}
	if is, err := p.take("IS"); err != nil || is {
		return p.null(name, negated, err)
	}
	if not, err := p.take("NOT"); err != nil {
		return node{}, err
	} else if not {
		if !p.token.is("IN") && !p.token.is("BETWEEN") {
			return node{}, p.wrong(p.token.at, "expected IN or BETWEEN, not %s", p.token.shown())
		}
		negated = !negated
	}
	if in, err := p.take("IN"); err != nil || in {
		return p.in(name, negated, err)
	}
	if between, err := p.take("BETWEEN"); err != nil || between {
		return p.between(name, negated, err)
	}
	return p.comparison(name, negated)
}

func (p *parser) null(name token, negated bool, err error) (node, error) {
	var not bool
	if err == nil {
		not, err = p.take("NOT")
	}
	if err == nil {
		err = p.expect("NULL")
	}
	op := iceberg.OpIsNull
	if not != negated {
		op = iceberg.OpNotNull
	}
	return leafOf(name, op, token{}), err
}

func leafOf(name token, op iceberg.Operation, value token) node {
	return node{leaf: leaf{name: name.text, op: op, value: value, at: name.at}}
}

// value reads a literal.
func (p *parser) value() (token, error) {
	t := p.token
	literal := t.kind == number || t.kind == text || t.kind == hexadecimal || t.is("TRUE") || t.is("FALSE")
	if !literal {
		return t, p.wrong(t.at, "expected a value, not %s; text is written 'so'", t.shown())
	}
	return t, p.advance()
}

// in reads a list of values: one of them is equal, or each is not.
func (p *parser) in(name token, negated bool, err error) (node, error) {
	if err == nil {
		err = p.expect("(")
	}
	if err != nil {
		return node{}, err
	}
	op := iceberg.OpEQ
	if negated {
		op = iceberg.OpNEQ
	}
	n, err := p.list(",", !negated, func() (node, error) {
		value, err := p.value()
		return leafOf(name, op, value), err
	})
	if err == nil {
		err = p.expect(")")
	}
	return n, err
}

func (p *parser) between(name token, negated bool, err error) (node, error) {
	var low, high token
	if err == nil {
		low, err = p.value()
	}
	if err == nil {
		err = p.expect("AND")
	}
	if err == nil {
		high, err = p.value()
	}
	if negated {
		return node{any: true, parts: []node{leafOf(name, iceberg.OpLT, low), leafOf(name, iceberg.OpGT, high)}}, err
	}
	return node{parts: []node{leafOf(name, iceberg.OpGTEQ, low), leafOf(name, iceberg.OpLTEQ, high)}}, err
}

func (p *parser) comparison(name token, negated bool) (node, error) {
	op, ok := operator(p.token)
	if !ok {
		return node{}, p.wrong(p.token.at, "expected a comparison, IN, BETWEEN or IS, not %s", p.token.shown())
	}
	if negated {
		op = op.Negate()
	}
	err := p.advance()
	var value token
	if err == nil {
		value, err = p.value()
	}
	return leafOf(name, op, value), err
}

func operator(t token) (iceberg.Operation, bool) {
	op, ok := map[string]iceberg.Operation{
		"=": iceberg.OpEQ, "==": iceberg.OpEQ, "!=": iceberg.OpNEQ, "<>": iceberg.OpNEQ,
		"<": iceberg.OpLT, "<=": iceberg.OpLTEQ, ">": iceberg.OpGT, ">=": iceberg.OpGTEQ,
	}[t.text]
	return op, ok && t.kind == symbol
}
