package canon_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trueup-go/trueup/internal/canon"
)

// Port 53/TCP was edited into 54/TCP, which the merge leaves beside ours.
func TestReplacementsKeepWhatIsNotAtFault(t *testing.T) {
	live := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Name: "tcp", Port: 54, Protocol: corev1.ProtocolTCP, NodePort: 30001},
		{Name: "udp", Port: 53, Protocol: corev1.ProtocolUDP, NodePort: 30002},
		{Name: "theirs", Port: 99, Protocol: corev1.ProtocolTCP, NodePort: 30003},
	}}}
	desired := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Name: "tcp", Port: 53},
		{Name: "udp", Port: 53, Protocol: corev1.ProtocolUDP},
	}}}
	const (
		restored = `{"name":"tcp","nodePort":30001,"port":53}`
		udp      = `{"name":"udp","nodePort":30002,"port":53,"protocol":"UDP"}`
		theirs   = `{"name":"theirs","nodePort":30003,"port":99,"protocol":"TCP"}`
	)
	for name, tc := range map[string]struct {
		reason string
		fields []string
		want   string
	}{
		"ours is named": {
			"the one beside it of the same name is at fault", []string{"spec.ports[1].name"}, "[" + restored + "," + udp + "," + theirs + "]",
		},
		"theirs is named": {
			"it is at fault itself", []string{"spec.ports[0].name"}, "[" + restored + "," + udp + "," + theirs + "]",
		},
		"both are named": {
			"they are one and the same", []string{"spec.ports[0].name", "spec.ports[1].name"}, "[" + restored + "," + udp + "," + theirs + "]",
		},
		"another's is named": {
			"it has to go; nothing tells what became of ours",
			[]string{"spec.ports[3].port"},
			`[{"name":"tcp","nodePort":30001,"port":54,"protocol":"TCP"},{"name":"tcp","port":53},` + udp + "]",
		},
		"no member is named": {
			"any may be at fault", []string{"spec.ports[1]"}, `[{"name":"tcp","port":53},{"name":"udp","port":53,"protocol":"UDP"}]`,
		},
		"a member that none has": {
			"likewise", []string{"spec.ports[1].appProtocol"}, `[{"name":"tcp","port":53},{"name":"udp","port":53,"protocol":"UDP"}]`,
		},
		"the list is named": {
			"likewise", []string{"spec.ports"}, `[{"name":"tcp","port":53},{"name":"udp","port":53,"protocol":"UDP"}]`,
		},
		"the list and an item": {
			"the list counts", []string{"spec.ports", "spec.ports[1].name"}, `[{"name":"tcp","port":53},{"name":"udp","port":53,"protocol":"UDP"}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			operations := canon.Replacements(live, desired, tc.fields)
			require.Len(t, operations, 1)
			require.Equal(t, "/spec/ports", operations[0].Path)
			value, err := json.Marshal(operations[0].Value)
			require.NoError(t, err)
			require.JSONEq(t, tc.want, string(value), tc.reason)
		})
	}
}
