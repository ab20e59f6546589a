// Package secrecy_test marks secrets wherever they can stand, in Secrets, environments,
// annotations, commands, templates and what these are given, provokes every error that the library has for it on a
// real API server, and then looks for the marks in all that the library and whoever uses it
// as documented says: errors, logs, events, conditions, metrics and Changes.
//
// Connection strings are the operators': test/e2e/postgreswriter looks for its password.
package secrecy_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/trueup-go/trueup/test/cluster"
)

const (
	// limit is how long the test waits for anything.
	limit = time.Minute
	// tick is the time between two looks.
	tick = 20 * time.Millisecond
)

// mark is the secret.
const mark = "hunter2-and-9-more"

// isMarked reports whether text holds the mark, or how a Secret shows it.
func isMarked(text string) bool {
	return strings.Contains(text, mark) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(mark)))
}

var (
	shared *cluster.Cluster
	logged notes
)

// TestMain has the log of the library, of controller-runtime and of client-go in one place.
func TestMain(m *testing.M) {
	logger := zap.New(zap.WriteTo(&logged))
	log.SetLogger(logger)
	klog.SetLogger(logger)
	os.Exit(cluster.Main(m, &shared))
}

// notes are text that several goroutines write.
type notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notes) Write(text []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(text)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}
