package template

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

const noAnchors = "anchors, aliases and tags are not for manifests"

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// notYAML says where the text is no YAML.
func (r *rendered) notYAML(err error) *Error {
	line := 1
	problem := err.Error()
	if found := yamlLine.FindStringSubmatch(problem); found != nil {
		problem = problem[len(found[0]):]
		line = max(line, atoi(found[1]))
	}
	if strings.HasPrefix(problem, "unknown anchor") { // which it quotes
		problem = noAnchors
	}
	return r.at(line).error("", "is no YAML: "+problem)
}

func atoi(digits string) int {
	n, _ := strconv.Atoi(digits) // 0 where there are none
	return n
}
