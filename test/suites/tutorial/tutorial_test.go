// Package tutorial_test follows docs/tutorial.md: it runs the commands and writes the files of each step,
// builds the operator and runs it on a real API server. It does the same with the code of the sections
// "By hand", and compares the measured figures with those of the page.
package tutorial_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/harness/page"
	"github.com/trueup-go/trueup/test/harness/places"
	"github.com/trueup-go/trueup/test/harness/walkthrough"
)

// firstOperator is the first step with an operator of the tutorial.
const firstOperator = 3

// TestTutorial follows the tutorial to the end, and builds and runs the operator of each step and the operator by hand.
func TestTutorial(t *testing.T) {
	longform.Only(t) // in the short form, TestEndsAsHello compares the operators' source code
	text, chapters := readTutorial(t)
	r := newReader(t)
	b := build(t, r, chapters)
	a := newArena(t)
	require.NoError(t, cluster.WriteKubeconfig(r.Kubeconfig(), a.Config()))
	kubectl(t, a, "apply", "-f", b.definition)
	kubectl(t, a, "wait", "--for=condition=Established", "-f", b.definition)
	comparePage(t, text, chapters, measure(t, a, b))
	r.MakeRun = func(ctx context.Context) error {
		require.NoError(t, r.Execute(ctx, "make build"))
		process, err := operator.Of(filepath.Join(r.Dir(), "bin", "manager"), r.Kubeconfig()).Start(ctx, "--zap-devel=false")
		t.Cleanup(func() { require.NoError(t, process.Stop()) })
		return err
	}
	require.NoError(t, r.Follow(t.Context(), chapters[8].blocks))
	checkDefinition(t, r)
}

// newReader returns a reader of the tutorial.
func newReader(t *testing.T) *walkthrough.Reader {
	t.Helper()
	r, err := walkthrough.NewReader(t.Context(), t.TempDir(), "kubebuilder")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// programs are the operators of the tutorial.
type programs struct {
	dir string
	// definition is the file of the CustomResourceDefinition.
	definition string
}

// build follows the steps that need no cluster, and builds the operators.
func build(t *testing.T, r *walkthrough.Reader, chapters []chapter) *programs {
	t.Helper()
	b := &programs{dir: t.TempDir()}
	var kubebuilders []byte // cmd/main.go
	for i := range chapters[:8] {
		step := i + 1
		if step == firstOperator {
			var err error
			kubebuilders, err = os.ReadFile(filepath.Join(r.Dir(), mainFile))
			require.NoError(t, err)
		}
		require.NoError(t, r.Follow(t.Context(), chapters[i].blocks))
		if step < firstOperator {
			continue
		}
		require.NoError(t, r.Execute(t.Context(), "make build"))
		require.NoError(t, r.Execute(t.Context(), "mkdir "+b.step(step)+" && cp bin/manager config/rbac/role.yaml "+b.step(step)))
		if step == firstOperator {
			buildByHand(t, r, chapters, b, kubebuilders)
		}
	}
	b.definition = filepath.Join(r.Dir(), "config", "crd", "bases", "hello.example.com_hellos.yaml")
	return b
}

// step is the folder with the operator of a step, and its role.
func (b *programs) step(number int) string { return filepath.Join(b.dir, "step-"+strconv.Itoa(number)) }

// program is the operator of a step.
func (b *programs) program(number int) string { return filepath.Join(b.step(number), "manager") }

// buildByHand builds the variants of the operator by hand in a copy of the project, with kubebuilder's manager.
func buildByHand(t *testing.T, r *walkthrough.Reader, chapters []chapter, b *programs, manager []byte) {
	t.Helper()
	project := filepath.Join(r.Home(), "byhand")
	require.NoError(t, r.Execute(t.Context(), "cp -a . "+project))
	require.NoError(t, os.WriteFile(filepath.Join(project, mainFile), manager, 0o644)) //nolint:gosec // source code
	for name, variants := range map[string][]variant{
		"filtered": {filtered}, "unfiltered": {unfiltered}, "thorough": {unfiltered, thorough},
	} {
		source := []byte(byHand(t, chapters, variants...))
		require.NoError(t, os.WriteFile(filepath.Join(project, controllerFile), source, 0o644)) //nolint:gosec // source code
		require.NoError(t, r.Execute(t.Context(), "(cd "+project+" && go build -o "+filepath.Join(b.dir, name)+" ./cmd)"))
	}
}

// measure runs the operators, and returns the rows of the tables by step.
func measure(t *testing.T, a *arena, b *programs) map[int][]row {
	t.Helper()
	a.checkDefaults(t)
	rows := map[int][]row{}
	try := func(name, program, rbac string, do func(t *testing.T, x *trial)) {
		require.True(t, t.Run(name, func(t *testing.T) { do(t, a.try(t, program, rbac)) }))
	}

	children := map[string][]int{}
	measureChildren := func(name string) func(t *testing.T, x *trial) {
		return func(t *testing.T, x *trial) {
			x.create(t)
			x.awaitPods(t)
			x.settle(t, &corev1.Service{})
			restart := x.restart(t, about("deployments", "services"))
			children[name] = []int{x.revertedEdits(t), x.lostAdditions(t), restart}
		}
	}
	var triggered, readyLate [2]string
	try("by hand, filtered", filepath.Join(b.dir, "filtered"), "", func(t *testing.T, x *trial) {
		readyLate[0] = strconv.Itoa(x.readyAfterPods(t))
		triggered[0] = yesNo(x.isTriggered(t))
	})
	var status, early, fields [2]int
	try("by hand, unfiltered", filepath.Join(b.dir, "unfiltered"), "", func(t *testing.T, x *trial) {
		measureChildren("by hand")(t, x)
		x.awaitPods(t)
		x.eventually(t, x.isReady)
		status[0] = x.restart(t, about("hellos/status"))
		early[0] = x.readyTooEarly(t)
		fields[0] = x.lostFields(t)
	})
	try("by hand, thorough", filepath.Join(b.dir, "thorough"), "", measureChildren("thorough"))

	try("step 3", b.program(3), b.step(3), measureChildren("step 3"))
	try("step 4", b.program(4), b.step(4), func(t *testing.T, x *trial) {
		x.create(t)
		triggered[1] = yesNo(x.isTriggered(t))
		require.Zero(t, x.restart(t))
	})
	try("step 5", b.program(5), b.step(5), func(t *testing.T, x *trial) {
		readyLate[1] = strconv.Itoa(x.readyAfterPods(t))
		x.eventually(t, x.isReady)
		require.Zero(t, x.restart(t))
		status[1] = x.restart(t, about("hellos/status"))
		early[1] = x.readyTooEarly(t)
	})
	try("step 6", b.program(6), b.step(6), func(t *testing.T, x *trial) {
		x.followsLife(t)
		fields[1] = x.lostFields(t)
	})
	for _, step := range []int{7, 8} {
		try("step "+strconv.Itoa(step), b.program(step), b.step(step), func(t *testing.T, x *trial) { x.followsLife(t) })
	}

	byDefault, ours := limiters()
	for i, label := range []string{
		"edits that are reverted, of 4: the image and the replicas of the Deployment, the selector and the port of the Service",
		"additions that are lost when the message changes, of 4: a label, a variable and a sidecar of the Deployment, a label of the Service",
		"Deployments and Services, of 20, that the operator writes after a restart, although nothing changed",
	} {
		rows[3] = append(rows[3], newRow(label, children["by hand"][i], children["thorough"][i], children["step 3"][i]))
	}
	rows[4] = []row{
		newRow("an edit of the Service triggers a reconcile", triggered[0], triggered[1]),
		newRow("Hellos, of 10, whose condition of step 5 is True once their pods are ready", readyLate[0], readyLate[1]),
	}
	rows[5] = []row{
		newRow("Hellos, of 10, whose status the operator writes after a restart, although nothing changed", status[0], status[1]),
		newRow("Hellos, of 10, whose condition is True before any pod serves the new message", early[0], early[1]),
	}
	rows[6] = []row{newRow("fields lost, of 1 that the CRD has and the operator's Go type has not", fields[0], fields[1])}
	rows[7] = []row{newRow("reconciles in the first minute of a failure", passesInAMinute(byDefault), passesInAMinute(ours))}
	return rows
}

// followsLife creates Hellos and requires that they become ready and are listed, that a restart writes nothing, and that
// the index forgets those that are deleted.
func (x *trial) followsLife(t *testing.T) {
	t.Helper()
	x.create(t)
	x.eventually(t, x.isReady)
	x.eventually(t, x.isListed)
	x.settle(t, &corev1.Service{})
	x.eventually(t, x.isReady)
	require.Zero(t, x.restart(t, cluster.NoEvents))
	for _, name := range names() {
		require.NoError(t, x.admin.Delete(t.Context(), x.hello(name)))
	}
	x.eventually(t, x.isGone)
}

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// checkDefinition requires that the project has the same kind as examples/hello.
func checkDefinition(t *testing.T, r *walkthrough.Reader) {
	t.Helper()
	root, err := places.Repository()
	require.NoError(t, err)
	const path = "config/crd/bases/hello.example.com_hellos.yaml"
	schemas := make([]map[string]any, 2)
	for i, folder := range []string{filepath.Join(root, "examples", "hello"), r.Dir()} {
		text, err := os.ReadFile(filepath.Join(folder, path))
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(text, &schemas[i]))
		delete(schemas[i], "metadata") // with the version of controller-gen
	}
	require.Empty(t, cmp.Diff(schemas[0], schemas[1]))
}

// comparePage compares the tables of the page with the rows, or writes them into the page.
func comparePage(t *testing.T, text string, chapters []chapter, rows map[int][]row) {
	t.Helper()
	for step, measured := range rows {
		table := chapters[step-1].table
		lines := strings.SplitAfter(table, "\n")
		require.Greater(t, len(lines), 2, chapters[step-1].title)
		updated := lines[0] + lines[1]
		for _, r := range measured {
			updated += string(r)
		}
		text = strings.Replace(text, table, updated, 1)
	}
	require.NoError(t, page.CompareOrUpdate(t.Context(), "tutorial", text))
}
