package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// fewest fixtures must be compared, lest a folder that has moved passes for none
// that differ.
const fewest = 100

const legend = `
objects      the corpus, against its golden values
json+sha256  how many of it would differ from the first version, were a digest the SHA-256 of what json.Marshal writes
fixtures     what k8s.io/api of each release keeps of every kind, against the digest under that release
gone         fixtures with a kind or a member that this version no longer has
`

// report compares every result with the golden values, and every fixture with the digest under its
// own version, and prints a table of the results. Any difference is an error.
func report(out io.Writer, trials []result, want digests) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "version\tobjects\tdifferences\tjson+sha256\tfixtures\tdifferences\tgone\t")
	var wrong []string
	first, plain := digests{}, digests{}
	for _, res := range trials {
		expected, err := want.until(res.minor)
		if err != nil {
			return err
		}
		objects := differences(expected, res.corpus)
		keepFirst(first, res.own())
		fixtures := changed(first, res.fixtures)
		keepFirst(plain, res.plain)
		naive := len(changed(plain, res.plain))
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n",
			res.version, len(res.corpus), len(objects), naive, len(res.fixtures), len(fixtures), len(first)-len(res.fixtures))
		for _, d := range append(objects, fixtures...) {
			wrong = append(wrong, res.version+": "+d.String())
		}
		if len(res.fixtures) < fewest {
			wrong = append(wrong, fmt.Sprintf("%s: only %d fixtures were found", res.version, len(res.fixtures)))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprint(out, legend)
	if len(wrong) == 0 {
		return nil
	}
	for _, line := range wrong {
		fmt.Fprintln(out, line)
	}
	return fmt.Errorf("%d digests are not what they were", len(wrong))
}

// changed is differences without the names that got lacks: kinds that are gone.
func changed(want, got digests) []difference {
	kept := digests{}
	for name := range got {
		if digest, ok := want[name]; ok {
			kept[name] = digest
		}
	}
	return differences(kept, got)
}

func keepFirst(first, next digests) {
	for name, digest := range next {
		if _, there := first[name]; !there {
			first[name] = digest
		}
	}
}
