package gaps

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// A spot is a statement and its position.
type spot struct {
	stmt   ast.Stmt
	before ast.Stmt   // the one before it in the same list
	above  []ast.Node // what it is in, from the outside in
}

// A source is a file with its blocks.
type source struct {
	positions *token.FileSet
	file      *token.File
	spots     []spot // in the order of the text
	blocks    []block
}

func parse(name string, text []byte, blocks []block) (*source, error) {
	s := &source{positions: token.NewFileSet(), blocks: blocks}
	tree, err := parser.ParseFile(s.positions, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("cannot parse: %w", err)
	}
	s.file = s.positions.File(tree.Pos())
	var above []ast.Node
	ast.Inspect(tree, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		s.note(n, above)
		above = append(above, n)
		return true
	})
	return s, nil
}

// note keeps the statements of a list, and an if that is the else of another.
func (s *source) note(n ast.Node, above []ast.Node) {
	var list []ast.Stmt
	switch n := n.(type) {
	case *ast.BlockStmt:
		list = n.List
	case *ast.CaseClause:
		list = n.Body
	case *ast.CommClause:
		list = n.Body
	case *ast.IfStmt:
		if nested, ok := n.Else.(*ast.IfStmt); ok {
			list = []ast.Stmt{nested}
		}
	}
	above = append(slices.Clone(above), n)
	var before ast.Stmt
	for _, stmt := range list {
		s.spots = append(s.spots, spot{stmt: stmt, before: before, above: above})
		before = stmt
	}
}

func (s *source) pos(p position) token.Pos { return s.file.LineStart(p.line) + token.Pos(p.column-1) }

// first is where the first statement of a block stands.
func (s *source) first(b block) (spot, bool) {
	from, to := s.pos(b.from), s.pos(b.to)
	var found spot
	for _, candidate := range s.spots {
		at := candidate.stmt.Pos()
		if _, isBlock := candidate.stmt.(*ast.BlockStmt); isBlock || at < from || at >= to {
			continue
		}
		if found.stmt == nil || at < found.stmt.Pos() {
			found = candidate
		}
	}
	return found, found.stmt != nil
}

// isFollowUp reports whether the code that leads to a statement is not covered either.
func (s *source) isFollowUp(at spot) bool {
	if at.before != nil {
		return !s.isCovered(at.before.Pos())
	}
	for _, n := range slices.Backward(at.above) {
		switch n.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
			continue // what decides is around it
		case *ast.FuncDecl:
			return false
		}
		return !s.isCovered(n.Pos())
	}
	return false
}

func (s *source) isCovered(pos token.Pos) bool {
	for _, b := range slices.Backward(s.blocks) { // the innermost begins last
		if s.pos(b.from) <= pos && pos < s.pos(b.to) {
			return b.covered
		}
	}
	return true
}

// gap describes the block that begins here.
func (s *source) gap(at spot) Gap {
	found := Gap{Line: s.positions.Position(at.stmt.Pos()).Line, Statement: s.text(at.stmt)}
	for _, n := range at.above {
		if declared, ok := n.(*ast.FuncDecl); ok {
			found.Function = s.nameOf(declared)
			if at.before == nil && at.above[len(at.above)-1] == declared.Body {
				found.Statement = ""
			}
		}
	}
	found.When = s.when(at.above)
	return found
}

func (s *source) nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		return "(*" + s.text(pointer.X) + ")." + f.Name.Name
	}
	return s.text(receiver) + "." + f.Name.Name
}

// when returns the innermost condition around a statement, with its context.
func (s *source) when(above []ast.Node) string {
	for i, n := range slices.Backward(above) {
		switch n := n.(type) {
		case *ast.IfStmt:
			condition := s.condition(n)
			if i+1 == len(above) || above[i+1] != n.Body {
				return "else of " + condition
			}
			return condition
		case *ast.CaseClause, *ast.CommClause:
			return strings.TrimSuffix(s.text(n), ":")
		case *ast.ForStmt, *ast.RangeStmt:
			return s.text(n)
		case *ast.FuncLit:
			return "in a function value"
		case *ast.FuncDecl:
			return ""
		}
	}
	return ""
}

// condition returns the condition of an if. A condition that only uses variables of the preceding
// assignment, such as an err, is returned with this assignment.
func (s *source) condition(n *ast.IfStmt) string {
	text := s.text(n.Cond)
	if n.Init != nil {
		return "if " + s.text(n.Init) + "; " + text
	}
	at := slices.IndexFunc(s.spots, func(other spot) bool { return other.stmt == n })
	if at < 0 {
		return "if " + text
	}
	if assigned, ok := s.spots[at].before.(*ast.AssignStmt); ok && isAbout(n.Cond, assigned) {
		return "if " + s.text(assigned) + "; " + text
	}
	return "if " + text
}

func isAbout(condition ast.Expr, assigned *ast.AssignStmt) bool {
	about := false
	ast.Inspect(condition, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			about = about || slices.ContainsFunc(assigned.Lhs, func(left ast.Expr) bool {
				other, ok := left.(*ast.Ident)
				return ok && other.Name == name.Name
			})
		}
		return true
	})
	return about
}

// text is the first line of a piece of code.
func (s *source) text(n ast.Node) string {
	var out bytes.Buffer
	if err := format.Node(&out, s.positions, n); err != nil {
		return fmt.Sprintf("%T", n) // for no node of a file that was parsed
	}
	line, _, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
	return strings.TrimSuffix(strings.TrimSpace(line), " {")
}
