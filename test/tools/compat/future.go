package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// futureSuffix marks the test of the newest release in which every struct has been given a new
// optional field of each sort. Past versions alone prove less: json.Marshal omits nearly all fields
// added since v0.30 if they are unset.
const futureSuffix = "+tomorrow"

// validationsFile is the name of files that compare structs by ==, which they could not
// once these hold lists. Nothing needs them.
const validationsFile = "zz_generated.validations.go"

// addFutureFields copies a module without its tests, and adds fields to each struct of the types.go files.
func addFutureFields(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name := entry.Name()
		if name != "go.mod" && !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || name == validationsFile {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		if isAPIPackage(filepath.Dir(path)) && name == "types.go" {
			beside := filepath.Join(filepath.Dir(target), "zz_tomorrow.go")
			if err := os.WriteFile(beside, newTypes(text), 0o600); err != nil {
				return err
			}
			text = withNewFields(text)
		}
		return os.WriteFile(target, text, 0o600)
	})
}

// isAPIPackage reports whether dir is a version of a group.
func isAPIPackage(dir string) bool { return strings.HasPrefix(filepath.Base(dir), "v") }

var (
	packageLine = regexp.MustCompile(`(?m)^package (\w+)$`)
	structLine  = regexp.MustCompile(`(?m)^type \w+ struct \{$`)
)

// withNewFields inserts the fields at the head of every struct in a source.
func withNewFields(source []byte) []byte {
	return structLine.ReplaceAllFunc(source, func(line []byte) []byte {
		return append(bytes.Clone(line), newFields...)
	})
}

// newTypes returns a file that belongs beside a types.go and declares the types of the new fields.
func newTypes(source []byte) []byte {
	name := packageLine.FindSubmatch(source)
	if name == nil {
		return nil
	}
	return fmt.Appendf(nil, "package %s\n%s", name[1], newDeclarations)
}

// A required number or text is not among them: no API may add one.
const newFields = `
	TomorrowStruct   tomorrowStruct     ` + "`json:\"tomorrowStruct,omitempty\"`" + `
	TomorrowBare     tomorrowStruct     ` + "`json:\"tomorrowBare\"`" + `
	TomorrowPointer  *tomorrowStruct    ` + "`json:\"aTomorrowPointer,omitempty\"`" + `
	TomorrowNull     *tomorrowStruct    ` + "`json:\"zTomorrowNull\"`" + `
	TomorrowQuantity tomorrowQuantity   ` + "`json:\"tomorrowQuantity,omitempty\"`" + `
	TomorrowPort     tomorrowPort       ` + "`json:\"tomorrowPort,omitempty\"`" + `
	TomorrowRaw      tomorrowRaw        ` + "`json:\"tomorrowRaw,omitempty\"`" + `
	TomorrowWall     tomorrowWall       ` + "`json:\"tomorrowWall,omitempty,omitzero\"`" + `
	TomorrowList     []tomorrowStruct   ` + "`json:\"tomorrowList\"`" + `
	TomorrowMap      map[string]string  ` + "`json:\"tomorrowMap\"`" + `
	TomorrowBytes    []byte             ` + "`json:\"tomorrowBytes\"`" + `
	TomorrowText     string             ` + "`json:\"tomorrowText,omitempty\"`" + `
	TomorrowCount    int64              ` + "`json:\"tomorrowCount,omitempty\"`" + `
	TomorrowSwitch   bool               ` + "`json:\"tomorrowSwitch,omitempty\"`"

const newDeclarations = `
import (
	tomorrowtime "time"

	tomorrowresource "k8s.io/apimachinery/pkg/api/resource"
	tomorrowruntime "k8s.io/apimachinery/pkg/runtime"
	tomorrowintstr "k8s.io/apimachinery/pkg/util/intstr"
)

type (
	tomorrowQuantity = tomorrowresource.Quantity
	tomorrowPort     = tomorrowintstr.IntOrString
	tomorrowRaw      = tomorrowruntime.RawExtension
	tomorrowWall     = tomorrowtime.Time
	tomorrowStruct   struct {
		Inner tomorrowInner     ` + "`json:\"inner\"`" + `
		Names []string          ` + "`json:\"names,omitempty\"`" + `
		Ratio *float64          ` + "`json:\"ratio\"`" + `
	}
	tomorrowInner struct {
		Size tomorrowQuantity ` + "`json:\"size\"`" + `
	}
)
`
