package where

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
)

// literal reads a value as one of a column's type. Times without a zone are in UTC, and a date stands for its first moment.
func literal(t token, typ iceberg.Type) (iceberg.Literal, error) {
	wrong := func(want string) (iceberg.Literal, error) {
		return nil, fmt.Errorf("%s is no %s: %s", t.shown(), typ, want)
	}
	switch typ := typ.(type) {
	case iceberg.BooleanType:
		if t.kind != word {
			return wrong("write TRUE or FALSE")
		}
	case iceberg.Int32Type, iceberg.Int64Type, iceberg.Float32Type, iceberg.Float64Type:
		if t.kind != number {
			return wrong("write a number without quotes")
		}
	case iceberg.DecimalType:
		_, fraction, _ := strings.Cut(t.text, ".")
		if t.kind != number || len(fraction) > typ.Scale() || strings.ContainsAny(t.text, "eE") {
			return wrong(fmt.Sprintf("write a number with at most %d digits after the point", typ.Scale()))
		}
	case iceberg.BinaryType, iceberg.FixedType:
		bytes, err := hex.DecodeString(t.text)
		if t.kind != hexadecimal || err != nil {
			return wrong("write X'00ff'")
		}
		return iceberg.NewLiteral(bytes).To(typ)
	default:
		if t.kind != text {
			return wrong("write it in quotes, 'so'")
		}
	}
	lit, err := iceberg.StringLiteral(iso(t.text, typ)).To(typ)
	if err != nil {
		return wrong(example(typ))
	}
	return lit, nil
}

// iso completes a date or time for the library, which takes whole ISO 8601 texts only.
func iso(text string, typ iceberg.Type) string {
	zone := false
	switch typ.(type) {
	case iceberg.TimestampType, iceberg.TimestampNsType:
	case iceberg.TimestampTzType, iceberg.TimestampTzNsType:
		zone = true
	default:
		return text
	}
	const date = len("2006-01-02")
	if len(text) == date {
		text += "T00:00:00"
	} else if len(text) > date && text[date] == ' ' {
		text = text[:date] + "T" + text[date+1:]
	}
	if len(text) > date && strings.Count(text[date:], ":") == 1 && !strings.ContainsAny(text[date:], "Z+-") {
		text += ":00"
	}
	if zone && len(text) > date && !strings.ContainsAny(text[date:], "Z+-") {
		text += "Z"
	}
	return text
}

func example(typ iceberg.Type) string {
	switch typ.(type) {
	case iceberg.DateType:
		return "write '2026-01-31'"
	case iceberg.TimeType:
		return "write '13:45:00'"
	case iceberg.TimestampType, iceberg.TimestampNsType:
		return "write '2026-01-31' or '2026-01-31 13:45:00'"
	case iceberg.TimestampTzType, iceberg.TimestampTzNsType:
		return "write '2026-01-31' or '2026-01-31 13:45:00+01:00'"
	case iceberg.UUIDType:
		return "write 'f79c3e09-677c-4bbd-a479-3f349cb785e7'"
	}
	return "it cannot be read"
}

// period reads the value of a partition field that counts years, months, days or hours since 1970, as engines show it.
func period(t token, transform iceberg.Transform) (value iceberg.Literal, is bool, err error) {
	forms := map[string]string{"year": "2006", "month": "2006-01", "day": "2006-01-02", "hour": "2006-01-02-15"}
	form, is := forms[transform.String()]
	if !is {
		return nil, false, nil
	}
	at, err := time.Parse(form, t.text)
	if err != nil || t.kind != text {
		return nil, true, fmt.Errorf("%s is no %s: write it as '%s'", t.shown(), transform, form)
	}
	const day = 24 * 60 * 60
	switch transform.String() {
	case "year":
		return iceberg.NewLiteral(int32(at.Year() - 1970)), true, nil
	case "month":
		return iceberg.NewLiteral(int32((at.Year()-1970)*12 + int(at.Month()) - 1)), true, nil
	case "day":
		return iceberg.NewLiteral(int32(at.Unix() / day)), true, nil
	}
	hours := at.Unix() / 3600 // whole hours, so that nothing is rounded
	return iceberg.NewLiteral(int32(hours)), true, nil
}
