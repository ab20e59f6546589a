package manifest

import (
	"cmp"
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// afterFile matches the text after the file name in an error of text/template: the line, sometimes the
// column, and during an execution the template and the action.
var afterFile = regexp.MustCompile(`(?s)^(\d+):(?:\d+:)? (?:executing .*? at <.*?>: )?(.*)$`)

// dissect returns the line and the problem in an error of text/template about file, without the action
// that the error quotes.
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

// quoted matches a string in Go syntax, which may be cut.
var quoted = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`|'(?:[^'\\\\]|\\\\.)*'")

// notParsed returns the error for a file that cannot be parsed. It hides the strings of the manifest,
// which may be secrets, and shows the names of functions and fields.
func notParsed(source sourceFile, err error) *Error {
	line, problem := dissect(source.file, err.Error())
	problem = quoted.ReplaceAllStringFunc(problem, func(found string) string {
		inner, err := strconv.Unquote(found) // a string is quoted twice
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

// executionFaults matches the errors of text/template that name fields, types and definitions only. All
// other errors may contain a value of data, or a string of the manifest.
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

// notExecuted returns the error for a manifest that cannot be executed with its data. An error of our
// own, from inside a function, is found in err unchanged.
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

// lastPlace returns the position at which the execution ended.
func (x *execution) lastPlace() place {
	if len(x.spans) == 0 {
		return place{file: x.sources[0].file, line: 1}
	}
	return x.spans[len(x.spans)-1].place
}
