package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// fault returns the error that something is wrong at a line. A document can be a Secret, also one that cannot be read as such,
// so that what may not quote it. The errors of libraries do.
func (m manifest) fault(line int, what string) error {
	return fmt.Errorf("cannot read %s:%d: %s", m.file, line, what)
}

// objects returns the objects in a document, each with an apiVersion, a kind and a name. There are several in a list.
func (m manifest) objects() ([]map[string]any, error) {
	body, err := m.json()
	if err != nil {
		return nil, err
	}
	var content any
	if err := utiljson.Unmarshal(body, &content); err != nil {
		return nil, m.fault(m.firstLine(), "the document is no object")
	}
	if content == nil {
		return nil, nil
	}
	found, what := flatten("the document", content)
	if what != "" {
		return nil, m.fault(m.firstLine(), what)
	}
	return found, nil
}

// json returns the document as JSON.
func (m manifest) json() ([]byte, error) {
	if json.Valid(m.text) {
		return m.text, nil
	}
	body, err := yaml.YAMLToJSON(m.text)
	if err != nil {
		return nil, m.yamlFault(err)
	}
	return body, nil
}

// scannerProblems and parserProblems are the errors of the YAML library that quote nothing and say what a person can mend. The
// library counts the lines of the parser from 0.
var (
	scannerProblems = []string{
		"block sequence entries are not allowed in this context",
		"control characters are not allowed",
		"could not find expected ':'",
		"did not find expected alphabetic or numeric character",
		"did not find expected comment or line break",
		"did not find expected hexdecimal number",
		"did not find expected whitespace or line break",
		"found a tab character that violates indentation",
		"found a tab character where an indentation space is expected",
		"found character that cannot start any token",
		"found unexpected document indicator",
		"found unexpected end of stream",
		"found unknown escape character",
		"mapping keys are not allowed in this context",
		"mapping values are not allowed in this context",
	}
	parserProblems = []string{
		"did not find expected ',' or ']'",
		"did not find expected ',' or '}'",
		"did not find expected '-' indicator",
		"did not find expected <document start>",
		"did not find expected key",
		"did not find expected node content",
		"found undefined tag handle",
	}
)

var (
	yamlError    = regexp.MustCompile(`(?s)yaml: (?:line (\d+): )?(.*)$`)
	missingAlias = regexp.MustCompile(`(?s)^unknown anchor '(.*)' referenced$`)
)

// yamlFault returns the fault for an error of the YAML library.
func (m manifest) yamlFault(err error) error {
	parts := yamlError.FindStringSubmatch(err.Error())
	if parts == nil {
		return m.fault(m.firstLine(), "the document has a key that is neither a text nor a number")
	}
	problem, line := parts[2], m.firstLine()
	if n, err := strconv.Atoi(parts[1]); err == nil {
		line = m.line + n - 1
		if slices.Contains(parserProblems, problem) {
			line++
		}
	}
	if name := missingAlias.FindStringSubmatch(problem); name != nil {
		return m.fault(m.lineOf("*"+name[1], line), "an alias has no anchor; a text that begins with * needs quotes")
	}
	if slices.Contains(scannerProblems, problem) || slices.Contains(parserProblems, problem) {
		return m.fault(line, "the document is no YAML: "+problem)
	}
	return m.fault(line, "the document is no YAML")
}

// lineOf returns the line of the first occurrence of a text, or otherwise.
func (m manifest) lineOf(text string, otherwise int) int {
	before, _, found := bytes.Cut(m.text, []byte(text))
	if !found {
		return otherwise
	}
	return m.line + bytes.Count(before, []byte("\n"))
}

// flatten returns the objects in a value that a name stands for, or what is wrong with it. As for kubectl, an item of a
// list such as SecretList needs no kind.
func flatten(name string, content any) (objects []map[string]any, what string) {
	object, isObject := content.(map[string]any)
	if !isObject {
		return nil, name + " is no object"
	}
	if what := faultOfType(name, object); what != "" {
		return nil, what
	}
	items, isList := object["items"]
	if !isList {
		return []map[string]any{object}, faultOfMetadata(name, object)
	}
	list, ok := items.([]any)
	if !ok {
		return nil, "the items of " + name + " are no list"
	}
	for i, item := range list {
		inherit(item, object)
		found, what := flatten(fmt.Sprintf("item %d of %s", i+1, name), item)
		if what != "" {
			return nil, what
		}
		objects = append(objects, found...)
	}
	return objects, ""
}

// inherit gives an item without a kind that of a list, such as Secret for a SecretList.
func inherit(item any, list map[string]any) {
	kind, _ := list["kind"].(string)
	object, isObject := item.(map[string]any)
	if kind = strings.TrimSuffix(kind, "List"); !isObject || kind == "" || object["kind"] != nil {
		return
	}
	object["kind"], object["apiVersion"] = kind, list["apiVersion"]
}

// faultOfType returns what is wrong with the apiVersion and the kind of an object.
func faultOfType(name string, object map[string]any) string {
	for _, field := range []string{"apiVersion", "kind"} {
		value, found := object[field]
		if text, isText := value.(string); !isText || text == "" {
			if !found {
				return name + " has no " + field
			}
			return "the " + field + " of " + name + " is no text"
		}
	}
	version, _ := object["apiVersion"].(string)
	if _, err := schema.ParseGroupVersion(version); err != nil {
		return "the apiVersion of " + name + " is neither a version nor a group and a version"
	}
	return ""
}

// faultOfMetadata returns what is wrong with the metadata of an object.
func faultOfMetadata(name string, object map[string]any) string {
	text, err := json.Marshal(object["metadata"])
	if err != nil {
		return "the metadata of " + name + " cannot be read"
	}
	var metadata metav1.ObjectMeta
	if err := json.Unmarshal(text, &metadata); err != nil {
		return "the metadata of " + name + " has a value of another type, such as a number instead of a text"
	}
	if metadata.Name == "" {
		return name + " has no metadata.name"
	}
	return ""
}
