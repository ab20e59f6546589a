package trial

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

func TestMarks(t *testing.T) {
	o, s := sampleState(t)
	name, want, _ := o.child(1)
	live, j := s.objects[name], newJournal()
	first := markFor(want.Want, name.Kind, "v1")
	j.noteMark("user", name, live.GetUID(), first)
	made, lost := j.tally(s)
	require.Equal(t, 1, made)
	require.Len(t, lost, 1)
	require.Contains(t, lost[0], "example.org")

	live.Object = merged(live.Object, first)
	_, lost = j.tally(s)
	require.Empty(t, lost)

	j.noteMark("user", name, live.GetUID(), owners.Manifest{"metadata": owners.Manifest{"labels": owners.Manifest{"more": "yes"}}})
	_, lost = j.tally(s)
	require.Len(t, lost, 1, "a mark adds to earlier ones")
	j.erase(name, "metadata", "labels")
	_, lost = j.tally(s)
	require.Empty(t, lost, "a user removed the labels")

	live.SetUID("another")
	made, _ = j.tally(s)
	require.Zero(t, made, "the mark is lost with the object")

	var text strings.Builder
	require.NoError(t, j.write(&text))
	require.Equal(t, 2, strings.Count(text.String(), "\n"))
}

// TestIsAsked deletes children of a Site and of its app, in four steps of a second.
func TestIsAsked(t *testing.T) {
	ref := func(kind, name string) owners.Ref { return owners.Ref{Kind: kind, Namespace: "chaos-0", Name: name} }
	site, app, ingress := ref("Site", "page-0"), ref("ReverseWordsApp", "page-0"), ref("Ingress", "page-0")
	began := time.Now()
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	dropped := func(j *journal) {
		j.reasons[app] = []reason{{from: at(1), to: at(3), ofItself: true}, {from: at(1)}}
		j.reasons[ingress] = []reason{{from: at(1), to: at(3), ofItself: true}}
	}
	deleted := func(j *journal) { j.reasons[site] = []reason{{from: at(1)}} }
	for _, c := range []struct {
		reason  string
		journal func(*journal)
		name    owners.Ref
		at      int
		readAt  []int // when the operator read the Site
		want    bool
	}{
		{"nobody asked", func(*journal) {}, ingress, 2, nil, false},
		{"before the Site was deleted", deleted, ingress, 0, nil, false},
		{"after the Site was deleted", deleted, ingress, 2, nil, true},
		{"the child of a child of a deleted Site", deleted, ref("Deployment", "dp-page-0"), 2, nil, true},
		{"dropped", dropped, ingress, 2, nil, true},
		{"dropped, and asked for again", dropped, ingress, 4, nil, false},
		{"asked for again after the operator has looked", dropped, ingress, 4, []int{2}, true},
		{"the operator looked before it was dropped", dropped, ingress, 4, []int{0}, false},
		{"the operator looked again", dropped, ingress, 5, []int{2, 4}, false},
		{"the child of a dropped app, later", dropped, ref("Service", "service-page-0"), 4, nil, true},
		{"another child of the Site", dropped, ref("ConfigMap", "page-0"), 2, nil, false},
		{"an owner", deleted, site, 2, nil, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			e := &environment{journal: newJournal(), objects: objectsOfKind(t, "Site", 1)}
			c.journal(e.journal)
			check := deletionCheck{environment: e, controllers: map[owners.Ref]owners.Ref{}, reads: map[owners.Ref][]time.Time{}}
			check.nameControllers()
			for _, seconds := range c.readAt {
				check.reads[site] = append(check.reads[site], at(seconds))
			}
			require.Equal(t, c.want, check.isAsked(cluster.Deletion{Request: cluster.Request{Time: at(c.at)}}, c.name))
		})
	}
}

func TestLeaks(t *testing.T) {
	before := map[string]Usage{"site": {Goroutines: 100, Heap: 10 << 20}}
	require.Empty(t, leaks(before, map[string]Usage{"site": {Goroutines: 120, Heap: 20 << 20}}))
	require.Len(t, leaks(before, map[string]Usage{"site": {Goroutines: 1000, Heap: 100 << 20}}), 2)
}
