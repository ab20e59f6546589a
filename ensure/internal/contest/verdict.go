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
	case call.Digest == Absent:
		v.Operation = "delete"
	case len(v.Paths) == 0:
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
	does, redo := "reverts "+strings.Join(v.Paths, ", "), "written again"
	remedy := "stop one of the two"
	switch {
	case v.Operation == "delete":
		does, redo = "creates it", "deleted again"
		remedy = "stop it, or stop removing this object"
	case v.Operation == "create":
		does, redo = "deletes it", "created again"
		remedy = "stop it, or stop ensuring this object"
	case v.Rival == AnotherInstance(fieldOwner):
		remedy = "run only one of them, or let both desire the same state"
	case slices.Contains(formerManagers, v.Rival):
		remedy = "most likely another part of this operator still writes the object itself"
	}
	who := cmp.Or(v.Rival, "an unknown field manager")
	return who + " " + does + " again and again: " + remedy +
		"; it is " + redo + " at growing intervals only, until a write has lasted for a while"
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
	why := v.Rival + " " + does + " again and again: two reconcilers, or two places in one reconciler, " +
		"desire different states of this object: let one place decide"
	if v.Rival != AnotherCaller {
		why = "desired is not deterministic: each call has other values in " + paths +
			": leave out random values and times, and sort lists that are built from maps"
	}
	return why + "; it is written at growing intervals only, until one desired state has lasted for a while"
}
