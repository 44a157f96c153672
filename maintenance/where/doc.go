// Package where reads predicates over the partitions of a table and says which partitions may hold rows that they are true
// of:
//
//	predicate  = conjunction { "OR" conjunction }
//	conjunction = term { "AND" term }
//	term       = "NOT" term | "(" predicate ")" | name test
//	test       = ( "=" | "!=" | "<>" | "<" | "<=" | ">" | ">=" ) value
//	           | [ "NOT" ] "IN" "(" value { "," value } ")" | [ "NOT" ] "BETWEEN" value "AND" value | "IS" [ "NOT" ] "NULL"
//	value      = number | 'text' | X'hexadecimal digits' | TRUE | FALSE
//
// A name is that of a column which some partition spec has as a source, or of a partition field. As in SQL no comparison
// with null is true. Of a column whose values are transformed the predicate is projected: the partition is taken when some
// value in it may pass (table spec, "Scan Planning"). A spec that says nothing about a name does not keep its partitions out.
package where
