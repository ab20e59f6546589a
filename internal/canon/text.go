package canon

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	if isPlain(s) {
		return appendPlain(dst, s)
	}
	return append(appendEscaped(append(dst, '"'), s), '"')
}

// appendPlain appends a string that is known to be plain.
func appendPlain(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// isPlain reports whether s needs no escape: printable ASCII without quote and
// backslash. It looks at eight bytes at a time, the last eight perhaps again, as
// most strings are plain and reading them byte by byte costs as much as
// everything else in a digest.
func isPlain(s string) bool {
	if len(s) < 8 {
		return plainShort(s)
	}
	for i := 0; i < len(s)-8; i += 8 {
		if !plainWord(uint64(half(s[i:])) | uint64(half(s[i+4:]))<<32) {
			return false
		}
	}
	s = s[len(s)-8:]
	return plainWord(uint64(half(s)) | uint64(half(s[4:]))<<32)
}

// plainShort is plain for less than a word.
func plainShort(s string) bool {
	if len(s) >= 4 {
		return plainWord(uint64(half(s)) | uint64(half(s[len(s)-4:]))<<32)
	}
	for i := range len(s) {
		if b := s[i]; b < 0x20 || b >= 0x7f || b == '"' || b == '\\' {
			return false
		}
	}
	return true
}

// half is half a word, the first four bytes of s.
func half(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// plainWord is plain for eight bytes. The highest bit of a byte tells: of the
// lowest byte that is special, if one is, no borrow from below can be in the way.
func plainWord(word uint64) bool {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	special := word | // not ASCII
		(word - ones*0x20) | // below space
		(word + ones) | // DEL
		((word ^ ones*'"') - ones) |
		((word ^ ones*'\\') - ones)
	return special&highs == 0
}

// appendEscaped appends s with every rune escaped that is not printable ASCII,
// except those above U+FFFF: they would need a surrogate pair.
func appendEscaped(dst []byte, s string) []byte {
	written := 0
	for i := 0; i < len(s); {
		if b := s[i]; b >= 0x20 && b < 0x7f && b != '"' && b != '\\' {
			i++
			continue
		}
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		if r <= 0xffff {
			dst = append(dst, s[written:i]...)
			dst = appendEscape(dst, r)
			written = i + size
		}
		i += size
	}
	return append(dst, s[written:]...)
}

func appendEscape(dst []byte, r rune) []byte {
	if r == '"' || r == '\\' {
		return append(dst, '\\', byte(r))
	}
	return append(dst, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&0xf], hexDigits[r>>4&0xf], hexDigits[r&0xf])
}

// validUTF8 replaces each byte of s that is not UTF-8 by U+FFFD.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

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
		return dst, errors.New("cannot encode a json.Number that is not a number") // it may be a secret
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
