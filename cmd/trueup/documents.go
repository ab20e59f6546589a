package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	"k8s.io/cli-runtime/pkg/resource"
)

// A manifest is one document of a file: an object, or a list of objects.
type manifest struct {
	file string
	line int // the first of text
	text []byte
}

// manifests returns the documents in a file, in the files of a folder or of a pattern, at a URL, or, for -, in stdin.
func manifests(file string, stdin io.Reader) ([]manifest, error) {
	files, err := filesOf(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	var found []manifest
	for _, name := range files {
		text, err := contentOf(name, stdin)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", name, err)
		}
		found = append(found, split(name, text)...)
	}
	return found, nil
}

// filesOf returns the files that a name stands for, as kubectl does.
func filesOf(name string) ([]string, error) {
	if name == "-" || isURL(name) {
		return []string{name}, nil
	}
	matches := []string{name}
	if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
		if found, err := filepath.Glob(name); err == nil && len(found) > 0 {
			matches = found
		}
	}
	var files []string
	for _, match := range matches {
		visitors, err := resource.ExpandPathsToFileVisitors(nil, match, false, resource.FileExtensions, nil)
		if err != nil {
			return nil, err
		}
		for _, visitor := range visitors {
			if visitor, isFile := visitor.(*resource.FileVisitor); isFile {
				files = append(files, visitor.Path)
			}
		}
	}
	return files, nil
}

func isURL(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// contentOf returns a text in UTF-8. A file of Windows may be in UTF-16.
func contentOf(name string, stdin io.Reader) ([]byte, error) {
	var (
		text []byte
		err  error
	)
	switch {
	case name == "-":
		text, err = io.ReadAll(stdin)
	case isURL(name):
		text, err = download(name)
	default:
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, err
	}
	text, _, err = transform.Bytes(unicode.BOMOverride(transform.Nop), text)
	return text, err
}

func download(url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answers with the code %d", response.StatusCode)
	}
	return io.ReadAll(response.Body)
}

// split returns the documents of a text: JSON values one after the other, or YAML documents.
func split(file string, text []byte) []manifest {
	if found, isJSON := splitJSON(file, text); isJSON {
		return found
	}
	return splitYAML(file, text)
}

// splitJSON returns false for a text that is not JSON throughout. YAML can begin like JSON, too.
func splitJSON(file string, text []byte) ([]manifest, bool) {
	var found []manifest
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		rest := text[decoder.InputOffset():]
		begin := len(text) - len(bytes.TrimLeft(rest, " \t\r\n"))
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return found, true
		}
		if err != nil {
			return nil, false
		}
		found = append(found, manifest{file: file, line: 1 + bytes.Count(text[:begin], []byte("\n")), text: value})
	}
}

// splitYAML leaves out parts without content, such as the comments before the first document.
func splitYAML(file string, text []byte) []manifest {
	found := []manifest{{file: file, line: 1}}
	begin, end, line := 0, 0, 0
	for row := range bytes.Lines(text) {
		if line++; isSeparator(row) {
			begin = end
			found = append(found, manifest{file: file, line: line})
		}
		end += len(row)
		found[len(found)-1].text = text[begin:end]
	}
	return slices.DeleteFunc(found, func(m manifest) bool { return m.firstLine() < 0 })
}

// isSeparator reports whether a document begins at a row, whose rest may belong to the document.
func isSeparator(row []byte) bool {
	rest, found := bytes.CutPrefix(row, []byte("---"))
	return found && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n"))
}

// firstLine returns the line at which the content begins, or -1 for a document without content.
func (m manifest) firstLine() int {
	line := m.line
	for row := range bytes.Lines(m.text) {
		if content := bytes.TrimSpace(bytes.TrimPrefix(row, []byte("---"))); len(content) > 0 && content[0] != '#' && row[0] != '%' {
			return line
		}
		line++
	}
	return -1
}
