package bookstore_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/bookstore/templates"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/suites/e2e/suite"
)

// templateDir is one that --templates names, which overrides nothing at first.
type templateDir struct{ suite.Folder }

func newTemplateDir(t *testing.T) templateDir {
	t.Helper()
	return templateDir{suite.NewFolder(t, templates.Files)}
}

// newFixture is one with an operator that takes templates from the folder, and looks after
// nobody else.
func (d templateDir) newFixture(t *testing.T, mutate ...func(*v1alpha1.BookStore)) fixture {
	t.Helper()
	f := d.newEmptyFixture(t)
	f.create(t, mutate...)
	f.settle(t)
	return f
}

func (d templateDir) newEmptyFixture(t *testing.T) fixture {
	t.Helper()
	f := fixture{namespace: shared.Namespace(t), name: "shop"}
	f.operator = d.start(t, f)
	return f
}

func (d templateDir) start(t *testing.T, f fixture) *operator.Process {
	t.Helper()
	return startWith(t, installed(t), "--templates", d.Path, "--watch-namespace", f.namespace)
}

// breakDatabase writes a manifest that is wrong in line 9.
func (d templateDir) breakDatabase(t *testing.T) {
	t.Helper()
	d.Override(t, databaseFile, "serviceName:", "servicename:")
}

const (
	databaseFile   = "database.yaml"
	brokenDatabase = "database.yaml:9: spec.servicename: is not a field of this kind"
	// otherDatabase gives the StatefulSet, its Service and its labels another name.
	otherDatabase    = `{{define "database"}}{{.Name}}-db{{end}}`
	databaseLabels   = `{{template "database-labels" .}}`
	databaseSelector = `{{template "database-selector" .}}`
	defaultApp       = `{{define "app"}}{{.Name}}-app{{end}}`
)

// warnings are the notes of the events that warn for the reason.
func (f fixture) warnings(t *testing.T, reason string) []string {
	t.Helper()
	return tests.Warnings(t, f.namespace, f.name, reason)
}

// state returns the BookStore's objects by kind and name: the identity and the spec of each,
// without fields that change by themselves.
func (f fixture) state(t *testing.T) map[string]string {
	t.Helper()
	state := map[string]string{}
	note := func(kind string, obj client.Object, more string) {
		state[kind+" "+obj.GetName()] = string(obj.GetUID()) + " " + more
	}
	for _, list := range []client.ObjectList{
		&appsv1.StatefulSetList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{}, &corev1.PersistentVolumeClaimList{}, &corev1.PodList{},
	} {
		require.NoError(t, admin(t).List(t.Context(), list, client.InNamespace(f.namespace)))
		switch list := list.(type) {
		case *appsv1.StatefulSetList:
			for i := range list.Items {
				note("StatefulSet", &list.Items[i], list.Items[i].ResourceVersion)
			}
		case *appsv1.DeploymentList:
			for i := range list.Items {
				note("Deployment", &list.Items[i], list.Items[i].ResourceVersion)
			}
		case *corev1.ServiceList:
			for i := range list.Items {
				note("Service", &list.Items[i], list.Items[i].ResourceVersion)
			}
		case *corev1.PersistentVolumeClaimList:
			for i := range list.Items {
				note("claim", &list.Items[i], asks(&list.Items[i]))
			}
		case *corev1.PodList:
			for i := range list.Items {
				note("pod", &list.Items[i], "")
			}
		}
	}
	return state
}

// TestTemplateLabels adds labels while the operator runs: each takes one write.
func TestTemplateLabels(t *testing.T) {
	longform.Only(t)
	d := newTemplateDir(t)
	f := d.newFixture(t)
	mark, before := shared.Mark(), f.uids(t)
	for file, labelled := range map[string]client.Object{
		"app-service.yaml": f.service(t, "shop-app"), databaseFile: f.set(t),
	} {
		d.Override(t, file, "metadata:\n  name", "metadata:\n  annotations: {example.org/team: blue}\n  name")
		eventually(t, func(ctx context.Context) error {
			require.NoError(t, admin(t).Get(ctx, client.ObjectKeyFromObject(labelled), labelled))
			return expect(labelled.GetAnnotations()["example.org/team"] == "blue", "%v", labelled.GetAnnotations())
		})
	}
	f.settle(t)
	require.Equal(t, map[string]int{"patch services": 1, "patch statefulsets": 1}, f.requests(t, mark))
	require.Empty(t, cmp.Diff(before, f.uids(t)))
}

// TestBrokenTemplate breaks the database's manifest while the operator runs, and fixes it: changes
// requested meanwhile are made then.
func TestBrokenTemplate(t *testing.T) {
	longform.Only(t)
	d := newTemplateDir(t)
	f := d.newFixture(t)
	before := f.state(t)
	d.breakDatabase(t)
	ready := f.waitForReason(t, v1alpha1.ReadyCondition, "InvalidTemplate")
	require.Equal(t, brokenDatabase, ready.Message)
	eventually(t, func(context.Context) error {
		warnings := f.warnings(t, "InvalidTemplate")
		return expect(slices.Equal(warnings, []string{brokenDatabase}), "%v", warnings)
	})

	mark := shared.Mark()
	f.change(t, `{"bookDB":{"dbSize":"3Gi"},"bookApp":{"replicas":1}}`)
	f.waitForReason(t, v1alpha1.ReadyCondition, "InvalidTemplate")
	f.reconcile(t)
	require.Empty(t, f.requests(t, mark))
	require.Empty(t, cmp.Diff(before, f.state(t)))
	require.Len(t, f.warnings(t, "InvalidTemplate"), 1)

	d.Remove(t, databaseFile)
	f.settle(t)
	require.Equal(t, "3Gi", template(f.set(t)))
}

// TestRemovalWithBrokenTemplates deletes BookStores while no template can be read, one of them
// while its set is being recreated.
func TestRemovalWithBrokenTemplates(t *testing.T) {
	for name, midst := range map[string]bool{"with a set": false, "without a set": true} {
		for policy, retain := range map[string]bool{"claims stay": true, "claims go": false} {
			t.Run(name+", "+policy, func(t *testing.T) {
				if midst == retain {
					longform.Only(t)
				}
				testRemovalWithBrokenTemplates(t, midst, retain)
			})
		}
	}
}

func testRemovalWithBrokenTemplates(t *testing.T, midst, retain bool) {
	d := newTemplateDir(t)
	f := d.newFixture(t, retaining(retain))
	d.breakDatabase(t)
	f.waitForReason(t, v1alpha1.ReadyCondition, "InvalidTemplate")
	if midst {
		set := f.set(t)
		require.NoError(t, admin(t).Delete(t.Context(), set, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
		f.waitUntilGone(t, set.Name, &appsv1.StatefulSet{})
	}
	f.delete(t)
	f.areGone(t)
	for ordinal := range 2 {
		f.waitUntilGone(t, f.podName(ordinal), &corev1.Pod{})
		if retain {
			require.Nil(t, f.claim(t, ordinal).DeletionTimestamp)
		} else {
			f.waitUntilGone(t, f.claimName(ordinal), &corev1.PersistentVolumeClaim{})
		}
	}
}

// TestRenamedApp gives the app's Deployment and Service another name: the old ones go.
func TestRenamedApp(t *testing.T) {
	d := newTemplateDir(t)
	f := d.newFixture(t)
	before := f.uids(t)
	d.Write(t, "names.tpl", `{{define "database"}}{{.Name}}-mongodb{{end}}{{define "app"}}{{.Name}}-front{{end}}`)
	f.waitUntilGone(t, "shop-app", &appsv1.Deployment{})
	f.waitUntilGone(t, "shop-app", &corev1.Service{})
	eventually(t, func(ctx context.Context) error {
		if err := operator.RolledOut(ctx, admin(t), client.ObjectKey{Namespace: f.namespace, Name: "shop-front"}); err != nil {
			return err
		}
		return isTrue(f.store(t), v1alpha1.ReadyCondition)
	})
	require.NotEmpty(t, f.service(t, "shop-front").Spec.ClusterIP)
	require.Empty(t, cmp.Diff(before, f.uids(t)))
}

// TestRenamedDatabase has templates that would make the database another one. Nothing is
// written, to the app neither, whose host name would be one that is not there.
func TestRenamedDatabase(t *testing.T) {
	for name, rename := range map[string]struct {
		by   func(*testing.T, templateDir)
		says string
	}{
		"all": {
			by:   func(t *testing.T, d templateDir) { d.Write(t, "names.tpl", otherDatabase+defaultApp) },
			says: `StatefulSet from "shop-mongodb" to "shop-db", its Service from "shop-mongodb" to "shop-db":`,
		},
		"the set": {
			by: func(t *testing.T, d templateDir) {
				d.Override(t, databaseFile, "metadata:\n  name: {{template", "metadata:\n  name: x-{{template")
			},
			says: `the templates rename StatefulSet from "shop-mongodb" to "x-shop-mongodb":`,
		},
		"the Service": {
			by: func(t *testing.T, d templateDir) {
				d.Override(t, databaseFile, "serviceName: ", "serviceName: x-")
				d.Override(t, "database-service.yaml", "  name: {{", "  name: x-{{")
			},
			says: `the templates rename its Service from "shop-mongodb" to "x-shop-mongodb":`,
		},
		"the claim template": {
			by:   func(t *testing.T, d templateDir) { d.Override(t, databaseFile, "name: mongodb-pvc", "name: data") },
			says: `the templates rename its claim template from "mongodb-pvc" to "data":`,
		},
		"the labels": {
			by: func(t *testing.T, d templateDir) {
				d.Override(t, databaseFile, databaseLabels, "db: {{quote .Name}}", databaseSelector, "db: {{quote .Name}}")
			},
			says: "the templates rename the labels of its pods and volumes:",
		},
	} {
		for policy, retain := range map[string]bool{"retain": true, "no retain": false} {
			t.Run(name+", "+policy, func(t *testing.T) {
				if retain == (len(name)%2 == 0) {
					longform.Only(t)
				}
				d := newTemplateDir(t)
				f := d.newFixture(t, retaining(retain))
				f.eventuallyOwned(t, f.set(t), retain)
				testRenamedDatabase(t, d, f, rename.by, rename.says)
			})
		}
	}
}

func testRenamedDatabase(t *testing.T, d templateDir, f fixture, rename func(*testing.T, templateDir), says string) {
	before, mark := f.state(t), shared.Mark()
	rename(t, d)
	require.Contains(t, f.waitForReason(t, v1alpha1.ReadyCondition, "RenameRefused").Message, says)
	f.change(t, `{"bookDB":{"dbSize":"3Gi"},"bookApp":{"replicas":1}}`)
	f.waitForReason(t, v1alpha1.ReadyCondition, "RenameRefused")
	f.reconcile(t)
	eventually(t, func(context.Context) error {
		return expect(len(f.warnings(t, "RenameRefused")) == 1, "%v", f.warnings(t, "RenameRefused"))
	})
	requests := f.requests(t, mark)
	delete(requests, "create events")
	require.Empty(t, requests)
	require.Empty(t, cmp.Diff(before, f.state(t)))

	// The one who starts next does not know better.
	require.NoError(t, f.operator.Stop())
	set := f.set(t)
	f.operator = d.start(t, f)
	f.reconcile(t)
	require.Empty(t, cmp.Diff(before, f.state(t)))
	d.Clear(t)
	f.settle(t)
	require.Equal(t, set.Name, f.set(t).Name)
	require.Equal(t, "3Gi", template(f.set(t)))
}

// TestRenamedInTheMidst renames the database while its set is deleted and not yet recreated, and no
// operator runs: pods and claims wait for their names.
func TestRenamedInTheMidst(t *testing.T) {
	longform.Only(t)
	for policy, retain := range map[string]bool{"retain": true, "no retain": false} {
		t.Run(policy, func(t *testing.T) {
			d := newTemplateDir(t)
			f := d.newFixture(t, retaining(retain))
			before := f.uids(t)
			require.NoError(t, f.operator.Stop())
			f.patch(t, f.set(t), `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"}}}`)
			f.eventuallyOwned(t, f.set(t), true)
			require.NoError(t, admin(t).Delete(t.Context(), f.set(t), client.PropagationPolicy(metav1.DeletePropagationOrphan)))
			f.waitUntilGone(t, "shop-mongodb", &appsv1.StatefulSet{})
			d.Write(t, "names.tpl", otherDatabase+defaultApp)

			f.operator = d.start(t, f)
			f.waitForReason(t, v1alpha1.ReadyCondition, "RenameRefused")
			f.isAbsent(t, "shop-db", &appsv1.StatefulSet{})
			require.Empty(t, cmp.Diff(before, f.uids(t)))
			d.Remove(t, "names.tpl")
			f.settle(t)
			require.Empty(t, cmp.Diff(before, f.uids(t)), "the same pods, on the same claims")
			require.True(t, metav1.IsControlledBy(f.pod(t, 0), f.set(t)))
		})
	}
}

// TestOtherNamesFromTheStart has a database with names and labels that the operator does not know:
// it can be resized and deleted as any other.
func TestOtherNamesFromTheStart(t *testing.T) {
	for policy, retain := range map[string]bool{"retain": true, "no retain": false} {
		t.Run(policy, func(t *testing.T) {
			if !retain {
				longform.Only(t)
			}
			d := newTemplateDir(t)
			d.Write(t, "names.tpl", otherDatabase+defaultApp)
			const label = "example.org/db: {{quote .Name}}"
			d.Override(t, databaseFile, databaseLabels, label, databaseSelector, label, "name: mongodb-pvc", "name: data")
			d.Override(t, "database-service.yaml", databaseLabels, label, databaseSelector, label)
			f := d.newFixture(t, retaining(retain))
			require.Equal(t, &v1alpha1.Database{
				StatefulSet: "shop-db", Service: "shop-db", ClaimTemplate: "data", Selector: map[string]string{"example.org/db": "shop"},
			}, f.store(t).Status.Database)
			env := f.app(t).Spec.Template.Spec.Containers[0].Env
			require.Equal(t, corev1.EnvVar{Name: "DB_HOST", Value: "shop-db-0.shop-db"}, env[0])

			pod, claim := get(t, f, "shop-db-0", &corev1.Pod{}), get(t, f, "data-shop-db-0", &corev1.PersistentVolumeClaim{})
			f.grow(t, "3Gi")
			f.settle(t)
			require.Equal(t, "3Gi", has(get(t, f, "data-shop-db-1", &corev1.PersistentVolumeClaim{})))
			require.Equal(t, pod.UID, get(t, f, "shop-db-0", &corev1.Pod{}).UID)

			f.delete(t)
			f.waitUntilGone(t, f.name, f.named())
			f.waitUntilGone(t, "shop-db", &appsv1.StatefulSet{})
			f.waitUntilGone(t, "shop-db-0", &corev1.Pod{})
			if retain {
				require.Equal(t, claim.UID, get(t, f, claim.Name, &corev1.PersistentVolumeClaim{}).UID)
			} else {
				f.waitUntilGone(t, claim.Name, &corev1.PersistentVolumeClaim{})
			}
		})
	}
}

// TestChangedClaimTemplate changes an immutable field of the set that does not identify its
// volumes: the set is recreated without its pods and keeps its claims.
func TestChangedClaimTemplate(t *testing.T) {
	for policy, retain := range map[string]bool{"retain": true, "no retain": false} {
		t.Run(policy, func(t *testing.T) {
			d := newTemplateDir(t)
			f := d.newFixture(t, retaining(retain))
			f.eventuallyOwned(t, f.set(t), retain)
			before, old := f.uids(t), f.set(t)
			watcher, err := admin(t).Watch(t.Context(), &appsv1.StatefulSetList{}, client.InNamespace(f.namespace))
			require.NoError(t, err)
			t.Cleanup(watcher.Stop)
			d.Override(t, databaseFile, "    spec:\n      accessModes", "      labels: {example.org/team: blue}\n    spec:\n      accessModes",
				"spec:\n  serviceName", "spec:\n  podManagementPolicy: Parallel\n  serviceName")
			eventually(t, func(ctx context.Context) error {
				set := &appsv1.StatefulSet{}
				if err := admin(t).Get(ctx, client.ObjectKeyFromObject(old), set); err != nil {
					return err
				}
				return expect(set.Spec.VolumeClaimTemplates[0].Labels["example.org/team"] == "blue", "%+v", set.Spec.VolumeClaimTemplates[0])
			})
			f.settle(t)
			require.Equal(t, appsv1.RetainPersistentVolumeClaimRetentionPolicyType, lastPolicy(t, watcher),
				"a set that is to own claims is not deleted while they are to stay")
			require.Equal(t, appsv1.ParallelPodManagement, f.set(t).Spec.PodManagementPolicy)
			require.NotEqual(t, old.UID, f.set(t).UID)
			require.Empty(t, cmp.Diff(before, f.uids(t)))
			f.eventuallyOwned(t, f.set(t), retain)
		})
	}
}

// lastPolicy returns the last claim policy of the first deleted set.
func lastPolicy(t *testing.T, watcher watch.Interface) appsv1.PersistentVolumeClaimRetentionPolicyType {
	t.Helper()
	for event := range watcher.ResultChan() {
		set, ok := event.Object.(*appsv1.StatefulSet)
		require.True(t, ok, "%+v", event)
		if event.Type == watch.Deleted {
			return set.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted
		}
	}
	require.Fail(t, "no set was deleted")
	return ""
}

// TestAppSelector changes an immutable field of the app's Deployment, which does not affect the
// database.
func TestAppSelector(t *testing.T) {
	longform.Only(t)
	d := newTemplateDir(t)
	f := d.newFixture(t, retaining(false))
	f.eventuallyOwned(t, f.set(t), false)
	before := f.state(t)
	d.Override(t, "app.yaml", `{{template "app-labels" .}}`, "of: {{quote .Name}}", `{{template "app-selector" .}}`, "of: {{quote .Name}}")
	f.waitForReason(t, v1alpha1.AppReadyCondition, "Immutable")
	f.reconcile(t)
	require.Empty(t, cmp.Diff(before, f.state(t)))
	require.NoError(t, isTrue(f.store(t), v1alpha1.DatabaseReadyCondition))
	d.Remove(t, "app.yaml")
	f.settle(t)
	require.Empty(t, cmp.Diff(before, f.state(t)))
}

// TestNamesOfTemplates has templates with longer names than the default ones.
func TestNamesOfTemplates(t *testing.T) {
	longform.Only(t)
	d := newTemplateDir(t)
	d.Write(t, "names.tpl", `{{define "database"}}{{.Name}}-the-database{{end}}`+defaultApp)
	f := d.newEmptyFixture(t)
	f.name = strings.Repeat("a", 44)
	f.create(t)
	require.Contains(t, f.waitForReason(t, v1alpha1.ReadyCondition, "InvalidName").Message, "leave room for 39")
	f.isAbsent(t, f.name+"-app", &corev1.Service{})
	d.Remove(t, "names.tpl")
	f.settle(t)
}
