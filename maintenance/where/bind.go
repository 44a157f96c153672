package where

import (
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// Filter is a predicate for the partitions of one table.
type Filter struct {
	specs map[int32]check // by partition spec
}

// check says whether rows of a partition may pass.
type check func(partition map[int]any) bool

// Bind makes the filter of a table. The error is an ErrPredicate: a name is not that of a column that partitions the table,
// or a value is not of its type.
func (p *Predicate) Bind(meta table.Metadata) (*Filter, error) {
	f := &Filter{specs: map[int32]check{}}
	specs := meta.PartitionSpecs()
	if err := p.known(p.root, meta, specs); err != nil {
		return nil, err
	}
	for _, spec := range specs {
		b := &binder{predicate: p, spec: spec, schema: snapshot.SchemaWith(meta, &spec)}
		if b.schema == nil {
			continue // nobody can say what its tuples mean
		}
		b.partition = iceberg.NewSchema(0, spec.PartitionType(b.schema).FieldList...)
		c, err := b.node(p.root)
		if err != nil {
			return nil, err
		}
		f.specs[int32(spec.ID())] = c
	}
	return f, nil
}

// Matches says whether rows of a partition may pass. A spec that nothing is known of keeps nothing out.
func (f *Filter) Matches(spec int32, partition map[int]any) bool {
	c := f.specs[spec]
	return c == nil || c(partition)
}

// known refuses names that are in no spec.
func (p *Predicate) known(n node, meta table.Metadata, specs []iceberg.PartitionSpec) error {
	for _, part := range n.parts {
		if err := p.known(part, meta, specs); err != nil {
			return err
		}
	}
	if n.name == "" {
		return nil
	}
	columns := map[string]bool{}
	for _, spec := range specs {
		schema := snapshot.SchemaWith(meta, &spec)
		for _, f := range spec.Fields() {
			if _, void := f.Transform.(iceberg.VoidTransform); void || schema == nil {
				continue
			}
			columns[f.Name] = true
			for _, id := range f.SourceIDs {
				if name, ok := schema.FindColumnName(id); ok {
					columns[name] = true
				}
			}
		}
	}
	if columns[n.name] {
		return nil
	}
	names := make([]string, 0, len(columns))
	for name := range columns {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return p.wrong(n.leaf, "%s: the table has no partitions", n.name)
	}
	return p.wrong(n.leaf, "%s does not partition the table; what does is %s", n.name, strings.Join(names, ", "))
}

func (p *Predicate) wrong(l leaf, format string, args ...any) error {
	return (&lexer{input: p.text}).wrong(l.at, format, args...)
}

// binder makes the check of one partition spec.
type binder struct {
	predicate *Predicate
	spec      iceberg.PartitionSpec
	schema    *iceberg.Schema // that has the source columns of the spec
	partition *iceberg.Schema // of the partition tuple
}

func (b *binder) node(n node) (check, error) {
	if n.name != "" {
		return b.leaf(n.leaf)
	}
	var parts []check
	for _, part := range n.parts {
		c, err := b.node(part)
		if err != nil {
			return nil, err
		}
		parts = append(parts, c)
	}
	return func(partition map[int]any) bool {
		for _, c := range parts {
			if c(partition) == n.any {
				return n.any
			}
		}
		return !n.any
	}, nil
}

// leaf is a test of a source column when the spec has one of this name, else of a partition field; else it says nothing.
func (b *binder) leaf(l leaf) (check, error) {
	var checks []check
	column, isColumn := b.schema.FindFieldByName(l.name)
	for _, f := range b.spec.Fields() {
		source := isColumn && slices.Contains(f.SourceIDs, column.ID)
		if !source && f.Name != l.name {
			continue
		}
		pred, err := b.test(l, column, f, source)
		if err != nil {
			return nil, b.predicate.wrong(l, "%s: %v", l.name, err)
		}
		if pred == nil {
			continue
		}
		evaluate, err := iceberg.ExpressionEvaluator(b.partition, pred, true)
		if err != nil {
			return nil, b.predicate.wrong(l, "%s: %v", l.name, err)
		}
		checks = append(checks, b.evaluate(f, l.op, evaluate))
	}
	return func(partition map[int]any) bool {
		return !slices.ContainsFunc(checks, func(c check) bool { return !c(partition) })
	}, nil
}

// test gives a test of a partition field, nil for a void one, whose nulls say nothing.
func (b *binder) test(l leaf, column iceberg.NestedField, f iceberg.PartitionField, source bool) (iceberg.BooleanExpression, error) {
	if _, void := f.Transform.(iceberg.VoidTransform); void {
		return nil, nil
	}
	if source {
		pred, err := expression(l, l.name, column.Type)
		if err != nil {
			return nil, err
		}
		bound, err := iceberg.BindExpr(b.schema, pred, true)
		if err != nil {
			return nil, err
		}
		p, ok := bound.(iceberg.BoundPredicate)
		if !ok {
			return bound, nil // true or false whatever the value
		}
		projected, err := f.Transform.Project(f.Name, p)
		if err != nil || projected != nil {
			return projected, err
		}
		return iceberg.AlwaysTrue{}, nil // of every value but null
	}
	if l.op == iceberg.OpIsNull || l.op == iceberg.OpNotNull {
		return iceberg.UnaryPredicate(l.op, iceberg.Reference(f.Name)), nil
	}
	if value, is, err := period(l.value, f.Transform); is {
		if err != nil {
			return nil, err
		}
		return iceberg.LiteralPredicate(l.op, iceberg.Reference(f.Name), value), nil
	}
	own, _ := b.partition.FindFieldByID(f.FieldID)
	return expression(l, f.Name, own.Type)
}

// expression is a leaf as the library has it.
func expression(l leaf, name string, typ iceberg.Type) (iceberg.BooleanExpression, error) {
	if l.op == iceberg.OpIsNull || l.op == iceberg.OpNotNull {
		return iceberg.UnaryPredicate(l.op, iceberg.Reference(name)), nil
	}
	value, err := literal(l.value, typ)
	if err != nil {
		return nil, err
	}
	return iceberg.LiteralPredicate(l.op, iceberg.Reference(name), value), nil
}

// evaluate looks at one partition field. No comparison with null is true. What the library cannot compare may pass.
func (b *binder) evaluate(f iceberg.PartitionField, op iceberg.Operation, evaluate func(iceberg.StructLike) (bool, error)) check {
	return func(partition map[int]any) (pass bool) {
		if partition[f.FieldID] == nil && op != iceberg.OpIsNull {
			return false
		}
		defer func() {
			if recover() != nil {
				pass = true
			}
		}()
		row := make(tuple, 0, b.partition.NumFields())
		for _, field := range b.partition.Fields() {
			row = append(row, partition[field.ID])
		}
		pass, err := evaluate(row)
		return pass || err != nil
	}
}

// tuple is a partition tuple in the order of its type.
type tuple []any

// Size implements iceberg.StructLike.
func (t tuple) Size() int { return len(t) }

// Get implements iceberg.StructLike.
func (t tuple) Get(pos int) any { return t[pos] }

// Set implements iceberg.StructLike.
func (t tuple) Set(pos int, value any) { t[pos] = value }
