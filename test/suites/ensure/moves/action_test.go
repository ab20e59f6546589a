package moves_test

import (
	"strings"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// act does one action of a step. One that makes no sense now does nothing.
//
//	want part=variant      desired has the part
//	drop part              desired lacks the part
//	release part           desired lacks the part, and Release names it
//	retire part            desired lacks the part, and Retire names it
//	once part              Once names the part
//	plain part             no option names the part
//	migrate on, off        MigrateFrom is given, or not
//	restart                the Ensurer forgets everything
//	fail n how             a pass whose write n, from 0, fails: it is lost, or delivered; perhaps on the migrated object only
//	older part=variant     the older version writes to its object
//	sets, applies, unsets  a stranger sets, applies or removes a field of its own in both objects
//	break part             a stranger removes a part of desired from both objects
//	readd part             a stranger removes the part, and adds it again
//	empty, empty update    a stranger empties the managed fields of both objects
func (r *round) act(action string) {
	verb, argument, _ := strings.Cut(action, " ")
	name, variant, _ := strings.Cut(argument, "=")
	switch verb {
	case "want", "drop", "release", "retire", "once", "plain":
		r.actDesired(verb, name, variant)
	case "migrate":
		r.migrates = argument == "on"
	case "restart":
		r.restart()
	case "fail":
		r.fail(argument)
	case "older":
		r.writeOlder(name, variant)
	case "sets", "applies", "unsets":
		r.settle()
		r.actTheirs(verb, find(r.kind.theirs, name))
	case "break", "readd":
		r.settle()
		r.breakPart(find(r.kind.parts, name), verb == "readd")
	case "empty":
		r.settle()
		r.empty(argument == "update")
	}
}

// settle lets the operator finish if a pass failed: for one object it may have got further than for the other, which then
// makes a difference for good.
func (r *round) settle() {
	if r.isDirty {
		r.converge()
	}
}

func (r *round) actDesired(verb, name, variant string) {
	if verb == "once" || verb == "release" {
		r.settle()
	}
	r.mayRoll = true
	if r.released[name] || r.retired[name] || verb != "drop" && verb != "want" {
		r.withoutOptions(name)
	}
	if verb != "want" && verb != "once" && verb != "plain" {
		delete(r.wanted, name)
	}
	switch verb {
	case "want":
		r.wanted[name] = variant
	case "once":
		r.once[name] = true
	case "release":
		r.released[name] = true
	case "retire":
		r.retired[name] = true
	}
	r.forgetTheirs(name)
}

// withoutOptions has no option name the part.
func (r *round) withoutOptions(name string) {
	for _, named := range []map[string]bool{r.released, r.once, r.retired} {
		delete(named, name)
	}
}

// forgetTheirs forgets what others set inside a part that changes: it may go with the part, from both objects.
func (r *round) forgetTheirs(name string) {
	for each, their := range r.theirs {
		if their.in == name {
			delete(r.theirs, each)
		}
	}
	r.forgetOlder(name)
}

// forgetOlder forgets what the older version set inside a part.
func (r *round) forgetOlder(name string) {
	for _, p := range r.kind.legacy {
		if p.in == name {
			delete(r.older, p.name)
		}
	}
}

// fail is a pass that fails.
func (r *round) fail(how string) {
	at, which, _ := strings.Cut(how, " ")
	delivery, only, _ := strings.Cut(which, " ")
	r.notePass()
	for _, o := range []*object{r.born, r.migrated} {
		if only != "" && o == r.born {
			continue
		}
		f := &fault{after: int(at[0] - '0'), delivered: delivery == "delivered"}
		o.client.fault = f
		_, err := r.call(o)
		o.client.fault = nil
		r.require(err == nil || f.met, "%s: %v", o.name, err)
	}
	r.isDirty = true
	if r.isEmptied {
		r.converge() // what desired drops now stays, and only where the pass has not corrected the managed fields
	}
}

// canWriteOlder reports whether the older version can write a part: what it is in is there, and nothing of a stranger would
// go from one object only.
func (r *round) canWriteOlder(p part) bool {
	for _, their := range r.theirs {
		if their.in == p.name {
			return false
		}
	}
	live := r.live(r.migrated).Object
	isThere := p.in == "" || get(live, pathOf(find(r.kind.parts, p.in).path)) != nil
	isValid := p.name != "oldUnavailable" || get(live, pathOf("spec.strategy.type")) != "Recreate"
	return isThere && isValid
}

func (r *round) writeOlder(name, variant string) {
	p, isLegacy := r.oldPart(name)
	if !r.canWriteOlder(p) {
		return
	}
	path := pathOf(p.path)
	before := r.live(r.migrated).Object
	r.edit(r.migrated, oldName, func(content map[string]any) { put(content, path, p.variant(variant)) })
	r.noteOlder()
	for _, d := range differences(path, get(before, path), get(r.live(r.migrated).Object, path)) {
		r.olds.Insert(d.path) // also what it removes: in the born object it stays, if it is nobody's
	}
	r.forgetOlder(name) // which is replaced
	r.touched[name] = true
	r.mayRoll = r.mayRoll || !isLegacy || r.retired[name] || p.in != ""
	own := fieldsOf(r.live(r.migrated), fieldOwner, metav1.ManagedFieldsOperationApply)
	isOurs := holds(own, path) // the same value as ours
	// What is inside a part of ours may go with it: as the value of a map's key that only we own, or as a field that is
	// invalid without ours. Server-side apply does so with anybody's fields.
	isInside := p.in != "" && (r.wanted[p.in] != "" || holds(own, pathOf(find(r.kind.parts, p.in).path)))
	isWanted := r.wanted[name] != "" && !r.once[name]
	if !isOurs && !isInside && !isWanted && !r.retired[name] {
		r.older[name] = variant
	}
}

func (r *round) actTheirs(verb string, p part) {
	if p.in != "" {
		inside := pathOf(find(r.kind.parts, p.in).path)
		if get(r.live(r.born).Object, inside) == nil || get(r.live(r.migrated).Object, inside) == nil || verb == "applies" {
			return // what a stranger applied, only the stranger could remove with the part
		}
	}
	their := r.theirs[p.name]
	switch {
	case verb == "unsets" && their != nil:
		r.removeTheirs(their)
	case verb == "sets" && their == nil:
		r.setTheirs(p)
	case verb == "applies" && their == nil:
		r.theirs[p.name] = &theirPart{part: p, manager: applier, operation: metav1.ManagedFieldsOperationApply}
		r.applyTheirs()
	}
}

// setTheirs has a stranger set a field of its own.
func (r *round) setTheirs(p part) {
	their := &theirPart{part: p, manager: updater, operation: metav1.ManagedFieldsOperationUpdate, isOwned: true}
	r.theirs[p.name] = their
	path, wanted := pathOf(p.path), p.variant(firstWord(p.variants[0]))
	for _, o := range []*object{r.born, r.migrated} {
		their.isOwned = their.isOwned && !satisfies(get(r.live(o).Object, path), wanted) // the same value changes nothing
		r.edit(o, updater, func(content map[string]any) { put(content, path, wanted) })
	}
}

// removeTheirs has a stranger remove a field of its own.
func (r *round) removeTheirs(their *theirPart) {
	delete(r.theirs, their.name)
	if their.manager == applier {
		r.applyTheirs()
		return
	}
	for _, o := range []*object{r.born, r.migrated} {
		r.edit(o, updater, func(content map[string]any) { remove(content, pathOf(their.path)) })
	}
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

// applyTheirs has a stranger apply all that it wants to have.
func (r *round) applyTheirs() {
	for _, o := range []*object{r.born, r.migrated} {
		base, _ := parse(r.kind.base).(map[string]any)
		obj := r.named(map[string]any{"apiVersion": base["apiVersion"], "kind": base["kind"]}, o)
		for _, p := range r.kind.theirs {
			if their := r.theirs[p.name]; their != nil && their.manager == applier {
				put(obj.Object, pathOf(p.path), p.variant(firstWord(p.variants[0])))
			}
		}
		require.NoError(r.t, r.client.Apply(r.t.Context(), client.ApplyConfigurationFromUnstructured(obj),
			client.FieldOwner(applier), client.ForceOwnership))
	}
	for _, their := range r.theirs {
		their.isOwned = their.isOwned || their.manager == applier
	}
}

// breakPart has a stranger remove a part, and perhaps add it again.
func (r *round) breakPart(p part, again bool) {
	path, pair := pathOf(p.path), []*object{r.born, r.migrated}
	for _, o := range pair {
		if get(r.live(o).Object, path) == nil {
			return
		}
	}
	r.mayRoll = true
	for _, o := range pair {
		var was any
		r.edit(o, updater, func(content map[string]any) {
			was = get(content, path)
			remove(content, path)
		})
		if again {
			r.edit(o, updater, func(content map[string]any) { put(content, path, was) })
		}
	}
	delete(r.older, p.name)
	r.forgetTheirs(p.name)
}

// empty has a stranger empty the managed fields.
func (r *round) empty(byUpdate bool) {
	for _, o := range []*object{r.born, r.migrated} {
		if byUpdate {
			r.edit(o, updater, func(content map[string]any) { put(content, pathOf("metadata.managedFields"), []any{map[string]any{}}) })
			continue
		}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))
		require.NoError(r.t, r.client.Patch(r.t.Context(), r.live(o), patch, client.FieldOwner(updater)))
	}
	for _, their := range r.theirs {
		their.isOwned = false
	}
	r.isEmptied = true
}
