// Package secrecy_test marks secrets wherever they can occur: in Secrets, environments,
// annotations, commands, templates and their data. It provokes every error of the library on a real
// API server, and then looks for the marks in all output of the library and of a documented use:
// errors, logs, events, conditions, metrics and Changes. All kinds with a secret are Secrets, or
// named with WithSensitive. For other kinds, the API server's own messages are passed on, and
// contain no secret.
//
// Connection strings belong to the operators: test/suites/e2e/postgreswriter looks for its password.
package secrecy_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

const (
	// limit is how long the test waits for anything.
	limit = time.Minute
	// tick is the time between two looks.
	tick = 20 * time.Millisecond
)

const (
	// secretText is the content of every secret.
	secretText = "hunter2-and-9-more"
	// secretNumber is a secret that is a number. Changes show the numbers of other kinds.
	secretNumber = 730194650
	// publicText is public content, in objects of kinds that are not sensitive.
	publicText = "open-sesame"
)

// containsSecret reports whether text shows the beginning of secretText: the rest may be cut off.
func containsSecret(text string) bool {
	return strings.Contains(text, strconv.Itoa(secretNumber)) ||
		slices.ContainsFunc(encodings([]byte(secretText[:len("hunter2")])), func(shape string) bool { return strings.Contains(text, shape) })
}

// encodings returns the representations of bytes: as text, as printed by Go, and in the base64 of a
// Secret, at any offset in a value.
func encodings(of []byte) []string {
	found := []string{string(of), strings.Trim(fmt.Sprintf("%d", of), "[]")}
	for before := range 3 {
		encoded := base64.StdEncoding.EncodeToString(append(make([]byte, before), of...))
		from, to := (8*before+5)/6, 8*(before+len(of))/6 // of what no other byte has a part in
		found = append(found, encoded[from:to])
	}
	return found
}

var (
	shared *cluster.Cluster
	logged logBuffer
)

// TestMain has the log of the library, of controller-runtime and of client-go in one place.
func TestMain(m *testing.M) {
	logger := zap.New(zap.WriteTo(&logged))
	log.SetLogger(logger)
	klog.SetLogger(logger)
	os.Exit(cluster.Main(m, &shared))
}

// A logBuffer is text that several goroutines write.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *logBuffer) Write(text []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(text)
}

func (n *logBuffer) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}
