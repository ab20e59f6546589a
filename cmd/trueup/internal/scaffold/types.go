package scaffold

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strings"
)

// clusterScoped is in the marker of a kind without namespace.
const clusterScoped = "scope=Cluster"

// editTypes gives the spec the fields of the children, and the status the conditions, as far as they lack them.
func (p *project) editTypes(name string, o *operator) error {
	before, _, err := p.text(name)
	if err != nil {
		return err
	}
	if strings.Contains(before, clusterScoped) {
		return fmt.Errorf("%s: a cluster-scoped %s has no namespace for its children", name, o.Kind)
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

// addFields adds the fields to a type that lack it. They replace the field Foo of kubebuilder if the type has no other.
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
	offset := func(p token.Pos) int { return set.Position(p).Offset }
	present := map[string]string{}
	for _, f := range typ.Fields.List {
		for _, name := range f.Names {
			present[name.Name] = text[offset(f.Type.Pos()):offset(f.Type.End())]
		}
	}
	begin, end := offset(typ.Fields.Closing), offset(typ.Fields.Closing)
	if _, isExample := present["Foo"]; isExample && len(typ.Fields.List) == 1 {
		begin = offset(typ.Fields.Opening) + 1
	}
	var added strings.Builder
	for _, f := range fields {
		switch present[f.Name] {
		case "":
			added.WriteString(f.declaration)
		case f.Type:
		default:
			return "", fmt.Errorf("%s.%s has the type %s, and the operator needs %s", typeName, f.Name, present[f.Name], f.Type)
		}
	}
	if added.Len() == 0 {
		return text, nil
	}
	formatted, err := format.Source([]byte(text[:begin] + added.String() + text[end:]))
	return string(formatted), err
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
