package template

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// afterFile is what follows the file's name in an error of text/template: the line and
// perhaps the column, and while executing what is executed and at which action.
var afterFile = regexp.MustCompile(`(?s)^(\d+):(?:\d+:)? (?:executing .*? at <.*?>: )?(.*)$`)

// quoted is a string as Go writes it, and perhaps cuts it.
var quoted = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`|'(?:[^'\\\\]|\\\\.)*'")

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
	return line, strings.TrimPrefix(parts[2], "error calling quote: ")
}

// undefined is what text/template says of a definition that there is not.
var undefined = regexp.MustCompile(`^template "[^"]*" not defined$`)

// withoutLiterals hides in problem what is a string in the manifest: it may be a secret.
// Names of functions, fields and definitions stay.
func withoutLiterals(problem, manifest string) string {
	if undefined.MatchString(problem) {
		return problem
	}
	return quoted.ReplaceAllStringFunc(problem, func(found string) string {
		inner := found[1 : len(found)-1]
		for _, quote := range []string{`"`, "`", "'"} {
			if inner != "" && strings.Contains(manifest, quote+strings.Trim(inner, `"'`+"`")) {
				return "…"
			}
		}
		return found
	})
}

// notExecuted takes apart what text/template says while it executes. Our own errors, from
// inside a function, are in it as they are.
func (p *parsed) notExecuted(err error) *Error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	for _, source := range p.sources {
		if strings.HasPrefix(err.Error(), "template: "+source.file+":") {
			return notParsed(source, err)
		}
	}
	return &Error{File: p.sources[0].file, Problem: err.Error()}
}

// notParsed takes apart what text/template says about source.
func notParsed(source source, err error) *Error {
	line, problem := dissect(source.file, err.Error())
	return &Error{File: source.file, Line: line, Problem: withoutLiterals(problem, source.text)}
}
