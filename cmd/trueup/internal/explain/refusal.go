package explain

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trueup-go/trueup/internal/answer"
)

// NewRefusal returns the refusal of an apply of obj, and false if err is no answer of an API server. The
// message is not shown if Options mask the object, as it can quote the content, and paths are masked then.
func NewRefusal(err error, obj *unstructured.Unstructured, opts Options) (*DryRun, bool) {
	if _, answered := answer.Status(err); !answered {
		return nil, false
	}
	refusal := &Refusal{Message: answer.Message(err, obj.GetName()), Paths: append([]string{}, answer.Fields(err)...)}
	if opts.Masks(obj.GroupVersionKind().GroupKind()) {
		refusal = maskedRefusal(err, obj)
	}
	slices.Sort(refusal.Paths)
	return &DryRun{FieldManager: opts.FieldManager, Changes: []Change{}, Losses: []Loss{}, Refused: refusal}, true
}

// maskedRefusal returns the fields that err names and the types of the causes, or says that the message is not shown.
func maskedRefusal(err error, obj *unstructured.Unstructured) *Refusal {
	refusal := &Refusal{Paths: []string{}}
	var faults []string
	for _, cause := range answer.Causes(err) {
		if cause.Field == "" || cause.Field == "<nil>" {
			continue
		}
		path := maskedField(cause.Field, obj)
		if !slices.Contains(refusal.Paths, path) {
			refusal.Paths = append(refusal.Paths, path)
		}
		if fault := path + describeType(cause.Type); !slices.Contains(faults, fault) {
			faults = append(faults, fault)
		}
	}
	refusal.Message = cmp.Or(strings.Join(faults, ", "), answer.NotShown)
	return refusal
}

var word = regexp.MustCompile(`^[A-Za-z]+$`)

// describeType returns the type of a cause in parentheses. A webhook may send any text instead, which is left out.
func describeType(cause metav1.CauseType) string {
	if !word.MatchString(string(cause)) {
		return ""
	}
	return " (" + string(cause) + ")"
}

var (
	fieldForm = regexp.MustCompile(`^\.?[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*|\[[^\[\]]*\])*$`)
	fieldStep = regexp.MustCompile(`\.?[^.\[\]]+|\[[^\[\]]*\]`)
)

// maskedField returns a field that an API server names, without the values that name items. In brackets, an API server
// writes the place of an item, the key of a map, or a value. Only obj tells the last two apart, so that a key is shown only
// where obj has a map.
func maskedField(field string, obj *unstructured.Unstructured) string {
	if !fieldForm.MatchString(field) {
		return hidden
	}
	var at any = obj.Object
	return fieldStep.ReplaceAllStringFunc(field, func(step string) string {
		name, parent := strings.Trim(step, ".[]"), at
		at = memberOf(parent, name)
		if step[0] == '[' && !isPlaceOrKey(parent, name) {
			return "[" + hidden + "]"
		}
		return step
	})
}

func isPlaceOrKey(parent any, name string) bool {
	if _, err := strconv.ParseUint(name, 10, 31); err == nil {
		return true
	}
	_, isMap := parent.(map[string]any)
	return isMap && !strings.Contains(name, "=")
}

// memberOf returns the value of a key, or the item at a place, or nil.
func memberOf(parent any, name string) any {
	switch parent := parent.(type) {
	case map[string]any:
		return parent[name]
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(parent) {
			return parent[i]
		}
	}
	return nil
}
