package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// definitionFiles are the CRDs of all example operators.
var definitionFiles = filepath.Join("examples", "*", "config", "crd", "bases", "*.yaml")

// compareDefinitions fails if objects that the last release accepted would lose a field or be refused.
func compareDefinitions(_ context.Context, r *release) (string, error) {
	if r.tag == "" {
		return noTag, nil
	}
	before, err := loadDefinitions(r.previous)
	if err != nil {
		return "", err
	}
	now, err := loadDefinitions(r.root)
	if err != nil {
		return "", err
	}
	var breaking []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		breaking = append(breaking, changesOf(name, before[name], now[name])...)
	}
	return judge(r, breaking, fmt.Sprintf("%d CRDs of %s accept the same objects", len(before), r.tag))
}

// A definition has the schemas of a CRD by version.
type definition map[string]apiextensionsv1.JSONSchemaProps

func loadDefinitions(root string) (map[string]definition, error) {
	files, err := filepath.Glob(filepath.Join(root, definitionFiles))
	if err != nil {
		return nil, err
	}
	loaded := map[string]definition{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", file, err)
		}
		loaded[crd.Name] = definition{}
		for _, version := range crd.Spec.Versions {
			if version.Served && version.Schema != nil && version.Schema.OpenAPIV3Schema != nil {
				loaded[crd.Name][version.Name] = *version.Schema.OpenAPIV3Schema
			}
		}
	}
	return loaded, nil
}

// changesOf describes the changes of a CRD that break its users.
func changesOf(name string, before, now definition) []string {
	var changes []string
	for _, version := range slices.Sorted(maps.Keys(before)) {
		schema, served := now[version]
		if !served {
			changes = append(changes, fmt.Sprintf("%s: the version %s is not served any more", name, version))
			continue
		}
		for _, change := range schemaChanges("", before[version], schema) {
			changes = append(changes, fmt.Sprintf("%s %s: %s", name, version, change))
		}
	}
	return changes
}

// schemaChanges describes removed fields, other types, and fields that became required and have no default.
func schemaChanges(path string, before, now apiextensionsv1.JSONSchemaProps) []string {
	if before.Type != now.Type {
		return []string{fmt.Sprintf("%s was of type %q and is of type %q", path, before.Type, now.Type)}
	}
	var changes []string
	for _, field := range slices.Sorted(maps.Keys(before.Properties)) {
		inside := path + "." + field
		property, found := now.Properties[field]
		if !found {
			changes = append(changes, inside+" was removed")
			continue
		}
		changes = append(changes, schemaChanges(inside, before.Properties[field], property)...)
	}
	for _, field := range now.Required {
		if !slices.Contains(before.Required, field) && now.Properties[field].Default == nil {
			changes = append(changes, path+"."+field+" is required now, and has no default")
		}
	}
	if before.Items != nil && before.Items.Schema != nil && now.Items != nil && now.Items.Schema != nil {
		changes = append(changes, schemaChanges(path+"[]", *before.Items.Schema, *now.Items.Schema)...)
	}
	if before.AdditionalProperties != nil && before.AdditionalProperties.Schema != nil &&
		now.AdditionalProperties != nil && now.AdditionalProperties.Schema != nil {
		changes = append(changes, schemaChanges(path+".*", *before.AdditionalProperties.Schema, *now.AdditionalProperties.Schema)...)
	}
	return changes
}
