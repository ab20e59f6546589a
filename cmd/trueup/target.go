package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
)

// A target is an object to explain.
type target struct {
	info    *resource.Info
	desired *unstructured.Unstructured // from the file, or nil
}

// String names the object as kubectl does, with the namespace: "Deployment.apps shop/web".
func (t target) String() string {
	kind := t.info.Mapping.GroupVersionKind.GroupKind().String()
	if t.isNamespaced() {
		return kind + " " + t.info.Namespace + "/" + t.info.Name
	}
	return kind + " " + t.info.Name
}

func (t target) isNamespaced() bool {
	return t.info.Mapping.Scope.Name() == meta.RESTScopeNameNamespace
}

// read sends one GET.
func (t target) read() (*unstructured.Unstructured, error) {
	return object(resource.NewHelper(t.info.Client, t.info.Mapping).Get(t.info.Namespace, t.info.Name))
}

// isChangedSince reports whether the object differs from live, which was read before. live is nil if there was none.
func (t target) isChangedSince(live *unstructured.Unstructured) bool {
	if live == nil {
		return false
	}
	again, err := t.read()
	return err != nil || again.GetResourceVersion() != live.GetResourceVersion()
}

// tryApply sends one apply as a dry run, which takes the fields that other managers own.
func (t target) tryApply(desired *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	body, err := desired.MarshalJSON()
	if err != nil {
		return nil, err
	}
	force := true
	helper := resource.NewHelper(t.info.Client, t.info.Mapping).DryRun(true).WithFieldManager(manager)
	return object(helper.Patch(t.info.Namespace, desired.GetName(), types.ApplyPatchType, body, &metav1.PatchOptions{Force: &force}))
}

func object(found runtime.Object, err error) (*unstructured.Unstructured, error) {
	if err != nil {
		return nil, err
	}
	obj, ok := found.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the API server answered with a %T", found)
	}
	return obj, nil
}

// targets returns the objects that args name, and those of the file if args name none. An object that args
// name must be in the file, if there is one.
func (x *explainer) targets(args []string) ([]target, error) {
	if x.file == "" {
		return x.named(args)
	}
	desired, err := x.inFile()
	if err != nil || len(args) == 0 {
		return desired, err
	}
	named, err := x.named(args)
	if err != nil {
		return nil, err
	}
	byName := map[string]target{}
	for _, t := range desired {
		byName[t.String()] = t
	}
	var missing []error
	for i, t := range named {
		inFile, found := byName[t.String()]
		if !found {
			missing = append(missing, fmt.Errorf("cannot find %s in %s", t, x.file))
		}
		named[i] = inFile
	}
	return named, errors.Join(missing...)
}

// named returns the objects that args name. It reads none of them.
func (x *explainer) named(args []string) ([]target, error) {
	builder, err := x.builder()
	if err != nil {
		return nil, err
	}
	infos, err := builder.ResourceTypeOrNameArgs(false, args...).RequireObject(false).Do().Infos()
	if err != nil {
		return nil, fmt.Errorf("cannot find the named objects: %w", err)
	}
	targets := make([]target, len(infos))
	for i, info := range infos {
		targets[i] = target{info: info}
	}
	return targets, nil
}

// inFile returns the objects in the file. Its errors quote nothing of the file.
func (x *explainer) inFile() ([]target, error) {
	documents, err := manifests(x.file, x.streams.In)
	if err != nil {
		return nil, err
	}
	found := make([][]map[string]any, len(documents)) // the objects of each document
	failed := make([]error, len(documents))
	for i, document := range documents {
		found[i], failed[i] = document.objects()
	}
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	var targets []target
	for i, document := range documents {
		for _, content := range found[i] {
			t, err := x.desired(document, content)
			if err != nil {
				return nil, err
			}
			targets = append(targets, t)
		}
	}
	return targets, nil
}

// desired returns the target for an object of a document.
func (x *explainer) desired(document manifest, content map[string]any) (target, error) {
	builder, err := x.builder()
	if err != nil {
		return target{}, err
	}
	if err := x.findKind(document, content); err != nil {
		return target{}, err
	}
	body, err := json.Marshal(content)
	if err != nil {
		return target{}, document.fault(document.firstLine(), "the document is no object")
	}
	infos, err := builder.Stream(bytes.NewReader(body), document.file).Do().Infos()
	if err != nil || len(infos) != 1 {
		return target{}, document.fault(document.firstLine(), "the document is no object that can be applied")
	}
	obj, err := object(infos[0].Object, nil)
	return target{info: infos[0], desired: obj}, err
}

// findKind returns an error if the API server does not have the kind of an object.
func (x *explainer) findKind(document manifest, content map[string]any) error {
	kind := (&unstructured.Unstructured{Object: content}).GroupVersionKind()
	mapper, err := x.cluster.ToRESTMapper()
	if err == nil {
		_, err = mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	switch {
	case meta.IsNoMatchError(err):
		return document.fault(document.firstLine(), "the API server has no such kind in this apiVersion")
	case err != nil:
		return fmt.Errorf("cannot find the kinds of the API server: %w", err)
	}
	return nil
}

func (x *explainer) builder() (*resource.Builder, error) {
	namespace, _, err := x.cluster.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, x.configFault(err)
	}
	return resource.NewBuilder(x.cluster).Unstructured().ContinueOnError().NamespaceParam(namespace).DefaultNamespace(), nil
}

// configFault returns an error about the configuration of the client. As a file with tokens can be the cause, the error does
// not quote one that is no YAML.
func (x *explainer) configFault(err error) error {
	for _, file := range x.cluster.ToRawKubeConfigLoader().ConfigAccess().GetLoadingPrecedence() {
		text, readErr := os.ReadFile(file)
		if readErr != nil {
			continue
		}
		if _, fault := (manifest{file: file, line: 1, text: text}).json(); fault != nil {
			return fault
		}
	}
	return fmt.Errorf("cannot read the configuration of the client: %w", err)
}
