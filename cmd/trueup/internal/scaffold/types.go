package scaffold

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

var (
	// clusterScoped finds the marker of a kind without namespace.
	clusterScoped = regexp.MustCompile(`(?m)^\s*//\s*\+kubebuilder:resource:.*\bscope="?Cluster\b`)
	// hasStatus finds the marker of a kind with the status subresource.
	hasStatus = regexp.MustCompile(`(?m)^\s*//\s*\+kubebuilder:subresource:status\b`)
)

// editTypes gives the spec the fields of the children, and the status the conditions, as far as they lack them.
func (p *project) editTypes(name string, o *operator) error {
	text, err := p.read(name)
	if err != nil {
		return err
	}
	before := string(text)
	if clusterScoped.MatchString(before) {
		return fmt.Errorf("%s: a cluster-scoped %s has no namespace for its children", name, o.Kind)
	}
	if !hasStatus.MatchString(before) {
		return fmt.Errorf("%s has no marker +kubebuilder:subresource:status, which the condition needs", name)
	}
	after, err := addFields(before, o.Kind+"Spec", o.Fields())
	if err == nil {
		after, err = addFields(after, o.Kind+"Status", []field{conditions})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.change(name, before, after)
	return nil
}

// example finds the content of a struct with the field that kubebuilder gives a new type.
var example = regexp.MustCompile(`\A
	// INSERT ADDITIONAL SPEC FIELDS - desired state of cluster
	// Important: Run "make" to regenerate code after modifying this file
(?:	// The following markers will use OpenAPI v3 schema to validate the value
	// More info: https://book\.kubebuilder\.io/reference/markers/crd-validation\.html
)?
	// [Ff]oo is an example field of \w+\. Edit \w+_types\.go to remove/update
(?:	// \+optional
)?	Foo \*?string ` + "`json:\"foo,omitempty\"`\n\\z")

// addFields adds the fields to a type that lack it. They replace kubebuilder's example.
func addFields(text, typeName string, fields []field) (string, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	typ := structOf(file, typeName)
	if typ == nil {
		return "", fmt.Errorf("there is no type %s", typeName)
	}
	added, err := lacking(typ, fields)
	if err != nil {
		return "", fmt.Errorf("%s.%w", typeName, err)
	}
	if added == "" {
		return text, nil
	}
	begin, end := set.Position(typ.Fields.Opening).Offset+1, set.Position(typ.Fields.Closing).Offset
	formatted, err := format.Source([]byte(text[:begin] + example.ReplaceAllString(text[begin:end], "") + added + text[end:]))
	return string(formatted), err
}

// lacking returns the declarations of the fields that a struct lacks. The others must have the type, and the name in JSON must
// be free.
func lacking(typ *ast.StructType, fields []field) (string, error) {
	typeOf, nameOf := map[string]string{}, map[string]string{} // by name, and by name in JSON
	for _, f := range typ.Fields.List {
		for _, name := range f.Names {
			typeOf[name.Name], nameOf[jsonName(f.Tag)] = types.ExprString(f.Type), name.Name
		}
	}
	var declarations strings.Builder
	for _, f := range fields {
		present, isPresent := typeOf[f.Name]
		namesake, isTaken := nameOf[f.jsonName()]
		switch {
		case isPresent && present != f.Type:
			return "", fmt.Errorf("%s has the type %s, and the operator needs %s", f.Name, present, f.Type)
		case isPresent:
		case isTaken:
			return "", fmt.Errorf("%s has the JSON name %s of the field %s that the operator needs", namesake, f.jsonName(), f.Name)
		default:
			declarations.WriteString(f.declaration)
		}
	}
	return declarations.String(), nil
}

// jsonName returns the name in the tag of a field, if it has one.
func jsonName(tag *ast.BasicLit) string {
	if tag == nil {
		return ""
	}
	text, _ := strconv.Unquote(tag.Value) // the parser has checked it
	name, _, _ := strings.Cut(reflect.StructTag(text).Get("json"), ",")
	return name
}

// structOf returns the declaration of a struct.
func structOf(file *ast.File, name string) *ast.StructType {
	for _, declaration := range file.Decls {
		if types, ok := declaration.(*ast.GenDecl); ok && types.Tok == token.TYPE {
			for _, spec := range types.Specs {
				if t := spec.(*ast.TypeSpec); t.Name.Name == name {
					typ, _ := t.Type.(*ast.StructType)
					return typ
				}
			}
		}
	}
	return nil
}
