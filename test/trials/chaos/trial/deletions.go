package trial

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

// collector is the user of the garbage collector.
const collector = "system:serviceaccount:kube-system:generic-garbage-collector"

// A deletionCheck finds deletions that nobody asked for. Users may delete everything. An operator may delete a child
// whose owner was deleted, and a child that the owner dropped. The garbage collector may delete a child whose owner, or
// the owner's owner, was deleted or dropped.
type deletionCheck struct {
	*environment

	// controllers has the name of the controller of each child.
	controllers map[owners.Ref]owners.Ref
	// reads has the times when the operator of Sites read each Site from the API server.
	reads map[owners.Ref][]time.Time
}

// unasked describes the deletions of operators and of the garbage collector that nobody asked for, and counts all.
func (e *environment) unasked() (found []string, count int, err error) {
	check := deletionCheck{environment: e, controllers: map[owners.Ref]owners.Ref{}, reads: map[owners.Ref][]time.Time{}}
	check.nameControllers()
	if err := check.findReads(); err != nil {
		return nil, 0, err
	}
	deletions, err := e.cluster.Deletions(cluster.Mark{})
	if err != nil {
		return nil, 0, err
	}
	for _, d := range deletions {
		name := owners.Ref{Kind: kindOf(d.Resource), Namespace: d.Namespace, Name: d.Name}
		if !check.concerns(d, name) {
			continue
		}
		count++
		if !check.isAsked(d, name) {
			found = append(found, fmt.Sprintf("%s deleted %s with UID %s at %s, which nobody asked for",
				d.User, name, d.UID, d.Time.Format(time.TimeOnly)))
		}
	}
	return found, count, nil
}

// nameControllers notes the controllers of all children that objects have or had.
func (c *deletionCheck) nameControllers() {
	for _, o := range c.objects {
		for _, child := range o.kind.Children(o.rename(o.kind.New())) {
			controller := owners.Ref{Kind: child.Controller, Namespace: o.key.Namespace, Name: o.key.Name}
			c.controllers[owners.RefTo(child.Want, o.key.Namespace)] = controller
		}
	}
}

func (c *deletionCheck) findReads() error {
	reads, err := c.cluster.Requests(cluster.Mark{}, cluster.ByUser(c.operators["site"].installed.User()),
		func(r cluster.Request) bool { return r.Verb == "get" && r.Resource == "sites" })
	for _, r := range reads {
		site := owners.Ref{Kind: "Site", Namespace: r.Namespace, Name: r.Name}
		c.reads[site] = append(c.reads[site], r.Time)
	}
	return err
}

// concerns reports whether a deletion is one of an operator, or of the garbage collector and of a child.
func (c *deletionCheck) concerns(d cluster.Deletion, name owners.Ref) bool {
	if !slices.Contains(c.namespaces, d.Namespace) {
		return false
	}
	if d.User == collector {
		_, isChild := c.controllers[name]
		return isChild
	}
	for _, pair := range c.operators {
		if d.User == pair.installed.User() {
			return true
		}
	}
	return false
}

// isAsked reports whether there was a reason for a deletion.
func (c *deletionCheck) isAsked(d cluster.Deletion, name owners.Ref) bool {
	controller, isChild := c.controllers[name]
	if !isChild {
		controller, isChild = controllerByName(name)
	}
	if !isChild {
		return false
	}
	if c.journal.allows(name, true, c.decided(controller, d.Time)) {
		return true
	}
	for isChild {
		if c.journal.allows(controller, false, d.Time) {
			return true
		}
		controller, isChild = c.controllers[controller]
	}
	return false
}

// decided returns when the operator decided about a deletion: a Site may change after its operator has read it.
func (c *deletionCheck) decided(controller owners.Ref, deleted time.Time) time.Time {
	decided := deleted
	for _, read := range c.reads[controller] {
		if read.Before(deleted) {
			decided = read
		}
	}
	return decided
}

// controllerByName returns the BookStore of a pod or claim of a database.
func controllerByName(name owners.Ref) (owners.Ref, bool) {
	store, _, found := strings.Cut(strings.TrimPrefix(name.Name, "mongodb-pvc-"), "-mongodb-")
	return owners.Ref{Kind: "BookStore", Namespace: name.Namespace, Name: store}, found
}

// kindOf returns the kind of a resource.
func kindOf(resource string) string {
	for kind := range owners.Kinds {
		if owners.Resource(kind) == resource {
			return kind
		}
	}
	return resource
}
