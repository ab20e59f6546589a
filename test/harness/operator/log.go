package operator

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
)

// A log holds the output of a process.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
	// entries holds the parsed entries of the first read bytes: tests read a log often, and logs
	// are long.
	entries []Entry
	read    int
}

// Write is called by the process's output.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.text.Bytes())
}

// all returns the entries of all lines so far.
func (l *log) all() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		line, _, whole := bytes.Cut(l.text.Bytes()[l.read:], []byte("\n"))
		if !whole {
			return slices.Clip(l.entries)
		}
		l.read += len(line) + 1
		var entry Entry
		if json.Unmarshal(line, &entry) == nil {
			l.entries = append(l.entries, entry)
		}
	}
}

// Entry is a line of the operator's log, which is JSON.
type Entry map[string]any

// Text returns the value of a key, or "" if the key is missing or the value no string.
func (e Entry) Text(key string) string {
	text, _ := e[key].(string)
	return text
}

// List is the value of a key that holds a list of strings.
func (e Entry) List(key string) []string {
	var list []string
	items, _ := e[key].([]any)
	for _, item := range items {
		text, _ := item.(string)
		list = append(list, text)
	}
	return list
}

// About reports whether the entry is about the object that a controller of the
// kind reconciles.
func (e Entry) About(kind, namespace, name string) bool {
	object, _ := e[kind].(map[string]any)
	return object != nil && object["namespace"] == namespace && object["name"] == name
}

// Log is everything that the process has printed.
func (p *Process) Log() string {
	return string(p.log.bytes())
}

// Entries are the lines of the log that have one of the messages.
func (p *Process) Entries(messages ...string) []Entry {
	var entries []Entry
	for _, entry := range p.log.all() {
		if slices.Contains(messages, entry.Text("msg")) {
			entries = append(entries, entry)
		}
	}
	return entries
}

// Reconciles counts the reconciles of an object that have ended, well or not.
func (p *Process) Reconciles(kind, namespace, name string) int {
	count := 0
	for _, entry := range p.log.all() {
		if entry.endsReconcile() && entry.About(kind, namespace, name) {
			count++
		}
	}
	return count
}

// HasEnded reports whether the reconcile of that ID has, well or not.
func (p *Process) HasEnded(reconcileID string) bool {
	for _, entry := range p.log.all() {
		if entry.endsReconcile() && entry.Text("reconcileID") == reconcileID {
			return true
		}
	}
	return false
}

// HasReconciled reports whether a reconcile of the object that began since then has
// ended, well or not.
func (p *Process) HasReconciled(kind, namespace, name string, since time.Time) bool {
	begun := map[string]bool{} // by the reconcile's ID
	for _, entry := range p.log.all() {
		if !entry.About(kind, namespace, name) {
			continue
		}
		id := entry.Text("reconcileID")
		if entry.Text("msg") == "Reconciling" && !entry.time().Before(since) {
			begun[id] = true
		}
		if begun[id] && entry.endsReconcile() {
			return true
		}
	}
	return false
}

// time returns the time of the entry, or the zero time if the entry has none.
func (e Entry) time() time.Time {
	written, _ := time.Parse(time.RFC3339Nano, e.Text("ts"))
	return written
}

func (e Entry) endsReconcile() bool {
	message := e.Text("msg")
	return message == "Reconcile successful" || message == "Reconciler error" ||
		strings.HasPrefix(message, "Reconcile done, requeueing")
}
