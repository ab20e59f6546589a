package manifest

import (
	"cmp"
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// afterFile is what follows the file's name in an error of text/template: the line and
// perhaps the column, and while executing what is executed and at which action.
var afterFile = regexp.MustCompile(`(?s)^(\d+):(?:\d+:)? (?:executing .*? at <.*?>: )?(.*)$`)

// dissect finds line and problem in an error that text/template has about file. It leaves
// out the action that it quotes.
func dissect(file, text string) (line int, problem string) {
	text = strings.TrimPrefix(text, "template: ")
	text = strings.TrimPrefix(text, file+":")
	parts := afterFile.FindStringSubmatch(text)
	if parts == nil {
		return 0, text
	}
	line, _ = strconv.Atoi(parts[1]) // they are digits
	return line, parts[2]
}

// quoted is a string as Go writes it, and perhaps cuts it.
var quoted = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`|'(?:[^'\\\\]|\\\\.)*'")

// notParsed says what is wrong with a file before it was given any data. It hides what is a
// string in the manifest, which may be a secret: names of functions and fields stay.
func notParsed(source source, err error) *Error {
	line, problem := dissect(source.file, err.Error())
	problem = quoted.ReplaceAllStringFunc(problem, func(found string) string {
		inner, err := strconv.Unquote(found) // a string is told with its quotes, and quoted once more
		if err != nil {
			inner = found[1 : len(found)-1]
		}
		inner = strings.Trim(inner, `"'`+"`")
		for _, quote := range []string{`"`, "`", "'"} {
			if inner != "" && strings.Contains(source.text, quote+inner) {
				return "…"
			}
		}
		return found
	})
	return &Error{File: source.file, Line: line, Problem: problem}
}

// A fault is a problem in words of our own, which hold no value.
type fault string

func (f fault) Error() string { return string(f) }

// executionFaults are what text/template says that names fields, types and definitions. All
// else may hold a value: of data, or a string of the manifest.
var executionFaults = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`map has no entry for key "[^"]*"`,
	`nil data; no entry for key "[^"]*"`,
	`can't evaluate field \S+ in type .*`,
	`nil pointer evaluating .*`,
	`template "[^"]*" not defined`,
	`wrong number of args for \S+: want .* got \d+`,
	`wrong type for value; expected \S+; got \S+`,
	`exceeded maximum template depth \(\d+\)`,
	`range can't iterate over`,
	`can't give argument to non-function`,
	`error calling [a-z]+: (?:` + strings.Join([]string{
		`cannot index slice/array with type [^:]+`,
		`can't (?:index|slice) item of type [^:]+`,
		`index of (?:untyped nil|nil pointer)`,
		`index out of range`,
		`len of type [^:]+`,
		`incompatible types for comparison`,
		`non-comparable type`,
		`missing argument for comparison`,
	}, "|") + `)`,
}, "|") + `)`)

// notExecuted says what is wrong with the manifest and the data that it was given. Our own
// errors, from inside a function, are in err as they are.
func (x *execution) notExecuted(err error) *Error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	at, problem := x.lastPlace(), ""
	for _, source := range x.sources {
		if strings.HasPrefix(err.Error(), "template: "+source.file+":") {
			at.file = source.file
			at.line, problem = dissect(source.file, err.Error())
			problem = executionFaults.FindString(problem)
		}
	}
	if own, ok := errors.AsType[fault](err); ok {
		problem = own.Error()
	}
	return at.error("", cmp.Or(problem, "cannot be executed with this data"))
}

// lastPlace is where the execution was when it ended.
func (x *execution) lastPlace() place {
	if len(x.spans) == 0 {
		return place{file: x.sources[0].file, line: 1}
	}
	return x.spans[len(x.spans)-1].place
}
