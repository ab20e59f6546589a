package status

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The limits of metav1.Condition. That of messages is in characters where a CRD
// states it, and in bytes in the validation of built-in kinds: bytes suit both.
const (
	maxReason  = 1024
	maxMessage = 32768
)

// reasonUnspecified stands for a reason that has nothing which can be in one.
const reasonUnspecified = "Unspecified"

// wellFormedReason is the API's own pattern.
var wellFormedReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// sanitize makes reason and message ones that the API takes. The original of an
// ill-formed reason goes to the message.
func sanitize(reason, message string) (string, string) {
	if reason == "" {
		return reasonUnspecified, cut(message)
	}
	if len(reason) <= maxReason && wellFormedReason.MatchString(reason) {
		return reason, cut(message)
	}
	original := fmt.Sprintf("reason %q", reason)
	if message != "" {
		original += ": " + message
	}
	return wellFormed(reason), cut(original)
}

// wellFormed joins the parts of reason that may be in one: "image pull back-off"
// becomes imagePullBackOff.
func wellFormed(reason string) string {
	var out strings.Builder
	for part := range strings.FieldsFuncSeq(reason, notInReason) {
		if out.Len() > 0 {
			part = strings.ToUpper(part[:1]) + part[1:]
		}
		out.WriteString(part)
	}
	text := strings.TrimLeftFunc(out.String(), notLetter)
	text = strings.TrimRight(text[:min(len(text), maxReason)], ",:")
	if text == "" {
		return reasonUnspecified
	}
	return text
}

func notInReason(r rune) bool {
	return notLetter(r) && (r < '0' || r > '9') && r != '_' && r != ',' && r != ':'
}

func notLetter(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// cut shortens a message that is too long. It also writes what is no UTF-8 as JSON
// would, so that a message is the same before and after it was sent.
func cut(message string) string {
	const ellipsis = "…"
	message = strings.ToValidUTF8(message, string(utf8.RuneError))
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-len(ellipsis)], "") + ellipsis // without part of a rune
}
