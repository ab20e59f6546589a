package cluster

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// auditPolicy has the API server log every request on arrival, before handling: a request is
// therefore in the log before its sender can have an answer. Requests of the control plane itself
// are left out, except for deletions with [AuditDeletions].
func (c *Cluster) auditPolicy() string {
	if c.options.deletions {
		return policyHead + deletionRule + policyRules
	}
	return policyHead + policyRules
}

const (
	policyHead = `apiVersion: audit.k8s.io/v1
kind: Policy
rules:
`
	// deletionRule also logs the answer, which names the deleted object.
	deletionRule = `- level: RequestResponse
  verbs: [delete]
  omitStages: [ResponseStarted, Panic]
`
	policyRules = `- level: None
  users: ["system:apiserver", "` + controllerManagerUser + `", "` + schedulerUser + `", "` + kwokUser + `"]
- level: None
  userGroups: ["system:serviceaccounts:kube-system"]
- level: Metadata
  omitStages: [ResponseStarted, ResponseComplete, Panic]
`
)

// A Request is one request, as the API server received it.
type Request struct {
	// Verb is the Kubernetes verb: get, list, watch, create, update, patch, delete,
	// deletecollection.
	Verb string
	// Group, Resource and Subresource identify the resource. They are empty in requests without a
	// resource, such as discovery.
	Group, Resource, Subresource string
	// Namespace and Name identify the object as far as the request's path does: a create has no
	// name.
	Namespace, Name string
	// DryRun is set for a dry run, according to the query. A delete of client-go has this option in
	// the body, which the log does not show.
	DryRun bool
	// UserAgent is the client's user agent, and User the authenticated user.
	UserAgent, User string
	// URI is the path and query.
	URI string
	// Time is when the API server received the request.
	Time time.Time
}

// A Mark is a moment in the life of a cluster, from which [Cluster.Requests] reads. The zero Mark
// is the start of the cluster.
type Mark struct {
	offset int64
	err    error
}

// Mark returns the present moment: all requests answered so far precede this mark.
func (c *Cluster) Mark() Mark {
	info, err := os.Stat(c.auditLog())
	if err != nil {
		return Mark{err: err} // for Requests to return
	}
	return Mark{offset: info.Size()}
}

func (c *Cluster) auditLog() string {
	return filepath.Join(c.Dir(), auditLogFile)
}

// mendAuditLog overwrites the line that an API server was writing when it was killed; the next
// server would continue this line. That request had no answer. The file keeps its length, so that
// every Mark stays valid.
func (c *Cluster) mendAuditLog() error {
	log, err := os.OpenFile(c.auditLog(), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("cannot mend the audit log: %w", err)
	}
	if err := errors.Join(wipeTornLine(log), log.Close()); err != nil {
		return fmt.Errorf("cannot mend the audit log: %w", err)
	}
	return nil
}

// wipeTornLine replaces the text after the last line end by line ends.
func wipeTornLine(log *os.File) error {
	end, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	chunk := make([]byte, 1<<16)
	for end > 0 {
		begin := max(0, end-int64(len(chunk)))
		chunk = chunk[:end-begin]
		if _, err := log.ReadAt(chunk, begin); err != nil {
			return err
		}
		torn := chunk[bytes.LastIndexByte(chunk, '\n')+1:]
		if _, err := log.WriteAt(bytes.Repeat([]byte{'\n'}, len(torn)), end-int64(len(torn))); err != nil {
			return err
		}
		if len(torn) < len(chunk) {
			return nil
		}
		end = begin
	}
	return nil
}

// A Filter selects requests to count.
type Filter func(Request) bool

// ByUserAgent selects the requests of clients whose rest.Config has this
// UserAgent.
func ByUserAgent(userAgent string) Filter {
	return func(r Request) bool { return r.UserAgent == userAgent }
}

// ByUser selects the requests of a user.
func ByUser(user string) Filter {
	return func(r Request) bool { return r.User == user }
}

// Writes selects the requests that would change something, dry runs included.
func Writes(r Request) bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

// Deliberate reports whether a request comes neither from an informer nor from discovery.
func Deliberate(r Request) bool { return r.Resource != "" && r.Verb != "list" && r.Verb != "watch" }

// NoEvents selects all requests except those about events, which are sent some time later.
func NoEvents(r Request) bool { return r.Group != "events.k8s.io" || r.Resource != "events" }

// Requests returns the requests that the API server has received since the mark and that all
// filters select, in the order of their arrival. Every request whose sender has an answer is
// included, whatever the answer; no waiting is necessary. Each attempt counts, including one that
// the server rejected and the client repeated by itself.
//
// The control plane's own requests are not recorded. Marks and requests stay valid when the API
// server is frozen, killed or restarted.
func (c *Cluster) Requests(since Mark, filters ...Filter) ([]Request, error) {
	var requests []Request
	err := c.readAudit(since, func(lines *bufio.Reader) (err error) {
		requests, err = parseAudit(lines, filters)
		return err
	})
	return requests, err
}

// readAudit calls read with the lines of the audit log since the mark.
func (c *Cluster) readAudit(since Mark, read func(*bufio.Reader) error) error {
	if since.err != nil {
		return fmt.Errorf("cannot read the audit log: %w", since.err)
	}
	log, err := os.Open(c.auditLog())
	if err != nil {
		return fmt.Errorf("cannot read the audit log: %w", err)
	}
	defer func() { _ = log.Close() }() // it was only read
	lines, err := linesFrom(log, since.offset)
	if err == nil {
		err = read(lines)
	}
	if err != nil {
		return fmt.Errorf("cannot read the audit log: %w", err)
	}
	return nil
}

// linesFrom reads log from the first line that begins at offset or later. A line
// that was being written when the offset was taken came before.
func linesFrom(log io.ReadSeeker, offset int64) (*bufio.Reader, error) {
	lines := bufio.NewReaderSize(log, 1<<16)
	if offset == 0 {
		return lines, nil
	}
	if _, err := log.Seek(offset-1, io.SeekStart); err != nil {
		return nil, err
	}
	_, err := lines.ReadSlice('\n')
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = lines.ReadSlice('\n')
	}
	if errors.Is(err, io.EOF) { // it is being written still: nothing comes after it, and its rest is no line
		return bufio.NewReader(strings.NewReader("")), nil
	}
	return lines, err
}

func parseAudit(lines *bufio.Reader, filters []Filter) ([]Request, error) {
	var requests []Request
	err := eachEvent(lines, func(e auditEvent) error {
		if e.Stage != arrival || e.isControlPlane() {
			return nil
		}
		request, err := e.request()
		if err == nil && !slices.ContainsFunc(filters, func(f Filter) bool { return !f(request) }) {
			requests = append(requests, request)
		}
		return err
	})
	return requests, err
}

// eachEvent calls do with each event of the log.
func eachEvent(lines *bufio.Reader, do func(auditEvent) error) error {
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // a line without an end is still being written
		}
		if err != nil {
			return err
		}
		if len(line) == 1 {
			continue // what mendAuditLog leaves of a line
		}
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		if err := do(e); err != nil {
			return err
		}
	}
}

// auditEvent holds the needed fields of an Event of audit.k8s.io/v1.
type auditEvent struct {
	Stage            string
	Verb             string
	RequestURI       string
	UserAgent        string
	User             struct{ Username string }
	ImpersonatedUser struct{ Username string }
	ObjectRef        struct {
		APIGroup, Resource, Subresource, Namespace, Name string
	}
	RequestReceivedTimestamp time.Time
	ResponseStatus           struct{ Code int }
	ResponseObject           struct {
		Metadata struct{ UID types.UID }
		Details  struct{ UID types.UID }
	}
}

// The stages of a request that the log has.
const (
	arrival = "RequestReceived"
	answer  = "ResponseComplete"
)

// isControlPlane reports whether the request is one of the control plane itself, which only
// [AuditDeletions] logs.
func (e auditEvent) isControlPlane() bool {
	switch e.User.Username {
	case "system:apiserver", controllerManagerUser, schedulerUser, kwokUser:
		return true
	}
	return strings.HasPrefix(e.User.Username, "system:serviceaccount:kube-system:")
}

func (e auditEvent) request() (Request, error) {
	uri, err := url.ParseRequestURI(e.RequestURI)
	if err != nil {
		return Request{}, err
	}
	r := Request{
		Verb:        e.Verb,
		Group:       e.ObjectRef.APIGroup,
		Resource:    e.ObjectRef.Resource,
		Subresource: e.ObjectRef.Subresource,
		Namespace:   e.ObjectRef.Namespace,
		Name:        e.ObjectRef.Name,
		DryRun:      uri.Query().Has("dryRun"),
		UserAgent:   e.UserAgent,
		User:        e.User.Username,
		URI:         e.RequestURI,
		Time:        e.RequestReceivedTimestamp,
	}
	if e.ImpersonatedUser.Username != "" {
		r.User = e.ImpersonatedUser.Username
	}
	return r, nil
}

// String names the request's kind, for counting: "patch deployments", "update
// deployments/status", "create services (dry run)", "get /api".
func (r Request) String() string {
	text := r.Verb + " " + r.Resource
	if r.Resource == "" {
		path, _, _ := strings.Cut(r.URI, "?")
		text += path
	}
	if r.Subresource != "" {
		text += "/" + r.Subresource
	}
	if r.DryRun {
		text += " (dry run)"
	}
	return text
}

// Counts returns the number of requests of each kind, as named by String. Kinds without requests
// have no entry.
func Counts(requests []Request) map[string]int {
	counts := map[string]int{}
	for _, r := range requests {
		counts[r.String()]++
	}
	return counts
}
