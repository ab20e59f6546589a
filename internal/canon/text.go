package canon

import (
	"encoding/binary"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := len(dst)
	dst = append(dst, s...)
	if !plain(dst[start:]) {
		dst = appendEscaped(dst[:start], s)
	}
	return append(dst, '"')
}

// plain reports whether s needs no escape: printable ASCII without quote and
// backslash. It looks at eight bytes at a time, as most strings are plain and
// reading them byte by byte costs as much as everything else in a digest.
func plain(s []byte) bool {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	for ; len(s) >= 8; s = s[8:] {
		word := binary.LittleEndian.Uint64(s)
		quote := word ^ ones*'"'
		backslash := word ^ ones*'\\'
		del := word ^ ones*0x7f
		special := (word-ones*0x20)&^word | // below space
			(quote-ones)&^quote | (backslash-ones)&^backslash | (del-ones)&^del |
			word // not ASCII
		if special&highs != 0 {
			return false
		}
	}
	for _, b := range s {
		if b < 0x20 || b >= 0x7f || b == '"' || b == '\\' {
			return false
		}
	}
	return true
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
		r, size := utf8.DecodeRuneInString(s[i:])
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

// sameText reports whether a and b have the same canonical form.
func sameText(a, b string) bool {
	return a == b || !(utf8.ValidString(a) && utf8.ValidString(b)) && valid(a) == valid(b)
}

// valid replaces each byte of s that is not UTF-8 by U+FFFD.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
