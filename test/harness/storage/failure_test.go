package storage_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/storage"
)

const (
	infeasible = "2Gi/3Gi ControllerResizeInfeasible ControllerResizeError+Resizing"
	failing    = "2Gi/3Gi ControllerResizeInProgress ControllerResizeError+Resizing"
)

func TestExpansionThatFails(t *testing.T) {
	for _, test := range []struct {
		name    string
		failure storage.Failure
		states  []string // once it has failed
		after   []string // and once it does not any more
		message string   // of the condition ControllerResizeError
		event   string
	}{
		{
			name:    "finally, as it cannot be",
			failure: storage.Failure{Code: codes.OutOfRange, Message: "no room"},
			states:  []string{asked, resizing, infeasible},
			after:   []string{pendingAfterError, nodeAtWorkAfterError, grown},
			message: "failed to expand pvc with rpc error: code = OutOfRange desc = no room",
			event:   `resize volume "VOLUME" by resizer "storage.trueup.example" failed: rpc error: code = OutOfRange desc = no room`,
		},
		{
			name:    "finally, for another reason",
			failure: storage.Failure{Code: codes.Internal, Message: "broken"},
			states:  []string{asked, resizing, failing},
			after:   []string{pendingAfterError, nodeAtWorkAfterError, grown},
			message: "failed to expand pvc with rpc error: code = Internal desc = broken",
			event:   `resize volume "VOLUME" by resizer "storage.trueup.example" failed: rpc error: code = Internal desc = broken`,
		},
		{
			name:    "for a time",
			failure: storage.Failure{Code: codes.Unavailable, Message: "busy"},
			states:  []string{asked, resizing},
			after:   []string{pending, nodeAtWork, grown},
			event:   `resize volume "VOLUME" by resizer "storage.trueup.example" failed: rpc error: code = Unavailable desc = busy`,
		},
		{
			name:    "for lack of an answer",
			failure: storage.Failure{Hang: true},
			states:  []string{asked, resizing},
			after:   []string{pending, nodeAtWork, grown},
			event: `resize volume "VOLUME" by resizer "storage.trueup.example" failed: ` +
				`rpc error: code = DeadlineExceeded desc = context deadline exceeded`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			claim := f.mounted()
			test.failure.Volume = claim.Spec.VolumeName
			storage.Settings{Failures: []storage.Failure{test.failure}}.Use(t, shared.Dir())
			growth := f.grow(claim, "3Gi")
			f.awaitEvent(claim, "Warning VolumeResizeFailed "+strings.ReplaceAll(test.event, "VOLUME", claim.Spec.VolumeName))
			require.Empty(t, cmp.Diff(test.states, growth.until(test.states[len(test.states)-1])))
			require.Equal(t, test.message, messageOf(growth.last, corev1.PersistentVolumeClaimControllerResizeError))

			require.NoError(t, storage.Settings{}.Write(shared.Dir()))
			require.Empty(t, cmp.Diff(append(test.states, test.after...), growth.until(grown)))
		})
	}
}

const (
	pendingAfterError    = "2Gi/3Gi NodeResizePending ControllerResizeError+FileSystemResizePending+Resizing"
	nodeAtWorkAfterError = "2Gi/3Gi NodeResizeInProgress ControllerResizeError+FileSystemResizePending+Resizing"
)

// TestAsksForLessAfterAFinalFailure asks for more before, which is refused as well.
func TestAsksForLessAfterAFinalFailure(t *testing.T) {
	f := newFixture(t)
	claim := f.mounted()
	tooMuch := storage.Failure{
		Volume: claim.Spec.VolumeName, Above: resource.MustParse("3Gi"), Code: codes.OutOfRange, Message: "no room",
	}
	storage.Settings{Failures: []storage.Failure{tooMuch}}.Use(t, shared.Dir())
	growth := f.grow(claim, "5Gi")
	growth.until("2Gi/5Gi ControllerResizeInfeasible ControllerResizeError+Resizing")
	failed := `Warning VolumeResizeFailed resize volume "` + claim.Spec.VolumeName + `" by resizer "storage.trueup.example" failed: ` +
		"rpc error: code = OutOfRange desc = no room"
	f.awaitEvents(claim, failed, 1)
	more := f.grow(claim, "6Gi")
	require.Empty(t, cmp.Diff([]string{
		"2Gi/5Gi ControllerResizeInfeasible ControllerResizeError+Resizing",
		"2Gi/6Gi ControllerResizeInProgress Resizing",
		"2Gi/6Gi ControllerResizeInfeasible ControllerResizeError+Resizing",
	}, more.until("2Gi/6Gi ControllerResizeInfeasible ControllerResizeError+Resizing")))
	f.awaitEvents(claim, failed, 2)
	less := f.grow(claim, "3Gi")
	require.Empty(t, cmp.Diff([]string{
		"2Gi/6Gi ControllerResizeInfeasible ControllerResizeError+Resizing",
		resizing, pending, nodeAtWork, grown,
	}, less.until(grown)))
}

func TestVolumeInUseIsLeftAloneUntilItIsNot(t *testing.T) {
	f := newFixture(t)
	claim := f.mounted()
	inUse := storage.Failure{Volume: claim.Spec.VolumeName, Code: codes.FailedPrecondition, Message: "in use"}
	storage.Settings{Failures: []storage.Failure{inUse}}.Use(t, shared.Dir())
	growth := f.grow(claim, "3Gi")
	growth.until(failing)
	require.NoError(t, storage.Settings{}.Write(shared.Dir()))
	f.awaitEvent(claim, "Warning VolumeResizeFailed Unable to expand "+f.namespace+"/data because CSI driver storage.trueup.example "+
		"only supports offline expansion and volume is currently in-use")

	f.stopPod("data")
	growth.until(pendingAfterError)
	f.startPod("data")
	require.Empty(t, cmp.Diff([]string{
		asked, resizing, failing, pendingAfterError, nodeAtWorkAfterError, grown,
	}, growth.until(grown)))
}

// TestAsksForMoreAfterAFailureThatIsNotFinal: the resizer continues with the size that it has begun
// with.
func TestAsksForMoreAfterAFailureThatIsNotFinal(t *testing.T) {
	f := newFixture(t)
	claim := f.mounted()
	busy := storage.Failure{Volume: claim.Spec.VolumeName, Code: codes.Unavailable, Message: "busy"}
	storage.Settings{Failures: []storage.Failure{busy}}.Use(t, shared.Dir())
	f.grow(claim, "3Gi").until(resizing)
	f.awaitEvent(claim, `Warning VolumeResizeFailed resize volume "`+claim.Spec.VolumeName+`" by resizer "storage.trueup.example" failed: `+
		"rpc error: code = Unavailable desc = busy")
	more := f.grow(claim, "4Gi")
	require.NoError(t, storage.Settings{}.Write(shared.Dir()))
	require.Empty(t, cmp.Diff([]string{
		resizing, pending, nodeAtWork, grown,
		"3Gi/4Gi ControllerResizeInProgress Resizing",
		"3Gi/4Gi NodeResizePending FileSystemResizePending+Resizing",
		"3Gi/4Gi NodeResizeInProgress FileSystemResizePending+Resizing",
		"4Gi/4Gi",
	}, more.until("4Gi/4Gi")))
}

func TestAsksForMoreWhileTheNodeIsPending(t *testing.T) {
	f := newFixture(t)
	claim := f.bound("data")
	f.grow(claim, "3Gi").until(pending)
	more := f.grow(claim, "4Gi")
	f.startPod("data")
	require.Empty(t, cmp.Diff([]string{
		pending, nodeAtWork, grown,
		"3Gi/4Gi ControllerResizeInProgress Resizing",
		"3Gi/4Gi NodeResizePending FileSystemResizePending+Resizing",
		"3Gi/4Gi NodeResizeInProgress FileSystemResizePending+Resizing",
		"4Gi/4Gi",
	}, more.until("4Gi/4Gi")))
}

// awaitEvent waits for an event about the claim, given by type, reason and message.
func (f *fixture) awaitEvent(claim *corev1.PersistentVolumeClaim, text string) {
	f.t.Helper()
	f.awaitEvents(claim, text, 1)
}

// awaitEvents waits until an event about the claim was recorded so often.
func (f *fixture) awaitEvents(claim *corev1.PersistentVolumeClaim, text string, times int32) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		events := &corev1.EventList{}
		return f.List(f.ctx, events, client.InNamespace(claim.Namespace)) == nil &&
			slices.ContainsFunc(events.Items, func(event corev1.Event) bool {
				return event.InvolvedObject.UID == claim.UID && event.Type+" "+event.Reason+" "+event.Message == text && event.Count >= times
			})
	}, limit, tick, "%s", text)
}

func messageOf(claim *corev1.PersistentVolumeClaim, kind corev1.PersistentVolumeClaimConditionType) string {
	for _, condition := range claim.Status.Conditions {
		if condition.Type == kind {
			return condition.Message
		}
	}
	return ""
}
