package canon

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxSimpleKey is the largest number of characters, including quotes, that a YAML key without a
// question mark may have.
const maxSimpleKey = 1024

// YAML returns a compact JSON text in a form that an API server, which reads the body of an apply as
// YAML, reads correctly.
//
// Runes are written raw, as an escape is up to three times as long, except for runes that YAML refuses
// or treats as line breaks. A key that is too long for YAML gets a question mark; the text then begins
// with dashes, so that nobody takes the text for JSON.
func YAML(text []byte) []byte {
	const dashes = "--- "
	out := append(make([]byte, 0, len(dashes)+len(text)), dashes...)
	isJSON := true
	for rest := string(text); rest != ""; {
		before, quoted, after := cutString(rest)
		out = append(out, before...)
		key := len(out)
		out = appendUnescaped(out, quoted)
		if strings.HasPrefix(after, ":") && utf8.RuneCount(out[key:]) > maxSimpleKey {
			out = slices.Insert(out, key, '?', ' ')
			isJSON = false
		}
		rest = after
	}
	if isJSON {
		return out[len(dashes):]
	}
	return out
}

// cutString finds the first JSON string in text, quotes included.
func cutString(text string) (before, quoted, after string) {
	begin := strings.IndexByte(text, '"')
	if begin < 0 {
		return text, "", ""
	}
	for end := begin + 1; end < len(text); end++ {
		switch text[end] {
		case '\\':
			end++
		case '"':
			return text[:begin], text[begin : end+1], text[end+1:]
		}
	}
	return text, "", "" // the string does not end
}

// appendUnescaped appends a JSON string with no more escapes than YAML needs.
func appendUnescaped(dst []byte, quoted string) []byte {
	var content string
	if quoted == "" || plain(quoted[1:len(quoted)-1]) || json.Unmarshal([]byte(quoted), &content) != nil {
		return append(dst, quoted...)
	}
	dst = append(dst, '"')
	for _, r := range content {
		if needsEscape(r) {
			dst = appendEscape(dst, r)
		} else {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// needsEscape reports whether YAML does not read r unchanged within quotes, as tested on kube-apiserver
// 1.36 for every rune.
func needsEscape(r rune) bool {
	switch {
	case r < ' ', r == '"', r == '\\':
		return true
	case r >= 0x7f && r <= 0x9f: // control characters; one of them ends a line
		return true
	default:
		return r == 0x2028 || r == 0x2029 || r == 0xfffe || r == 0xffff
	}
}
