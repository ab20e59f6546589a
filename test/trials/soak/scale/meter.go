package scale

import (
	"net/http"
	"strings"
	"sync/atomic"
)

// A meter counts requests where a client sends them, each attempt, except the requests of informers
// and of discovery.
type meter struct {
	sent atomic.Int64
	// created is how many of them were answered 201 Created.
	created atomic.Int64
}

// wrap is for a rest.Config.
func (m *meter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && !namesObject(r.URL.Path) {
			return next.RoundTrip(r)
		}
		m.sent.Add(1)
		answer, err := next.RoundTrip(r)
		if err == nil && answer.StatusCode == http.StatusCreated {
			m.created.Add(1)
		}
		return answer, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// namesObject reports whether a path names an object, such as /api/v1/namespaces/n/secrets/s and
// /apis/apps/v1/deployments/d, in contrast to the paths of lists, watches and discovery.
func namesObject(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch parts[0] {
	case "api":
		parts = parts[min(2, len(parts)):]
	case "apis":
		parts = parts[min(3, len(parts)):]
	default:
		return false
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	return len(parts) > 1
}
