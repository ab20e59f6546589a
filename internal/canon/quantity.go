package canon

import (
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

var (
	decimalSuffixes = [...]string{"", "k", "M", "G", "T", "P", "E"}
	binarySuffixes  = [...]string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
)

// appendQuantity appends the canonical form of a quantity, as Quantity.CanonicalizeBytes returns it
// after a trip over the wire. For common quantities, whole ones and thousandths, it needs no
// allocation.
//
// Quantity.MarshalJSON does not serve: it repeats the parsed text, such as 1.250 for 1250m, and a
// BinarySI amount that is no multiple of 1024 comes back as DecimalSI, 5000 as 5k.
func appendQuantity(dst []byte, quantity *resource.Quantity) []byte {
	// Methods of Quantity change their receiver while they compare or print. The value may be shared
	// with a cache, so they get a copy.
	q := *quantity
	dst = append(dst, '"')
	if whole, ok := q.AsInt64(); ok && whole != math.MinInt64 {
		dst = appendWhole(dst, whole, q.Format)
		return append(dst, '"')
	}
	milli := q.MilliValue()
	exact := resource.Quantity{Format: q.Format}
	exact.SetMilli(milli)
	switch {
	case q.Cmp(exact) != 0:
		dst = appendRare(dst, &q)
	case milli%1000 == 0:
		dst = appendWhole(dst, milli/1000, q.Format)
	default:
		dst = strconv.AppendInt(dst, milli, 10)
		dst = append(dst, thousandths(q.Format)...)
	}
	return append(dst, '"')
}

// appendRare appends a quantity by its own method. Up to v0.37, this method drops a magnitude for which
// there is no suffix, and writes 100 for 100000E.
func appendRare(dst []byte, q *resource.Quantity) []byte {
	number, suffix := q.CanonicalizeBytes(nil)
	if q.Format == resource.BinarySI && len(suffix) == 0 {
		q.Format = resource.DecimalSI
		number, suffix = q.CanonicalizeBytes(nil)
	}
	if written, err := resource.ParseQuantity(string(number)); len(suffix) == 0 && (err != nil || written.Cmp(*q) != 0) {
		q.Format = resource.DecimalExponent
		number, suffix = q.CanonicalizeBytes(nil)
	}
	return append(append(dst, number...), suffix...)
}

func thousandths(format resource.Format) string {
	if format == resource.DecimalSI || format == resource.BinarySI {
		return "m"
	}
	return "e-3"
}

// appendWhole appends an integral quantity with the largest suffix that leaves
// no fraction.
func appendWhole(dst []byte, n int64, format resource.Format) []byte {
	base, suffixes := int64(1000), &decimalSuffixes
	if format == resource.BinarySI && n%1024 == 0 {
		base, suffixes = 1024, &binarySuffixes
	}
	power := 0
	for n != 0 && n%base == 0 {
		n /= base
		power++
	}
	dst = strconv.AppendInt(dst, n, 10)
	if format == resource.DecimalSI || format == resource.BinarySI {
		return append(dst, suffixes[power]...)
	}
	if power > 0 {
		dst = strconv.AppendInt(append(dst, 'e'), int64(power)*3, 10)
	}
	return dst
}
