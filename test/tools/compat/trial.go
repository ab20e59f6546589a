package main

import (
	"fmt"
	"io"
	"strings"
)

// A trial holds the digests of the corpora under one version.
type trial struct {
	version  string
	minor    int
	corpus   digests
	fixtures digests
	plain    digests // of what json.Marshal writes of the corpus
}

// parseTrial reads the output of command print.
func parseTrial(version string, r io.Reader) (trial, error) {
	minor, err := minorOf(version)
	if err != nil {
		return trial{}, err
	}
	t := trial{version: version, minor: minor, corpus: digests{}, fixtures: digests{}, plain: digests{}}
	err = eachLine(r, 3, func(fields []string) error {
		if name, ok := strings.CutPrefix(fields[0], "fixture/"); ok {
			return t.fixtures.add(name, fields[1])
		}
		t.plain[fields[0]] = fields[2]
		return t.corpus.add(fields[0], fields[1])
	})
	return t, err
}

// own returns the digests of the fixtures that k8s.io/api had in the minor
// version of t.
func (t trial) own() digests {
	own := digests{}
	for name, digest := range t.fixtures {
		if strings.HasPrefix(name, fmt.Sprintf("v0.%d/", t.minor)) {
			own[name] = digest
		}
	}
	return own
}
