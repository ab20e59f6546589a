package manifest

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
	kubernetesyaml "sigs.k8s.io/yaml"
)

// isText reports whether YAML reads a scalar as text, by version 1.1 (kubectl) as well as
// by 1.2.
func isText(node *yaml.Node) bool {
	const quotedOrBlock = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if node.Style&quotedOrBlock != 0 {
		return true
	}
	return (node.Tag == "!!str" || node.Tag == "!!timestamp") && !isAmbiguous(node.Value)
}

// old are the words of YAML 1.1 that 1.2 reads as text.
var old = regexp.MustCompile(`^(?i:y|yes|n|no|on|off)$`)

// isAmbiguous reports whether YAML 1.1 reads a text of YAML 1.2 as another type.
func isAmbiguous(text string) bool {
	if old.MatchString(text) {
		return true
	}
	if !strings.ContainsAny(text, "0123456789") || len(text) > 64 || strings.Contains(text, "\n") {
		return false
	}
	var read any
	err := kubernetesyaml.Unmarshal([]byte(text), &read)
	return err != nil || read != text
}
