package status_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Odometer is a custom kind whose status has fields with a zero value that is not JSON's.
type Odometer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status OdometerStatus `json:"status,omitempty"`
}

type OdometerStatus struct {
	OdometerDial `json:",inline"`

	Note       string                  `json:"note,omitempty"`
	Dial       OdometerDial            `json:"dial"`
	Spare      OdometerDial            `json:"spare,omitzero"`
	Lent       *OdometerDial           `json:"lent,omitempty"`
	Kept       *OdometerDial           `json:"kept"`
	Rooms      map[string]OdometerDial `json:"rooms,omitempty"`
	Past       []OdometerDial          `json:"past,omitempty"`
	Range      odometerRange           `json:"range"`
	Conditions []odometerCondition     `json:"conditions,omitempty"`
}

// OdometerDial has the values in question.
type OdometerDial struct {
	Version  odometerVersion    `json:"version"`
	Read     time.Time          `json:"read"`
	Pair     [2]int             `json:"pair"`
	ID       odometerID         `json:"id"`
	Total    resource.Quantity  `json:"total"`
	Port     intstr.IntOrString `json:"port"`
	Since    metav1.Time        `json:"since"`
	Every    metav1.Duration    `json:"every"`
	Exact    json.Number        `json:"exact"`
	Needle   odometerNeedle     `json:"needle"`
	Optional odometerNeedle     `json:"optional,omitzero"`
}

type odometerNeedle struct {
	Version odometerVersion `json:"version"`
	Angle   int             `json:"angle"`
}

type odometerCondition struct {
	Type   string         `json:"type"`
	Status string         `json:"status"`
	Needle odometerNeedle `json:"needle"`
}

// odometerVersion is written as a semantic version is.
type odometerVersion struct{ major, minor int }

func (v odometerVersion) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `"%d.%d.0"`, v.major, v.minor), nil
}

func (v *odometerVersion) UnmarshalJSON(data []byte) error {
	_, err := fmt.Sscanf(string(data), `"%d.%d.0"`, &v.major, &v.minor)
	return err
}

// odometerID is written as a UUID is.
type odometerID [16]byte

func (id odometerID) MarshalText() ([]byte, error) {
	text := hex.EncodeToString(id[:])
	return []byte(strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")), nil
}

func (id *odometerID) UnmarshalText(text []byte) error {
	_, err := hex.Decode(id[:], []byte(strings.ReplaceAll(string(text), "-", "")))
	return err
}

// An odometerRange is encoded as an object with a field for unset values.
type odometerRange struct{ low, high int }

func (r odometerRange) MarshalJSON() ([]byte, error) {
	if r == (odometerRange{}) {
		return []byte(`{"kind":"None"}`), nil
	}
	return fmt.Appendf(nil, `{"kind":"Range","low":%d,"high":%d}`, r.low, r.high), nil
}

func (r *odometerRange) UnmarshalJSON(data []byte) error {
	var object struct{ Low, High int }
	err := json.Unmarshal(data, &object)
	r.low, r.high = object.Low, object.High
	return err
}

func (m *Odometer) DeepCopyObject() runtime.Object {
	out := *m
	m.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	s, o := &m.Status, &out.Status
	if s.Lent != nil {
		o.Lent = new(*s.Lent)
	}
	if s.Kept != nil {
		o.Kept = new(*s.Kept)
	}
	o.Rooms, o.Past, o.Conditions = maps.Clone(s.Rooms), slices.Clone(s.Past), slices.Clone(s.Conditions)
	return &out
}

func odometerDefinition() *apiextensionsv1.CustomResourceDefinition {
	loose := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	return definition("Odometer", "odometers", loose, &apiextensionsv1.CustomResourceSubresourceStatus{})
}
