package ensure

import (
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A change of desired is the operator's own business, until it leads nowhere: two callers take
// the child from each other, or desired is another at each call. A desired state that comes
// back is counted if the one that it replaces was not meant to stay: it stood for less than
// shortLived, and nobody asked for it again after repeatedAfter. Different states are counted
// from the last that was meant to stay. A change of the owner's generation is a reason for
// another desired state: only states of one generation count together.
const (
	// A contest begins with so many returns within contestWindow.
	returns = 5
	// A contest begins with so many different states within contestWindow.
	renewals = 20
	// fewStates are as many as different callers may want.
	fewStates = 3

	shortLived = 5 * time.Second
	// repeatedAfter is long enough for a time in seconds to be another.
	repeatedAfter = 2 * time.Second

	// revisionsKept bounds the revisions that are remembered of a child.
	revisionsKept = 48
)

// anotherCaller is the rival of a caller that shares its Ensurer with another.
const anotherCaller = "another caller in this process"

// noChild is the digest of a child that is to be absent.
const noChild = ""

// An intent is what a call wants of a child, on behalf of which generation of its owner.
type intent struct {
	digest string
	owner  generation
}

// A generation is that of an owner; zero without one. Where the owner's kind has none, it
// stands still until the owner is deleted.
type generation struct {
	owner  types.UID
	number int64
}

func (c *child) intent() intent {
	wanted := intent{digest: c.digest}
	if c.controlled {
		wanted.owner = generation{owner: c.owner.GetUID(), number: c.owner.GetGeneration()}
		if c.owner.GetDeletionTimestamp() != nil {
			wanted.owner.number = math.MaxInt64
		}
	}
	return wanted
}

// isAfter is false for an owner that is not known.
func (g generation) isAfter(other generation) bool {
	return g.owner != "" && (g.owner != other.owner || g.number > other.number)
}

// A revision is an intent that took another one's place on the API server.
type revision struct {
	intent

	at      time.Time
	kept    bool // it was meant to stay
	returns bool // too soon
}

// revise notes a revision. If it is one too many, it returns the rival: another caller or, of a
// desired state that is never the same, the operator itself.
func (s *contest) revise(to intent, now time.Time, itself string) (rival string) {
	if to.owner.isAfter(s.owner) {
		s.owner = to.owner
	}
	next := revision{intent: to, at: now}
	switch last := s.current(); {
	case last == nil:
	case last.digest == to.digest: // another reconcile has noted it
		return ""
	default:
		last.kept = last.kept || now.Sub(last.at) >= shortLived
		next.returns = !last.kept && last.digest != noChild && slices.ContainsFunc(s.revisions, next.isSame)
	}
	if len(s.revisions) == revisionsKept {
		s.revisions = slices.Delete(s.revisions, 0, 1)
	}
	s.revisions = append(s.revisions, next)
	different := s.countDifferent()
	switch {
	case different >= renewals, s.countReturns() >= returns && different > fewStates:
		return itself
	case s.countReturns() >= returns:
		return anotherCaller
	}
	return ""
}

func (r revision) isSame(other revision) bool { return r.intent == other.intent }

// current is the last revision, nil if there is none.
func (s *contest) current() *revision {
	if len(s.revisions) == 0 {
		return nil
	}
	return &s.revisions[len(s.revisions)-1]
}

func (s *contest) countReturns() (count int) {
	for _, revision := range s.revisions {
		if revision.returns {
			count++
		}
	}
	return count
}

// countDifferent counts the states that the current generation wanted since the last that was
// meant to stay.
func (s *contest) countDifferent() int {
	digests := map[string]bool{}
	for _, revision := range slices.Backward(s.revisions) {
		if revision.kept {
			break
		}
		if revision.owner == s.current().owner {
			digests[revision.digest] = true
		}
	}
	return len(digests)
}

// repeat notes that a call wants a desired state.
func (s *contest) repeat(digest string, now time.Time) {
	if last := s.current(); last != nil && last.digest == digest && now.Sub(last.at) >= repeatedAfter {
		last.kept = true
	}
}

// isOurs reports whether digest is that of a desired state which this Ensurer wrote lately. A
// child that is not there is our doing only if we deleted it last.
func (s *contest) isOurs(digest string) bool {
	if digest == noChild {
		return s.current() != nil && s.current().digest == noChild
	}
	return slices.ContainsFunc(s.revisions, func(revision revision) bool { return revision.digest == digest })
}

// isRevision reports whether a write took the place of another desired state of ours, with live
// as it was before, nil if there was nothing. Its answer may not be known yet.
func (c *child) isRevision(live client.Object, found outcome) bool {
	if c.dryRun || found.cause == "" {
		return false
	}
	if c.lastWritten != "" && c.lastWritten != c.digest {
		return true
	}
	stored := noChild
	if live != nil {
		stored, _ = c.storedIn(live)
	}
	return stored != c.digest && c.memory.contests.areOurs(c.id(), stored)
}

func (t *contests) areOurs(key childKey, digest string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	value, _ := t.table.Get(key)
	found, ok := value.(*contest)
	return ok && found.isOurs(digest)
}

// revised is the outcome of a write that changed what we want of the child. The one too many is
// ErrContested.
func (c *child) revised(found outcome) (outcome, error) {
	paths := c.withoutDigest(pathsOf(found.changes))
	contests, now := c.memory.contests, c.clock.Now()
	contests.mu.Lock()
	defer contests.mu.Unlock()
	known := contests.begun(c.id(), c.intent(), now)
	rival := known.revise(c.intent(), now, c.fieldOwner)
	switch {
	case known.hold > 0:
	case rival == "":
		return found, nil
	default:
		known.between, known.rival = true, rival
		c.countContest()
	}
	known.prolong(paths, now)
	return outcome{}, c.contested(known, known.hold)
}

// removed is the outcome of a removal.
func (c *child) removed(found outcome, err error) (outcome, error) {
	c.wrote(found)
	if err == nil && found.cause == Unwanted && !c.dryRun {
		found, err = c.revised(found)
	}
	err = c.ended(err)
	c.warn(err)
	c.countRequests(found, err)
	return found, err
}
