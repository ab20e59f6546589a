package canon

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// appendFloat appends a float of 32 or 64 bits.
func appendFloat(dst []byte, f float64, bits int) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, fmt.Errorf("cannot encode the number %s", strconv.FormatFloat(f, 'g', -1, bits))
	}
	if f == 0 {
		return append(dst, '0'), nil
	}
	format := byte('f')
	if f != math.Trunc(f) && math.Abs(f) < 1e-6 {
		format = 'e'
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, format, -1, bits)
	// encoding/json, like ECMAScript, writes e-9 and not e-09.
	if n := len(dst); format == 'e' && n-start >= 4 && dst[n-4] == 'e' && dst[n-2] == '0' {
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst, nil
}

// appendNumber appends a number given as JSON text.
func appendNumber(dst []byte, n json.Number) ([]byte, error) {
	text := string(n)
	if text == "" {
		text = "0" // as encoding/json writes the zero json.Number
	}
	if !json.Valid([]byte(text)) || strings.TrimLeft(text[:1], "-0123456789") != "" {
		return dst, errors.New("cannot encode a json.Number that is no number") // it may be a secret
	}
	if !strings.ContainsAny(text, ".eE") {
		if text == "-0" {
			text = "0"
		}
		return append(dst, text...), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return dst, fmt.Errorf("cannot encode the number %q: %w", text, errors.Unwrap(err))
	}
	return appendFloat(dst, f, 64)
}
