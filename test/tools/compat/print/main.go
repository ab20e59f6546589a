// Command print writes the digests of the corpus, and of fixtures if there are any: for each, a
// line with name, digest, and the SHA-256 of the output of json.Marshal.
//
// An argument such as v0.30=DIR names a folder of fixtures: a JSON file for each kind with all
// fields filled in, as in k8s.io/api.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trueup-go/trueup/hash"
	"github.com/trueup-go/trueup/test/tools/compat/corpus"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer, folders []string) error {
	buffered := bufio.NewWriter(out)
	for _, entry := range corpus.All() {
		if err := line(buffered, entry.Name, entry.Value); err != nil {
			return err
		}
	}
	scheme := runtime.NewScheme()
	for _, add := range groups() {
		if err := add(scheme); err != nil {
			return err
		}
	}
	for _, folder := range folders {
		minor, dir, _ := strings.Cut(folder, "=")
		if err := fixtures(buffered, scheme, minor, dir); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

func line(out io.Writer, name string, value any) error {
	digest, err := hash.Of(value)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	sum := sha256.Sum256(text)
	_, err = fmt.Fprintln(out, name, digest, hex.EncodeToString(sum[:16]))
	return err
}

// fixtures skips objects that a version does not know: removed kinds, and objects with removed
// fields.
func fixtures(out io.Writer, scheme *runtime.Scheme, minor, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		obj, err := read(text, scheme)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if obj == nil {
			continue
		}
		name := "fixture/" + minor + "/" + strings.TrimSuffix(filepath.Base(file), ".json")
		if err := line(out, name, obj); err != nil {
			return err
		}
	}
	return nil
}

// read returns the object in text, or nil if the object cannot be represented any more.
func read(text []byte, scheme *runtime.Scheme) (runtime.Object, error) {
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	prune("", members)
	apiVersion, _ := members["apiVersion"].(string)
	kind, _ := members["kind"].(string)
	obj, err := scheme.New(schema.FromAPIVersionAndKind(apiVersion, kind))
	if runtime.IsNotRegisteredError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pruned, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(pruned))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(obj); err != nil {
		if strings.Contains(err.Error(), "unknown field") {
			return nil, nil
		}
		return nil, err
	}
	return obj, nil
}

// removed are alpha members that versions in the list have dropped again, by the
// member that holds them. Fixtures go without them everywhere, or one member less
// would leave every kind with a pod template out.
var removed = map[string][]string{
	"resourceClaims": {"source"},                          // in v0.31
	"deviceSelector": {"deviceClassName", "selectors"},    // in v0.35
	"spec":           {"workloadRef"},                     // in v0.36
	"devices":        {"nodeAllocatableResourceMappings"}, // in v0.37
}

// prune takes the removed members out of v, which is the member name, or an item
// of the list that is.
func prune(name string, v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			prune(name, item)
		}
	case map[string]any:
		for _, gone := range removed[name] {
			delete(v, gone)
		}
		for inner, value := range v {
			prune(inner, value)
		}
	}
}
