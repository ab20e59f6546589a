package scaffold

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// The version of Go that the operator needs.
const (
	goMinor   = 26
	goVersion = "1.26.0"
)

// editModule requires the library and its version of Go. `go mod tidy` raises the other versions.
func (p *project) editModule(version string) error {
	before, err := p.read("go.mod")
	if err != nil {
		return err
	}
	file, err := modfile.Parse("go.mod", before, nil)
	if err != nil {
		return err
	}
	if file.Go == nil || semver.Compare("v"+file.Go.Version, "v"+goVersion) < 0 {
		if err := file.AddGoStmt(goVersion); err != nil {
			return err
		}
	}
	formatted, err := file.Format()
	if err != nil {
		return err
	}
	after := string(formatted)
	if !slices.ContainsFunc(file.Require, func(r *modfile.Require) bool { return r.Mod.Path == Library }) {
		if version == "" {
			return errors.New("this build knows no version of the library: run `go get " + Library + "` first")
		}
		// A line of its own: the last block may be that of the indirect requirements.
		after += fmt.Sprintf("\nrequire %s %s\n", Library, version)
	}
	p.change("go.mod", string(before), after)
	return nil
}

// editSample replaces the placeholder in the sample of the custom resource.
func (p *project) editSample(name string, o *operator) error {
	const placeholder = "  # TODO(user): Add fields here\n"
	before, exists, err := p.text(name)
	if err != nil {
		return err
	}
	var values strings.Builder
	for _, f := range o.Fields() {
		values.WriteString("  " + f.sample + "\n")
	}
	if strings.Contains(before, values.String()) {
		return nil
	}
	if !exists || strings.Count(before, placeholder) != 1 {
		p.keep(name, "is left alone, as it has no placeholder of kubebuilder: give the spec its fields by hand")
		return nil
	}
	p.change(name, before, strings.Replace(before, placeholder, values.String(), 1))
	return nil
}

// raiseImages raises the images of Go that are too old to build the project.
func (p *project) raiseImages() error {
	byHand := fmt.Sprintf(": give it an image of Go 1.%d by hand", goMinor)
	for _, name := range []string{"Dockerfile", ".devcontainer/devcontainer.json"} {
		before, _, err := p.text(name)
		if err != nil {
			return err
		}
		after, hasDigest := raised(before)
		if before != after && strings.ContainsRune(before, utf8.RuneError) { // which JSON makes of other bytes, too
			p.keep(name, "is left alone, as it is not UTF-8"+byHand)
			continue
		}
		if hasDigest {
			p.keep(name, "keeps an image, as a digest selects it"+byHand)
		}
		p.change(name, before, after)
	}
	return nil
}

// image finds the minor version of an image of Go, its variant, and the @ before a digest.
var image = regexp.MustCompile(`\bgolang:1\.(\d+)(?:\.\d+)?([\w.-]*)(@?)`)

// raised returns the text with newer images. It reports whether an old image stays because a digest selects it, whatever its
// tag says.
func raised(text string) (after string, hasDigest bool) {
	after = image.ReplaceAllStringFunc(text, func(old string) string {
		match := image.FindStringSubmatch(old)
		if minor, err := strconv.Atoi(match[1]); err != nil || minor >= goMinor {
			return old
		}
		if match[3] != "" {
			hasDigest = true
			return old
		}
		return "golang:1." + strconv.Itoa(goMinor) + match[2]
	})
	return after, hasDigest
}
