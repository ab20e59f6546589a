package cluster

import "strings"

// podStages adds to kwok's own stages. Some keep pods from becoming ready according to the tag of
// an image, and write the same status as kubelet, which is all that operators see of such failures.
func podStages() []string {
	return []string{
		deletedOnce,
		heldPod("pending", "Pending", "ContainerCreating", never),
		heldPod("missing", "Pending", "ImagePullBackOff", never),
		heldPod("crashing", "Running", "CrashLoopBackOff", crashed),
	}
}

func heldPod(tag, phase, reason, last string) string {
	return strings.NewReplacer("TAG", tag, "PHASE", phase, "REASON", reason, "LAST", last).Replace(heldPodStage)
}

// deletedOnce has kwok delete a terminating pod once. kwok deletes by name at each sign of
// termination, including its own deletion: a second deletion would hit the next pod of that name.
const deletedOnce = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-deleted-already
spec:
  weight: 1
  resourceRef:
    apiGroup: v1
    kind: Pod
  selector:
    matchExpressions:
    - key: '.metadata.deletionTimestamp'
      operator: Exists
    - key: '.metadata.deletionGracePeriodSeconds | tostring'
      operator: In
      values: ["0"]
  next: {}
`

const (
	never   = `restartCount: 0`
	crashed = `restartCount: 3
        lastState:
          terminated:
            exitCode: 1
            reason: Error`
)

// heldPodStage keeps matching a held pod, as kwok would make the pod ready otherwise. The written
// status must therefore be the same each time, with a constant time.
const heldPodStage = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: TAG-pod
spec:
  weight: 1
  resourceRef:
    apiGroup: v1
    kind: Pod
  selector:
    matchExpressions:
    - key: '.metadata.deletionTimestamp'
      operator: DoesNotExist
    - key: '.status.phase'
      operator: In
      values: [Pending]
    - key: '.spec.containers.[].image | endswith(":TAG") | tostring'
      operator: In
      values: ["true"]
  next:
    statusTemplate: |
      {{ $since := .metadata.creationTimestamp | Quote }}
      phase: PHASE
      conditions:
      - type: Initialized
        status: "True"
        lastTransitionTime: {{ $since }}
      - type: Ready
        status: "False"
        reason: ContainersNotReady
        lastTransitionTime: {{ $since }}
      - type: ContainersReady
        status: "False"
        reason: ContainersNotReady
        lastTransitionTime: {{ $since }}
      containerStatuses:
      {{ range .spec.containers }}
      - name: {{ .name | Quote }}
        image: {{ .image | Quote }}
        imageID: ""
        ready: false
        LAST
        state:
          waiting:
            reason: REASON
      {{ end }}
`
