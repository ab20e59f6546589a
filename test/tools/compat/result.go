package main

import (
	"fmt"
	"io"
	"strings"
)

// A result holds the digests of the corpora under one version.
type result struct {
	version  string
	minor    int
	corpus   digests
	fixtures digests
	plain    digests // of what json.Marshal writes of the corpus
}

// parseResult reads the output of command print.
func parseResult(version string, r io.Reader) (result, error) {
	minor, err := minorOf(version)
	if err != nil {
		return result{}, err
	}
	res := result{version: version, minor: minor, corpus: digests{}, fixtures: digests{}, plain: digests{}}
	err = eachLine(r, 3, func(fields []string) error {
		if name, ok := strings.CutPrefix(fields[0], "fixture/"); ok {
			return res.fixtures.add(name, fields[1])
		}
		res.plain[fields[0]] = fields[2]
		return res.corpus.add(fields[0], fields[1])
	})
	return res, err
}

// own returns the digests of the fixtures that k8s.io/api had in the minor
// version of t.
func (r result) own() digests {
	own := digests{}
	for name, digest := range r.fixtures {
		if strings.HasPrefix(name, fmt.Sprintf("v0.%d/", r.minor)) {
			own[name] = digest
		}
	}
	return own
}
