package ensure

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// contested says who undoes what. The text stays the same while the contest does, for it
// is written into conditions. The lock is held.
func (c *child) contested(on *contest, wait time.Duration) *Error {
	paths := slices.DeleteFunc(slices.Clone(on.paths), func(path string) bool { return path == deletion })
	operation, detail := c.howUndone(on, paths)
	if on.between {
		operation, detail = c.howRevised(on, paths)
	}
	out := c.fail(ErrContested, operation, detail, paths...)
	out.Rival, out.After = on.rival, max(wait, leastWait)
	return out
}

// howUndone tells of others who undo what we write.
func (c *child) howUndone(on *contest, paths []string) (operation, detail string) {
	operation, does, redo := "apply", "undoes "+strings.Join(paths, ", "), "put back"
	remedy := "stop one of the two"
	switch {
	case len(paths) < len(on.paths):
		operation, does, redo = "create", "deletes it", "made again"
		remedy = "stop it, or no longer ensure this object"
	case on.rival == c.twin():
		remedy = "let only one of them run, or have both want the same"
	case slices.Contains(c.migrateFrom, on.rival):
		remedy = "most likely this operator itself still writes so, in an older way of its own"
	}
	who := cmp.Or(on.rival, "somebody (nothing tells who)")
	return operation, who + " " + does + " again and again: " + remedy +
		"; it is " + redo + " at growing intervals only, until that has stood for a while"
}

// howRevised tells of callers in this process that want different things.
func (c *child) howRevised(on *contest, paths []string) (operation, detail string) {
	operation, does := "apply", "writes other values to "+strings.Join(paths, ", ")
	switch {
	case c.digest == noChild:
		operation, does = "delete", "creates it"
	case len(paths) == 0:
		operation, does = "create", "deletes it"
	}
	why := on.rival + " " + does + " again and again: two reconcilers, or two places in one, " +
		"want different things of this object: give it one place that decides"
	if on.rival != anotherCaller {
		why = "desired is not deterministic, as each call wants something else in " + strings.Join(paths, ", ") +
			": leave out random values and times, and sort what comes from a map"
	}
	return operation, why + "; it is written at growing intervals only, until one desired state has stood for a while"
}
