package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// digests are by name. A name begins with the minor version since which there
// is such a value: v0.34/resource/v1/ResourceClaim/gpu.
type digests map[string]string

// text is a line for each digest, in the order of their names.
func (d digests) text() []byte {
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(d)) {
		fmt.Fprintln(&text, name, d[name])
	}
	return text.Bytes()
}

// until returns the digests of the values that a minor version has.
func (d digests) until(minor int) (digests, error) {
	had := digests{}
	for name, digest := range d {
		since, _, _ := strings.Cut(name, "/")
		m, err := minorOf(since)
		if err != nil {
			return nil, fmt.Errorf("cannot tell since when there is %s: %w", name, err)
		}
		if m <= minor {
			had[name] = digest
		}
	}
	return had, nil
}

// A difference is a value with an unexpected digest; a missing digest is "".
type difference struct{ name, want, got string }

func (d difference) String() string {
	switch {
	case d.got == "":
		return fmt.Sprintf("%s: want %s, but it has no digest", d.name, d.want)
	case d.want == "":
		return fmt.Sprintf("%s: got %s, but there is none to compare with", d.name, d.got)
	default:
		return fmt.Sprintf("%s: want %s, got %s", d.name, d.want, d.got)
	}
}

// differences compares two sets of digests; a name that only one of them has is a
// difference too.
func differences(want, got digests) []difference {
	var found []difference
	for name, digest := range want {
		if got[name] != digest {
			found = append(found, difference{name, digest, got[name]})
		}
	}
	for name, digest := range got {
		if _, ok := want[name]; !ok {
			found = append(found, difference{name, "", digest})
		}
	}
	slices.SortFunc(found, func(a, b difference) int { return strings.Compare(a.name, b.name) })
	return found
}

// parseDigests reads lines of name and digest.
func parseDigests(r io.Reader) (digests, error) {
	parsed := digests{}
	err := eachLine(r, 2, func(fields []string) error { return parsed.add(fields[0], fields[1]) })
	return parsed, err
}

func (d digests) add(name, digest string) error {
	if _, there := d[name]; there {
		return fmt.Errorf("%s occurs twice", name)
	}
	d[name] = digest
	return nil
}

func eachLine(r io.Reader, fields int, take func([]string) error) error {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		found := strings.Fields(lines.Text())
		if len(found) != fields {
			return fmt.Errorf("line %d has %d fields, not %d: %q", n, len(found), fields, lines.Text())
		}
		if err := take(found); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return lines.Err()
}
