package manifest

import (
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseYAML returns the root of each document that is not empty.
func parseYAML(text string) ([]*yaml.Node, error) {
	var roots []*yaml.Node
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var document yaml.Node
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return roots, nil
		case err != nil:
			return nil, err
		case !isEmpty(document.Content[0]):
			roots = append(roots, document.Content[0])
		}
	}
}

func isEmpty(root *yaml.Node) bool {
	return root.Kind == yaml.ScalarNode && root.Value == "" && root.Style == 0 && root.Anchor == ""
}

const noAnchors = "anchors, aliases and tags are not allowed in manifests"

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// countedFromZero matches the problems whose line go-yaml counts from 0, as its parser does. Most lines
// of its scanner count from 1, and go-yaml never reports line 0.
var countedFromZero = regexp.MustCompile(
	`^(?:did not find expected (?:<|key|node|'-'|',')|found (?:undefined|duplicate|incompatible|a tab character that violates))`)

var unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)

// notYAML says where the text is no YAML.
func (r *rendered) notYAML(err error) *Error {
	line := 1
	problem := err.Error()
	if found := yamlLine.FindStringSubmatch(problem); found != nil {
		problem = problem[len(found[0]):]
		line = max(line, atoi(found[1]))
		if found[1] != "" && countedFromZero.MatchString(problem) {
			line++
		}
	}
	if anchor := unknownAnchor.FindStringSubmatch(problem); anchor != nil { // which is told without a line
		return r.around(max(0, strings.Index(r.text, "*"+anchor[1]))).error("", noAnchors)
	}
	return r.at(line).error("", "is not valid YAML: "+problem)
}

// isBreak reports whether a character ends a line in YAML, which has more line breaks than editors.
func isBreak(char rune) bool { return strings.ContainsRune("\n\r\u0085\u2028\u2029", char) }

func atoi(digits string) int {
	n, _ := strconv.Atoi(digits) // 0 where there are none
	return n
}
