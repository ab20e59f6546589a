package ensure

import (
	"errors"
	"slices"
	"strings"

	"github.com/trueup-go/trueup/internal/answer"
)

// fail makes an error of class about the child.
func (c *child) fail(class error, operation, detail string, paths ...string) *Error {
	shown := slices.Clone(paths)
	for i, path := range paths {
		shown[i] = c.hideItems(path)
		detail = strings.ReplaceAll(detail, path, shown[i])
	}
	return &Error{
		Operation: operation, Kind: c.gvk, Key: c.key,
		Reason: reasons[class], Paths: shown, class: class, detail: detail,
	}
}

// reasons are condition reasons by class; that of ErrAPI comes from the server.
var reasons = map[error]string{
	ErrRefused:          "Refused",
	ErrOwnerTerminating: "OwnerTerminating",
	ErrTerminating:      "Terminating",
	ErrForeign:          "Foreign",
	ErrHidden:           "Hidden",
	ErrInvalid:          "Invalid",
	ErrImmutable:        "Immutable",
	ErrContested:        "Contested",
}

// refuse is an error of the caller's: nothing was sent.
func (c *child) refuse(path, detail string) *Error {
	if path == "" {
		return c.fail(ErrRefused, "ensure", detail)
	}
	return c.fail(ErrRefused, "ensure", path+" "+detail, path)
}

// refuseCall is a refusal that is about no child in particular.
func (e *Ensurer) refuseCall(detail string) *Error { return (&child{Ensurer: e}).refuse("", detail) }

// unknownKind returns the error for an object of unknown kind: a mistake in the code, or an API server
// that could not be asked.
func (c *child) unknownKind(what string, err error) *Error {
	unknown, ok := errors.AsType[*noKindError](err)
	if !ok {
		return c.requestError("ensure", err)
	}
	refusal := c.refuse("", what+" has no kind: "+answer.Describe(unknown.error)+
		"; add its Go type to the client's scheme, or set apiVersion and kind of an unstructured object")
	refusal.cause = unknown.error
	return refusal
}

// terminating returns the error for a child in deletion.
func (c *child) terminating(operation, detail string) *Error {
	if !c.ifExists {
		detail += " and will be made again once it is gone"
	}
	return c.fail(ErrTerminating, operation, detail)
}
