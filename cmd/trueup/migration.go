package main

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/trueup-go/trueup/cmd/trueup/internal/explain"
	"github.com/trueup-go/trueup/internal/answer"
)

// migration returns the effect of a migration whose apply to live has this result. live is nil if the object does not
// exist, and result is nil if the apply is refused.
func (x *explainer) migration(t target, live, result *unstructured.Unstructured) (*explain.Migration, error) {
	if len(x.options.MigrateFrom) == 0 || live == nil {
		return nil, nil
	}
	structure, err := x.structure(t)
	if err != nil {
		return nil, err
	}
	m := explain.NewMigration(live, result, structure, x.options)
	if !m.MayHaveDefaults() {
		return m, nil
	}
	fresh, err := t.tryCreate(x.options.FieldManager)
	if err != nil {
		return nil, x.failure("try to create an object like", t, err)
	}
	m.DropDefaults(fresh)
	return m, nil
}

// structure returns the structure of the kind of a target. For a custom kind, it reads the definition, if the user may.
func (x *explainer) structure(t target) (explain.Structure, error) {
	kind := t.info.Mapping.GroupVersionKind
	if structure, isBuiltIn := explain.BuiltIn(kind); isBuiltIn {
		return structure, nil
	}
	name := t.info.Mapping.Resource.GroupResource().String()
	definitions, err := x.named([]string{"customresourcedefinitions.apiextensions.k8s.io/" + name})
	if err != nil {
		return explain.Structure{}, err
	}
	definition, err := definitions[0].read()
	if err != nil && !answer.IsFinal(err) && !answer.IsGone(err) {
		return explain.Structure{}, x.failure("read", definitions[0], err)
	}
	return explain.Custom(definition, kind.Version), nil
}

// tryCreate returns the object that an apply of the desired object alone would create, or nil if the API server refuses. It
// sends a dry run under a name that no object has.
func (t target) tryCreate(manager string) (*unstructured.Unstructured, error) {
	desired := t.desired.DeepCopy()
	desired.SetName("trueup-" + string(uuid.NewUUID()))
	desired.SetUID("")
	desired.SetResourceVersion("")
	created, err := t.tryApply(desired, manager)
	if err != nil {
		if _, answered := answer.Status(err); answered && answer.IsFinal(err) {
			return nil, nil
		}
		return nil, err
	}
	return created, nil
}
