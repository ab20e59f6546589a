package explain

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/managedfields"
)

const (
	// foldAbove is the number of fields up to which a subtree is listed field by field.
	foldAbove = 3
	// foldTopAbove is the same for data, rules and the like, except for metadata and spec, which are never
	// folded as a whole.
	foldTopAbove = 12
)

// rows returns the fields of a manager. A subtree that belongs to this manager only becomes one row.
func (p *page) rows(i int) []row {
	manager := &p.report.Managers[i]
	if p.Expand {
		return rowsOf(manager.Fields)
	}
	others := fieldpath.NewSet()
	for j := range p.report.Managers {
		if j != i {
			others = others.Union(p.report.Managers[j].leaves)
		}
	}
	f := &folding{fields: map[string]Field{}, mask: p.report.mask}
	for _, field := range manager.Fields {
		f.fields[field.at] = field
	}
	f.visit(nil, manager.leaves, others)
	return f.rows
}

// A folding collects the rows of one manager.
type folding struct {
	fields map[string]Field // by the whole path
	mask   mask
	rows   []row
}

// visit adds rows for the fields at a path. Others are the fields of the other managers there.
func (f *folding) visit(at fieldpath.Path, own, others *fieldpath.Set) {
	for element := range own.Members.All() {
		field := f.fields[managedfields.Text(append(at.Copy(), element))]
		f.rows = append(f.rows, rowsOf([]Field{field})...)
	}
	for element := range own.Children.All() {
		path := append(at.Copy(), element)
		inside, _ := own.Children.Get(element)
		if !managedfields.Holds(others, fieldpath.Path{element}) && isLong(path, inside.Size()) {
			f.rows = append(f.rows, row{path: f.mask.text(path), value: "(" + fieldCount(inside.Size()) + ")"})
			continue
		}
		f.visit(path, inside, others.WithPrefix(element))
	}
}

// isLong reports whether a subtree with n fields is too long to be listed.
func isLong(path fieldpath.Path, n int) bool {
	switch {
	case nameAt(path, 0) == "status":
		return n > foldAbove
	case len(path) == 1:
		return nameAt(path, 0) != "metadata" && nameAt(path, 0) != "spec" && n > foldTopAbove
	}
	return n > foldAbove
}
