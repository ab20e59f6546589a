// Package replay records the answers of an API server to the writes of a contestant, and answers the same writes again
// without the API server.
package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trueup-go/trueup/bench/internal/contest"
)

// The names of the steps.
const (
	Create  = "create"              // there is no child
	Status  = "a status changed"    // where the kind has one
	Drift   = "drift"               // somebody else changed a field that the operator decides
	Change  = "a change of desired" // of one field
	Restart = "restart"             // of the operator, which loses its memory
)

// Steps returns the names of the steps, in their order.
func Steps() []string { return []string{Create, Status, Drift, Change, Restart} }

// Revision returns the revision of the desired child in a step.
func Revision(step string) int {
	if step == Change || step == Restart {
		return 1
	}
	return 0
}

// A Recording has the passes of a contestant over one child.
type Recording struct {
	Owner Owner `json:"owner"`
	// ContentType is that of all answers.
	ContentType string `json:"contentType"`
	// Versions are the versions of the child that were read or answered, by resource version, in JSON.
	Versions map[string]json.RawMessage `json:"versions"`
	Steps    []Step                     `json:"steps"`
}

// An Owner is the ConfigMap that owns the child.
type Owner struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
}

// Object returns the owner as an object.
func (o Owner) Object() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID}}
}

// A Step is one pass.
type Step struct {
	Name string `json:"name"`
	// Live is the version that the contestant read, empty if it read none.
	Live string `json:"live,omitempty"`
	// Request and Answer are those of the write. There is none where the contestant finds nothing to do.
	Request *Request `json:"request,omitempty"`
	Answer  *Answer  `json:"answer,omitempty"`
}

// A Request is a write.
type Request struct {
	Method      string          `json:"method"`
	URL         string          `json:"url"` // path and query
	ContentType string          `json:"contentType"`
	Object      json.RawMessage `json:"object"`
}

// An Answer is the answer of an API server to a write.
type Answer struct {
	Status int `json:"status"`
	// Version is the version of the child that was answered.
	Version string `json:"version"`
}

// Step returns the step of that name.
func (r *Recording) Step(name string) Step {
	i := slices.IndexFunc(r.Steps, func(s Step) bool { return s.Name == name })
	if i < 0 {
		return Step{Name: name}
	}
	return r.Steps[i]
}

// Add adds what the recorder has seen in a step, in which the contestant has read from the cache or not.
func (r *Recording) Add(step string, seen *Recorder, cache *Cache) error {
	if r.Versions == nil {
		r.Versions = map[string]json.RawMessage{}
	}
	added := Step{Name: step, Request: seen.Request}
	var err error
	if cache.Reads > 0 && seen.Read != nil {
		if added.Live, err = r.addVersion(*seen.Read); err != nil {
			return err
		}
	}
	if seen.Answer != nil {
		added.Answer = &Answer{Status: seen.Status}
		if added.Answer.Version, err = r.addVersion(*seen.Answer); err != nil {
			return err
		}
	}
	r.Steps = append(r.Steps, added)
	return nil
}

func (r *Recording) addVersion(b body) (string, error) {
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(b.object, &object); err != nil {
		return "", fmt.Errorf("cannot read the version of an answer: %w", err)
	}
	if object.ResourceVersion == "" {
		return "", fmt.Errorf("an answer is no object: %s", b.object)
	}
	r.ContentType = b.contentType
	r.Versions[object.ResourceVersion] = b.object
	return object.ResourceVersion, nil
}

// File returns the path of the recording of a contestant with one child.
func File(c contest.Contestant, child contest.Child) string {
	return path.Join(strings.NewReplacer(", ", "-", " ", "-").Replace(c.Name), child.Kind.Kind+".json")
}

func readRecording(recordings fs.FS, c contest.Contestant, child contest.Child) (*Recording, error) {
	text, err := fs.ReadFile(recordings, File(c, child))
	if err != nil {
		return nil, fmt.Errorf("cannot read the recording, which make bench-record writes: %w", err)
	}
	var read Recording
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("cannot parse the recording %s: %w", File(c, child), err)
	}
	return &read, nil
}

// In a file, five levels are indented. So each field of a spec and each entry of the managed fields is one line.
var (
	deepLine = regexp.MustCompile(`\n\t{6,}`)
	deepEnd  = regexp.MustCompile(`\n\t{5}([}\]])`)
)

// Format returns the content of the file.
func (r *Recording) Format() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "\t")
	if err := encoder.Encode(r); err != nil {
		return nil, fmt.Errorf("cannot encode a recording: %w", err)
	}
	return deepEnd.ReplaceAll(deepLine.ReplaceAll(text.Bytes(), nil), []byte("$1")), nil
}
