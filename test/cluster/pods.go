package cluster

import "strings"

// heldPods are stages that keep pods from becoming ready by the tag of an image: what
// kubelet says of them is all that operators see of such failures.
func heldPods() []string {
	return []string{
		heldPod("pending", "Pending", "ContainerCreating", never),
		heldPod("missing", "Pending", "ImagePullBackOff", never),
		heldPod("crashing", "Running", "CrashLoopBackOff", crashed),
	}
}

func heldPod(tag, phase, reason, last string) string {
	return strings.NewReplacer("TAG", tag, "PHASE", phase, "REASON", reason, "LAST", last).Replace(heldPodStage)
}

const (
	never   = `restartCount: 0`
	crashed = `restartCount: 3
        lastState:
          terminated:
            exitCode: 1
            reason: Error`
)

// heldPodStage goes on matching a pod that it holds, or kwok would make that ready. So it
// must write the same each time: no time but one that stands.
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
