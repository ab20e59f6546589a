package contest

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A Verdict says whether a child is contested. The zero Verdict says that no contest is on.
type Verdict struct {
	Contested bool
	Begins    bool          // with this write
	HasTry    bool          // the call may write in spite of a contest
	Wait      time.Duration // until the next try, or until the contest may end
	Operation string        // that is contested: apply, create or delete
	Paths     []string      // that are contested
	Rival     string        // a field manager, AnotherCaller, or the field owner; empty if not known

	betweenCallers bool
}

// verdict returns that of a call during a contest. Only Wait changes while the contest is on.
func (c *contest) verdict(call Call, wait time.Duration, begins bool) Verdict {
	v := Verdict{
		Contested: true, Begins: begins, Wait: max(wait, LeastWait), Operation: "apply", Rival: c.rival,
		betweenCallers: c.betweenCallers,
		Paths:          slices.DeleteFunc(slices.Clone(c.paths), func(path string) bool { return path == Deletion }),
	}
	switch {
	case c.betweenCallers && call.Digest == Absent:
		v.Operation = "delete"
	case c.betweenCallers && len(v.Paths) == 0, !c.betweenCallers && len(v.Paths) < len(c.paths):
		v.Operation = "create"
	}
	return v
}

// AnotherInstance returns the name of a rival that uses the same field owner in another process.
func AnotherInstance(fieldOwner string) string { return "another instance of " + fieldOwner }

// Text names the rival and the contested paths, and says how to end the contest. formerManagers are the field managers of
// earlier versions of the operator. The text stays the same during a contest, as it is written into
// conditions.
func (v Verdict) Text(fieldOwner string, formerManagers []string) string {
	if v.betweenCallers {
		return v.textBetweenCallers()
	}
	does, redo := "undoes "+strings.Join(v.Paths, ", "), "put back"
	remedy := "stop one of the two"
	switch {
	case v.Operation == "create":
		does, redo = "deletes it", "made again"
		remedy = "stop it, or no longer ensure this object"
	case v.Rival == AnotherInstance(fieldOwner):
		remedy = "let only one of them run, or have both want the same"
	case slices.Contains(formerManagers, v.Rival):
		remedy = "most likely this operator itself still writes so, in an older way of its own"
	}
	who := cmp.Or(v.Rival, "somebody (nothing tells who)")
	return who + " " + does + " again and again: " + remedy +
		"; it is " + redo + " at growing intervals only, until that has stood for a while"
}

func (v Verdict) textBetweenCallers() string {
	paths := strings.Join(v.Paths, ", ")
	does := "writes other values to " + paths
	switch v.Operation {
	case "delete":
		does = "creates it"
	case "create":
		does = "deletes it"
	}
	why := v.Rival + " " + does + " again and again: two reconcilers, or two places in one, " +
		"want different things of this object: give it one place that decides"
	if v.Rival != AnotherCaller {
		why = "desired is not deterministic, as each call wants something else in " + paths +
			": leave out random values and times, and sort what comes from a map"
	}
	return why + "; it is written at growing intervals only, until one desired state has stood for a while"
}
