package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/bench/internal/contest"
	"github.com/trueup-go/trueup/bench/internal/replay"
	"github.com/trueup-go/trueup/hash"
)

// listLengths are the numbers of items of the lists that are compared.
var listLengths = []int{500, 1000, 2000, 6000}

// compareLists compares changes of all items of a long list with keys with those of a shorter list.
func (opts options) compareLists(ctx context.Context) (section, error) {
	s := section{Title: "Long lists", Text: listsText, Columns: []string{
		"items", "new values: CPU per item", "allocations per item", "new keys: CPU per item", "allocations per item",
	}}
	var shortest [2]cost
	for _, items := range listLengths {
		var figures []figure
		for i, user := range []contest.User{contest.WithOtherRole, contest.WithOtherName} {
			whole, err := opts.costOfLongList(ctx, contest.LongDatabase(items, user))
			if err != nil {
				return s, fmt.Errorf("%d items: %w", items, err)
			}
			perItem := cost{}.plus(whole, 1/float64(items))
			if items == listLengths[0] {
				shortest[i] = perItem
			}
			figures = append(figures,
				figure{value: perItem.ns / shortest[i].ns, most: longListGrowth}, figure{value: perItem.allocs, isCount: true})
		}
		s.add(fmt.Sprint(items), figures)
	}
	return s, nil
}

// costOfLongList returns the cost of a pass after a change of desired.
func (opts options) costOfLongList(ctx context.Context, child contest.Child) (cost, error) {
	recording, err := madeUpRecording(replay.Owner{Namespace: "default", Name: "shop", UID: shop().UID}, child)
	if err != nil {
		return cost{}, err
	}
	r, err := replay.New(ctx, contest.Contestants()[0], child, recording, nil)
	if err != nil {
		return cost{}, err
	}
	var measured samples
	for range opts.rounds {
		if err := measured.add(1, func() (func() error, error) { return r.Prepare(ctx, replay.Change) }); err != nil {
			return cost{}, err
		}
	}
	return measured.cost(), nil
}

// madeUpRecording returns what an API server would answer. Recordings of long lists would be too long.
func madeUpRecording(owner replay.Owner, child contest.Child) (*replay.Recording, error) {
	before, err := storedDatabase(owner, child, 0)
	if err != nil {
		return nil, err
	}
	after, err := storedDatabase(owner, child, 1)
	if err != nil {
		return nil, err
	}
	return &replay.Recording{
		Owner:       owner,
		ContentType: runtime.ContentTypeJSON,
		Versions:    map[string]json.RawMessage{"before": before, "after": after},
		Steps: []replay.Step{{
			Name: replay.Change, Live: "before",
			Request: &replay.Request{Method: http.MethodPatch}, Answer: &replay.Answer{Status: http.StatusOK, Version: "after"},
		}},
	}, nil
}

// storedDatabase returns the child of a revision as an API server answers it after trueup has applied it.
func storedDatabase(of replay.Owner, child contest.Child, revision int) (json.RawMessage, error) {
	owner := of.Object()
	stored := child.Desired(owner, revision)
	if err := controllerutil.SetControllerReference(owner, stored, clientgoscheme.Scheme); err != nil {
		return nil, err
	}
	digest, err := hash.Object(stored)
	if err != nil {
		return nil, err
	}
	if err := hash.DefaultStore(replay.FieldOwner).Set(stored, digest); err != nil {
		return nil, err
	}
	fields, err := appliedFields(stored, owner.UID)
	if err != nil {
		return nil, err
	}
	applied := metav1.NewTime(time.Unix(1_800_000_000+int64(revision), 0))
	stored.SetUID("3f0c5a52-6f8e-4d8f-9a39-0d6a1f8f6a11")
	stored.SetResourceVersion(fmt.Sprint(4711 + revision))
	stored.SetGeneration(int64(1 + revision))
	stored.SetCreationTimestamp(metav1.NewTime(time.Unix(1_800_000_000, 0)))
	stored.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: replay.FieldOwner, Operation: metav1.ManagedFieldsOperationApply, APIVersion: child.Kind.GroupVersion().String(),
		Time: &applied, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}})
	return json.Marshal(stored)
}

// appliedFields returns the managed fields of trueup in a Database.
func appliedFields(stored client.Object, owner types.UID) (string, error) {
	type fields = map[string]any
	spec := stored.(*unstructured.Unstructured).Object["spec"].(map[string]any)
	users := fields{}
	for _, user := range spec["users"].([]any) {
		user := user.(map[string]any)
		item := fieldsOfKeys(user)
		item["."] = fields{}
		users[fmt.Sprintf(`k:{"name":%q}`, user["name"])] = item
	}
	text, err := json.Marshal(fields{
		"f:metadata": fields{
			"f:annotations": fieldsOfKeys(stored.GetAnnotations()), "f:labels": fieldsOfKeys(stored.GetLabels()),
			"f:ownerReferences": fields{fmt.Sprintf(`k:{"uid":%q}`, owner): fields{}},
		},
		"f:spec": fields{"f:version": fields{}, "f:users": users},
	})
	return string(text), err
}

// fieldsOfKeys returns the fields of a map.
func fieldsOfKeys[V any](of map[string]V) map[string]any {
	fields := make(map[string]any, len(of))
	for key := range of {
		fields["f:"+key] = map[string]any{}
	}
	return fields
}

//go:embed text/lists.md
var listsText string
