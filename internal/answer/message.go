package answer

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// messageLimit bounds a message, in bytes.
	messageLimit = 1024
	// causeLimit limits the text about one field, which may quote a whole template before the
	// mistake.
	causeLimit = 256
)

// Message returns the text of err for people who may read the object with this name: the message of the
// API server, or the text of err if no server answered. The text can quote the object.
//
// The text is one line of at most 1 KiB, and the same for the same refusal, so that conditions can
// contain it: parts that differ between two attempts are replaced by an ellipsis. The name of the
// object, with which most messages begin, is left out.
func Message(err error, name string) string {
	status, answered := Status(err)
	switch {
	case err == nil:
		return ""
	case !answered:
		return Cut(withoutVaryingParts(cmp.Or(unanswered(err), err.Error())), messageLimit)
	case saysAllByFields(status):
		return Cut(withoutVaryingParts(strings.Join(fieldMessages(status), ", ")), messageLimit)
	}
	return Cut(withoutVaryingParts(withoutSubject(status, name)), messageLimit)
}

// Explain returns the Message about the object with this name, or, if its kind is sensitive, the fields
// and the types of the causes, which quote nothing.
func Explain(err error, kind schema.GroupKind, name string) string {
	if !IsSensitive(kind) {
		return Message(err, name)
	}
	if faults := Faults(err); len(faults) > 0 {
		return strings.Join(faults, ", ")
	}
	return cmp.Or(Describe(err), NotShown)
}

// saysAllByFields reports whether the causes say all that the message does.
func saysAllByFields(status metav1.Status) bool {
	return status.Code == http.StatusUnprocessableEntity && status.Details != nil && len(status.Details.Causes) > 0 &&
		!isFromWebhook(status) &&
		!slices.ContainsFunc(status.Details.Causes, func(cause metav1.StatusCause) bool { return cause.Field == "" || cause.Message == "" })
}

// fieldMessages returns the mistakes of each field. Of a text with several lines, the first line names
// the mistake; the rest is a difference between two objects.
func fieldMessages(status metav1.Status) []string {
	var messages []string
	for _, cause := range status.Details.Causes {
		first, _, _ := strings.Cut(cause.Message, "\n")
		message := cause.Field + ": " + cutMiddle(withoutVaryingParts(first))
		if !slices.Contains(messages, message) { // an API server may repeat a cause
			messages = append(messages, message)
		}
	}
	return messages
}

// cutMiddle keeps the beginning and the end of a long text: the end names the mistake in the value that
// the beginning quotes.
func cutMiddle(text string) string {
	if len(text) <= causeLimit {
		return text
	}
	const half = (causeLimit - len(ellipsis)) / 2
	return strings.ToValidUTF8(text[:half], "") + ellipsis + strings.ToValidUTF8(text[len(text)-half:], "")
}

const ellipsis = "…"

// Cut returns text, or the part of text that fits into limit bytes together with an ellipsis.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit - len(ellipsis)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// misfit matches the beginning of the message about an object that does not fit its schema.
var misfit = regexp.MustCompile(`^failed to create typed (?:patch|live) object \([^)]*\): (?:errors:)?`)

// withoutSubject returns the message without the kind and the name at its beginning, if they are those
// of the object.
func withoutSubject(status metav1.Status, name string) string {
	if beginning := misfit.FindString(status.Message); beginning != "" {
		return schemaProblems(status.Message[len(beginning):])
	}
	if status.Details == nil || status.Details.Name != name {
		return status.Message
	}
	subject := schema.GroupResource{Group: status.Details.Group, Resource: status.Details.Kind}.String()
	if name != "" {
		subject += ` "` + name + `"`
	}
	for _, beginning := range []string{
		subject + " is forbidden: ", subject + " is invalid: ", "Operation cannot be fulfilled on " + subject + ": ",
	} {
		if rest, found := strings.CutPrefix(status.Message, beginning); found {
			return rest
		}
	}
	return status.Message
}

// schemaProblems sorts the lines about values that do not fit a schema. The server walks maps in random
// order, and stops at the first field that the schema does not have, so that such fields come first.
func schemaProblems(message string) string {
	lines := strings.Split(strings.TrimSpace(message), "\n")
	isDeclared := func(line string) bool { return !strings.HasSuffix(line, ": field not declared in schema") }
	if undeclared := slices.DeleteFunc(slices.Clone(lines), isDeclared); len(undeclared) > 0 {
		lines = undeclared
	}
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

// fleeting matches the parts that differ between two answers to the same request: the ID of a request,
// a time, the address of a variable, the port of a connection, the use of a quota by others.
var fleeting = regexp.MustCompile(strings.Join([]string{
	`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`,
	`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| ?[+-]\d\d:?\d\d(?: [A-Z]{3,4})?)?(?: m=[+-][\d.]+)?`,
	`\b0x[0-9a-f]{6,16}\b`,
	`\S+:\d+->`,
	`, used: [^:]+, limited: `,
}, "|"))

// withoutVaryingParts returns text as one line without the fleeting parts.
func withoutVaryingParts(text string) string {
	text = fleeting.ReplaceAllStringFunc(text, func(found string) string {
		switch {
		case strings.HasSuffix(found, "->"):
			return ellipsis + "->"
		case strings.HasPrefix(found, ", used: "):
			return ", limited: "
		}
		return ellipsis
	})
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
}
