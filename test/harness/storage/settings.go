package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/api/resource"
)

// settingsFile is in the cluster's folder.
const settingsFile = "storage.json"

// Settings determine the behaviour of a cluster's volumes. With the zero value, storage works.
//
// They are stored in the JSON file storage.json in the cluster's folder, which may be edited by hand:
//
//	{"nodes": "offline", "failures": [{"code": "OUT_OF_RANGE", "message": "no room"}]}
//
// They are read at every use. Changes are therefore in force at once, and survive every restart of
// a component.
type Settings struct {
	// Nodes is when the nodes do their part of an expansion; empty is Online.
	Nodes NodeMode `json:"nodes,omitempty"`
	// Failures are the results of the controller's part of an expansion. The first match applies;
	// without a match, the expansion succeeds.
	Failures []Failure `json:"failures,omitempty"`
}

// NodeMode is when the nodes do their part of an expansion.
type NodeMode string

// The modes. All but Off need a running pod that mounts the claim.
const (
	// Online is at once.
	Online NodeMode = "online"
	// Offline is when each pod that mounts the claim was created after the claim became
	// FileSystemResizePending: the way of a driver that refuses to expand a volume in use.
	Offline NodeMode = "offline"
	// Off means never: a test acts by [StartResize] and [FinishResize].
	Off NodeMode = "off"
)

// A Failure is the driver's answer to a request to expand a volume.
type Failure struct {
	// Volume is the name of a PersistentVolume; empty stands for all.
	Volume string `json:"volume,omitempty"`
	// Above is the size up to which nothing fails; zero lets every expansion fail.
	Above resource.Quantity `json:"above,omitzero"`
	// Code is the answer; codes.OK means success. In the file it is a number or a name such as
	// OUT_OF_RANGE. The package's documentation lists the codes that the resizer considers final.
	Code codes.Code `json:"code,omitempty"`
	// Message goes with the code.
	Message string `json:"message,omitempty"`
	// Hang makes the driver not answer while the failure is set. The resizer times out before.
	Hang bool `json:"hang,omitempty"`
}

// Read returns the settings of the cluster in this folder.
func Read(dir string) (Settings, error) {
	content, err := os.ReadFile(filepath.Join(dir, settingsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Settings{}, nil
	}
	if err != nil {
		return Settings{}, fmt.Errorf("cannot read the settings of the storage: %w", err)
	}
	var settings Settings
	if err := json.Unmarshal(content, &settings); err != nil {
		return Settings{}, fmt.Errorf("cannot read the settings of the storage: %w", err)
	}
	return settings, nil
}

// Write puts the settings in force for the cluster in this folder.
func (s Settings) Write(dir string) error {
	content, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("cannot write the settings of the storage: %w", err)
	}
	path := filepath.Join(dir, settingsFile)
	// Who reads sees the one or the other, never a part.
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return fmt.Errorf("cannot write the settings of the storage: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("cannot write the settings of the storage: %w", err)
	}
	return nil
}

// Use puts the settings in force until the test ends, and then restores working storage. Concurrent
// tests share the settings: name volumes, or change the settings again instead.
func (s Settings) Use(t testing.TB, dir string) {
	t.Helper()
	if err := s.Write(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := (Settings{}).Write(dir); err != nil {
			t.Error(err)
		}
	})
}

// Failure is the first that fits the expansion of a volume to so many bytes, or else the zero value,
// with which nothing fails.
func (s Settings) Failure(volume string, bytes int64) Failure {
	for _, failure := range s.Failures {
		if (failure.Volume == "" || failure.Volume == volume) && bytes > failure.Above.Value() {
			return failure
		}
	}
	return Failure{}
}
