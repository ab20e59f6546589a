package status

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The limits of metav1.Condition. The limit of messages is in characters in a CRD, and in
// bytes in the validation of built-in kinds: a limit in bytes satisfies both.
const (
	maxReason  = 1024
	maxMessage = 32768
)

// reasonUnspecified replaces a reason without any valid letter.
const reasonUnspecified = "Unspecified"

// wellFormedReason is the pattern of the API.
var wellFormedReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// sanitize returns a valid reason and a valid message. The original of an invalid reason
// becomes the beginning of the message.
func sanitize(reason, message string) (string, string) {
	if reason == "" {
		return reasonUnspecified, truncate(message)
	}
	if len(reason) <= maxReason && wellFormedReason.MatchString(reason) {
		return reason, truncate(message)
	}
	original := fmt.Sprintf("reason %q", reason)
	if message != "" {
		original += ": " + message
	}
	return wellFormed(reason), truncate(original)
}

// wellFormed joins the valid parts of reason: "image pull back-off" becomes
// imagePullBackOff.
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

// truncate shortens a message that is too long. Like encoding/json, truncate replaces invalid
// UTF-8, so that a message is the same before and after the request.
func truncate(message string) string {
	const ellipsis = "…"
	message = strings.ToValidUTF8(message, string(utf8.RuneError))
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-len(ellipsis)], "") + ellipsis // without part of a rune
}
