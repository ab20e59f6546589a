package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"

	"github.com/gohugoio/hashstructure"
	"k8s.io/utils/dump"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/hash"
)

// A digest is a way to compute a digest of an object.
type digest struct {
	name    string
	compute func(client.Object) (string, error)
}

// peerDigests are the usual ways beside hash.Object.
var peerDigests = []digest{
	{"JSON and SHA-256", hashJSON},
	{"hashstructure", hashStructure},
	{"dump and FNV", hashDump},
}

func hashObject(object client.Object) (string, error) { return hash.Object(object) }

func hashJSON(object client.Object) (string, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

func hashStructure(object client.Object) (string, error) {
	sum, err := hashstructure.Hash(object, nil)
	return fmt.Sprintf("%016x", sum), err
}

// hashDump is what the Deployment controller of Kubernetes does with pod templates.
func hashDump(object client.Object) (string, error) {
	sum := fnv.New32a()
	_, err := sum.Write([]byte(dump.ForHash(object)))
	return fmt.Sprintf("%08x", sum.Sum32()), err
}

func (opts options) compareDigests(chosen []objectCase) (section, error) {
	s := section{Title: "Digest", Text: digestText, Columns: []string{"object", "allocations"}}
	for _, peer := range peerDigests {
		s.Columns = append(s.Columns, peer.name)
	}
	for _, c := range chosen {
		object, goal := c.desired(), c.goal()
		work := []func() error{computing(hashObject, object)}
		for _, peer := range peerDigests {
			work = append(work, computing(peer.compute, object))
		}
		figures := func(costs []cost) []figure {
			figures := []figure{{value: costs[0].allocs, most: goal.digestAllocs, isCount: true}}
			for i := range peerDigests {
				figures = append(figures, figure{value: costs[0].ns / costs[i+1].ns})
			}
			figures[1].most = goal.digest
			return figures
		}
		row, err := opts.measureRow(figures, work...)
		if err != nil {
			return s, fmt.Errorf("%s: %w", c.name, err)
		}
		s.add(c.name, row)
	}
	return s, nil
}

func computing(compute func(client.Object) (string, error), object client.Object) func() error {
	return func() error {
		_, err := compute(object)
		return err
	}
}

//go:embed text/digest.md
var digestText string
