package bookstore_test

import (
	"context"
	"os"
	"slices"
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
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/suites/e2e/suite"
)

// folder is one that --templates names, which is empty at first.
type folder struct{ suite.Folder }

func newFolder(t *testing.T) folder {
	t.Helper()
	return folder{suite.Folder{Path: t.TempDir(), Defaults: templates.Files}}
}

// newScene is one with an operator that takes templates from the folder, and looks after
// nobody else.
func (f folder) newScene(t *testing.T, mutate ...func(*v1alpha1.BookStore)) scene {
	t.Helper()
	s := f.emptyScene(t)
	s.create(t, mutate...)
	s.settle(t)
	return s
}

func (f folder) emptyScene(t *testing.T) scene {
	t.Helper()
	s := scene{namespace: shared.Namespace(t), name: "shop"}
	s.operator = f.start(t, s)
	return s
}

func (f folder) start(t *testing.T, s scene) *operator.Process {
	t.Helper()
	return startWith(t, installed(t), "--templates", f.Path, "--watch-namespace", s.namespace)
}

// breakDatabase writes a manifest that is wrong in line 10.
func (f folder) breakDatabase(t *testing.T) {
	t.Helper()
	f.Override(t, databaseFile, "serviceName:", "servicename:")
}

const (
	databaseFile   = "database.yaml"
	brokenDatabase = "database.yaml:10: spec.servicename: is not a field of this kind"
	// otherDatabase gives the StatefulSet, its Service and its labels another name.
	otherDatabase = `{{define "database"}}{{.Name}}-db{{end}}`
	defaultApp    = `{{define "app"}}{{.Name}}-app{{end}}`
)

// warnings are the notes of the events that warn for the reason.
func (s scene) warnings(t *testing.T, reason string) []string {
	t.Helper()
	return tests.Warnings(t, s.namespace, s.name, reason)
}

// state returns the BookStore's objects by kind and name: the identity and the spec of each,
// without fields that change by themselves.
func (s scene) state(t *testing.T) map[string]string {
	t.Helper()
	state := map[string]string{}
	note := func(kind string, obj client.Object, more string) {
		state[kind+" "+obj.GetName()] = string(obj.GetUID()) + " " + more
	}
	for _, list := range []client.ObjectList{
		&appsv1.StatefulSetList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{}, &corev1.PersistentVolumeClaimList{}, &corev1.PodList{},
	} {
		require.NoError(t, human(t).List(t.Context(), list, client.InNamespace(s.namespace)))
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
	f := newFolder(t)
	s := f.newScene(t)
	mark, before := shared.Mark(), s.uids(t)
	for file, labelled := range map[string]client.Object{
		"app-service.yaml": s.service(t, "shop-app"), databaseFile: s.set(t),
	} {
		f.Override(t, file, "metadata:\n  name", "metadata:\n  annotations: {example.org/team: blue}\n  name")
		eventually(t, func(ctx context.Context) error {
			require.NoError(t, human(t).Get(ctx, client.ObjectKeyFromObject(labelled), labelled))
			return expect(labelled.GetAnnotations()["example.org/team"] == "blue", "%v", labelled.GetAnnotations())
		})
	}
	s.settle(t)
	require.Equal(t, map[string]int{"patch services": 1, "patch statefulsets": 1}, s.requests(t, mark))
	require.Empty(t, cmp.Diff(before, s.uids(t)))
}

// TestBrokenTemplate breaks the database's manifest while the operator runs, and fixes it: changes
// requested meanwhile are made then.
func TestBrokenTemplate(t *testing.T) {
	f := newFolder(t)
	s := f.newScene(t)
	before := s.state(t)
	f.breakDatabase(t)
	ready := s.waitForReason(t, v1alpha1.ReadyCondition, "InvalidTemplate")
	require.Equal(t, brokenDatabase, ready.Message)
	eventually(t, func(context.Context) error {
		warnings := s.warnings(t, "InvalidTemplate")
		return expect(slices.Equal(warnings, []string{brokenDatabase}), "%v", warnings)
	})

	mark := shared.Mark()
	s.change(t, `{"bookDB":{"dbSize":"3Gi"},"bookApp":{"replicas":1}}`)
	s.waitForReason(t, v1alpha1.ReadyCondition, "InvalidTemplate")
	s.reconcile(t)
	require.Empty(t, s.requests(t, mark))
	require.Empty(t, cmp.Diff(before, s.state(t)))
	require.Len(t, s.warnings(t, "InvalidTemplate"), 1)

	f.Remove(t, databaseFile)
	s.settle(t)
	require.Equal(t, "3Gi", template(s.set(t)))
}

// TestRemovalWithBrokenTemplates deletes BookStores while no template can be read, one of them
// while its set is being recreated.
func TestRemovalWithBrokenTemplates(t *testing.T) {
	for name, midst := range map[string]bool{"with a set": false, "without a set": true} {
		for policy, retain := range map[string]bool{"claims stay": true, "claims go": false} {
			t.Run(name+", "+policy, func(t *testing.T) { testRemovalWithBrokenTemplates(t, midst, retain) })
		}
	}
}

func testRemovalWithBrokenTemplates(t *testing.T, midst, retain bool) {
	f := newFolder(t)
	s := f.newScene(t, retaining(retain))
	f.breakDatabase(t)
	s.waitForReason(t, v1alpha1.ReadyCondition, "InvalidTemplate")
	if midst {
		set := s.set(t)
		require.NoError(t, human(t).Delete(t.Context(), set, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
		s.waitUntilGone(t, set.Name, &appsv1.StatefulSet{})
	}
	s.delete(t)
	s.areGone(t)
	for ordinal := range 2 {
		s.waitUntilGone(t, s.podName(ordinal), &corev1.Pod{})
		if retain {
			require.Nil(t, s.claim(t, ordinal).DeletionTimestamp)
		} else {
			s.waitUntilGone(t, s.claimName(ordinal), &corev1.PersistentVolumeClaim{})
		}
	}
}

// TestRenamedApp gives the app's Deployment and Service another name: the old ones go.
func TestRenamedApp(t *testing.T) {
	f := newFolder(t)
	s := f.newScene(t)
	before := s.uids(t)
	f.Write(t, "names.tpl", `{{define "database"}}{{.Name}}-mongodb{{end}}{{define "app"}}{{.Name}}-front{{end}}`)
	s.waitUntilGone(t, "shop-app", &appsv1.Deployment{})
	s.waitUntilGone(t, "shop-app", &corev1.Service{})
	eventually(t, func(ctx context.Context) error {
		if err := operator.RolledOut(ctx, human(t), client.ObjectKey{Namespace: s.namespace, Name: "shop-front"}); err != nil {
			return err
		}
		return isTrue(s.store(t), v1alpha1.ReadyCondition)
	})
	require.NotEmpty(t, s.service(t, "shop-front").Spec.ClusterIP)
	require.Empty(t, cmp.Diff(before, s.uids(t)))
}

// TestRenamedDatabase has templates that would make the database another one. Nothing is
// written, to the app neither, whose host name would be one that is not there.
func TestRenamedDatabase(t *testing.T) {
	for name, rename := range map[string]struct {
		by   func(*testing.T, folder)
		says string
	}{
		"all": {
			by:   func(t *testing.T, f folder) { f.Write(t, "names.tpl", otherDatabase+defaultApp) },
			says: `StatefulSet from "shop-mongodb" to "shop-db", its Service from "shop-mongodb" to "shop-db", the labels`,
		},
		"the set": {
			by: func(t *testing.T, f folder) {
				f.Override(t, databaseFile, "metadata:\n  name: {{template", "metadata:\n  name: x-{{template")
			},
			says: `the templates rename StatefulSet from "shop-mongodb" to "x-shop-mongodb":`,
		},
		"the Service": {
			by: func(t *testing.T, f folder) {
				f.Override(t, databaseFile, "serviceName: ", "serviceName: x-")
				f.Override(t, "database-service.yaml", "  name: {{", "  name: x-{{")
			},
			says: `the templates rename its Service from "shop-mongodb" to "x-shop-mongodb":`,
		},
		"the claim template": {
			by:   func(t *testing.T, f folder) { f.Override(t, databaseFile, "name: mongodb-pvc", "name: data") },
			says: `the templates rename its claim template from "mongodb-pvc" to "data":`,
		},
		"the labels": {
			by: func(t *testing.T, f folder) {
				f.Override(t, databaseFile, `app: {{template "database" .}}`, "db: {{quote .Name}}")
			},
			says: "the templates rename the labels of its pods and volumes:",
		},
	} {
		for policy, retain := range map[string]bool{"retain": true, "no retain": false} {
			t.Run(name+", "+policy, func(t *testing.T) {
				f := newFolder(t)
				s := f.newScene(t, retaining(retain))
				s.eventuallyOwned(t, s.set(t), retain)
				testRenamedDatabase(t, f, s, rename.by, rename.says)
			})
		}
	}
}

func testRenamedDatabase(t *testing.T, f folder, s scene, rename func(*testing.T, folder), says string) {
	before, mark := s.state(t), shared.Mark()
	rename(t, f)
	require.Contains(t, s.waitForReason(t, v1alpha1.ReadyCondition, "RenameRefused").Message, says)
	s.change(t, `{"bookDB":{"dbSize":"3Gi"},"bookApp":{"replicas":1}}`)
	s.waitForReason(t, v1alpha1.ReadyCondition, "RenameRefused")
	s.reconcile(t)
	eventually(t, func(context.Context) error {
		return expect(len(s.warnings(t, "RenameRefused")) == 1, "%v", s.warnings(t, "RenameRefused"))
	})
	requests := s.requests(t, mark)
	delete(requests, "create events")
	require.Empty(t, requests)
	require.Empty(t, cmp.Diff(before, s.state(t)))

	// The one who starts next does not know better.
	require.NoError(t, s.operator.Stop())
	set := s.set(t)
	s.operator = f.start(t, s)
	s.reconcile(t)
	require.Empty(t, cmp.Diff(before, s.state(t)))
	s.empty(t, f)
	s.settle(t)
	require.Equal(t, set.Name, s.set(t).Name)
	require.Equal(t, "3Gi", template(s.set(t)))
}

// empty takes all files out of the folder.
func (s scene) empty(t *testing.T, f folder) {
	t.Helper()
	files, err := os.ReadDir(f.Path)
	require.NoError(t, err)
	for _, file := range files {
		f.Remove(t, file.Name())
	}
}

// TestRenamedInTheMidst renames the database while its set is deleted and not yet recreated, and no
// operator runs: pods and claims wait for their names.
func TestRenamedInTheMidst(t *testing.T) {
	for policy, retain := range map[string]bool{"retain": true, "no retain": false} {
		t.Run(policy, func(t *testing.T) {
			f := newFolder(t)
			s := f.newScene(t, retaining(retain))
			before := s.uids(t)
			require.NoError(t, s.operator.Stop())
			s.patch(t, s.set(t), `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"}}}`)
			s.eventuallyOwned(t, s.set(t), true)
			require.NoError(t, human(t).Delete(t.Context(), s.set(t), client.PropagationPolicy(metav1.DeletePropagationOrphan)))
			s.waitUntilGone(t, "shop-mongodb", &appsv1.StatefulSet{})
			f.Write(t, "names.tpl", otherDatabase+defaultApp)

			s.operator = f.start(t, s)
			s.waitForReason(t, v1alpha1.ReadyCondition, "RenameRefused")
			s.isAbsent(t, "shop-db", &appsv1.StatefulSet{})
			require.Empty(t, cmp.Diff(before, s.uids(t)))
			f.Remove(t, "names.tpl")
			s.settle(t)
			require.Empty(t, cmp.Diff(before, s.uids(t)), "the same pods, on the same claims")
			require.True(t, metav1.IsControlledBy(s.pod(t, 0), s.set(t)))
		})
	}
}

// TestOtherNamesFromTheStart has a database with names and labels that the operator does not know:
// it can be resized and deleted as any other.
func TestOtherNamesFromTheStart(t *testing.T) {
	for policy, retain := range map[string]bool{"retain": true, "no retain": false} {
		t.Run(policy, func(t *testing.T) {
			f := newFolder(t)
			f.Write(t, "names.tpl", otherDatabase+defaultApp)
			f.Override(t, databaseFile, `app: {{template "database" .}}`, "example.org/db: {{quote .Name}}", "name: mongodb-pvc", "name: data")
			f.Override(t, "database-service.yaml", `app: {{template "database" .}}`, "example.org/db: {{quote .Name}}")
			s := f.newScene(t, retaining(retain))
			require.Equal(t, &v1alpha1.Database{
				StatefulSet: "shop-db", Service: "shop-db", ClaimTemplate: "data", Selector: map[string]string{"example.org/db": "shop"},
			}, s.store(t).Status.Database)
			env := s.app(t).Spec.Template.Spec.Containers[0].Env
			require.Equal(t, corev1.EnvVar{Name: "DB_HOST", Value: "shop-db-0.shop-db"}, env[0])

			pod, claim := get(t, s, "shop-db-0", &corev1.Pod{}), get(t, s, "data-shop-db-0", &corev1.PersistentVolumeClaim{})
			s.grow(t, "3Gi")
			s.settle(t)
			require.Equal(t, "3Gi", has(get(t, s, "data-shop-db-1", &corev1.PersistentVolumeClaim{})))
			require.Equal(t, pod.UID, get(t, s, "shop-db-0", &corev1.Pod{}).UID)

			s.delete(t)
			s.waitUntilGone(t, s.name, s.named())
			s.waitUntilGone(t, "shop-db", &appsv1.StatefulSet{})
			s.waitUntilGone(t, "shop-db-0", &corev1.Pod{})
			if retain {
				require.Equal(t, claim.UID, get(t, s, claim.Name, &corev1.PersistentVolumeClaim{}).UID)
			} else {
				s.waitUntilGone(t, claim.Name, &corev1.PersistentVolumeClaim{})
			}
		})
	}
}

// TestChangedClaimTemplate changes an immutable field of the set that does not identify its
// volumes: the set is recreated without its pods and keeps its claims.
func TestChangedClaimTemplate(t *testing.T) {
	for policy, retain := range map[string]bool{"retain": true, "no retain": false} {
		t.Run(policy, func(t *testing.T) {
			f := newFolder(t)
			s := f.newScene(t, retaining(retain))
			s.eventuallyOwned(t, s.set(t), retain)
			before, old := s.uids(t), s.set(t)
			watcher, err := human(t).Watch(t.Context(), &appsv1.StatefulSetList{}, client.InNamespace(s.namespace))
			require.NoError(t, err)
			t.Cleanup(watcher.Stop)
			f.Override(t, databaseFile, "    spec:\n      accessModes", "      labels: {example.org/team: blue}\n    spec:\n      accessModes",
				"spec:\n  serviceName", "spec:\n  podManagementPolicy: Parallel\n  serviceName")
			eventually(t, func(ctx context.Context) error {
				set := &appsv1.StatefulSet{}
				if err := human(t).Get(ctx, client.ObjectKeyFromObject(old), set); err != nil {
					return err
				}
				return expect(set.Spec.VolumeClaimTemplates[0].Labels["example.org/team"] == "blue", "%+v", set.Spec.VolumeClaimTemplates[0])
			})
			s.settle(t)
			require.Equal(t, appsv1.RetainPersistentVolumeClaimRetentionPolicyType, lastPolicy(t, watcher),
				"a set that is to own claims is not deleted while they are to stay")
			require.Equal(t, appsv1.ParallelPodManagement, s.set(t).Spec.PodManagementPolicy)
			require.NotEqual(t, old.UID, s.set(t).UID)
			require.Empty(t, cmp.Diff(before, s.uids(t)))
			s.eventuallyOwned(t, s.set(t), retain)
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
	f := newFolder(t)
	s := f.newScene(t, retaining(false))
	s.eventuallyOwned(t, s.set(t), false)
	before := s.state(t)
	f.Override(t, "app.yaml", `app: {{template "app" .}}`, "of: {{quote .Name}}")
	s.waitForReason(t, v1alpha1.AppReadyCondition, "Immutable")
	s.reconcile(t)
	require.Empty(t, cmp.Diff(before, s.state(t)))
	require.NoError(t, isTrue(s.store(t), v1alpha1.DatabaseReadyCondition))
	f.Remove(t, "app.yaml")
	s.settle(t)
	require.Empty(t, cmp.Diff(before, s.state(t)))
}

// TestHostileBookStores has texts that would be something else in a template, were they not
// one value.
func TestHostileBookStores(t *testing.T) {
	s := newFolder(t).emptyScene(t)
	const hostile = "a\"b\n---\napiVersion: v1\nkind: ConfigMap # {{.Name}}"
	s.create(t, func(store *v1alpha1.BookStore) {
		store.Spec.BookApp.Repository, store.Spec.BookDB.Repository = hostile, hostile
	})
	eventually(t, func(ctx context.Context) error {
		app := &appsv1.Deployment{}
		if err := human(t).Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "shop-app"}, app); err != nil {
			return err
		}
		return expect(app.Spec.Template.Spec.Containers[0].Image == hostile+":latest", "%s", app.Spec.Template.Spec.Containers[0].Image)
	})
	require.Equal(t, hostile+":latest", s.set(t).Spec.Template.Spec.Containers[0].Image)
	var maps corev1.ConfigMapList
	require.NoError(t, human(t).List(t.Context(), &maps, client.InNamespace(s.namespace)))
	for i := range maps.Items {
		require.Equal(t, "kube-root-ca.crt", maps.Items[i].Name, "the cluster's own")
	}
}
