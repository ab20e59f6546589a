// Coverage prints how much of the library the tests execute, and compares the rest with a page that
// gives the reasons. It ends with exit code 1 if the page lacks an entry or has an obsolete one.
// `make cover` runs this program.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/trueup-go/trueup/test/tools/coverage/gaps"
)

const (
	module = "github.com/trueup-go/trueup"
	page   = "docs/coverage.md"
)

func main() {
	update := flag.Bool("update", false, "write "+page+" before comparing with it")
	root := flag.String("root", "..", "the folder of the library")
	profile := flag.String("profile", "../cover.out", "what was measured, as text")
	flag.Parse()
	if err := run(*root, *profile, *update); err != nil {
		fmt.Fprintln(os.Stderr, "cover:", err)
		os.Exit(1)
	}
}

func run(root, file string, update bool) error {
	profile, err := read(file)
	if err != nil {
		return err
	}
	if err := profile.Print(os.Stdout); err != nil {
		return err
	}
	blocks, err := gaps.Find(os.DirFS(root), module, profile)
	if err != nil {
		return err
	}
	known, err := reasons(filepath.Join(root, page))
	if err != nil {
		return err
	}
	if update {
		text := known.Write(blocks)
		if err := os.WriteFile(filepath.Join(root, page), []byte(text), 0o644); err != nil { //nolint:gosec // for everybody to read
			return fmt.Errorf("cannot write the page: %w", err)
		}
		known = gaps.ParsePage(text)
	}
	if problems := known.Check(blocks); len(problems) > 0 {
		return fmt.Errorf("%s and the code differ; write a test or a reason, make cover UPDATE=1 adds rows:\n%s",
			page, strings.Join(problems, "\n"))
	}
	return nil
}

func read(name string) (gaps.Profile, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot open the profile: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	return gaps.Read(file)
}

func reasons(name string) (*gaps.Page, error) {
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the page: %w", err)
	}
	return gaps.ParsePage(string(text)), nil
}
