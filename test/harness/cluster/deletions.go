package cluster

import (
	"bufio"
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/types"
)

// A Deletion is a request to delete an object that the API server has accepted. The object may exist for a while
// after the request, as long as it has finalizers.
type Deletion struct {
	Request

	// UID is that of the object.
	UID types.UID
}

// AuditDeletions has the API server also log which objects are deleted, and the control plane's deletions, such as
// those of the garbage collector: for [Cluster.Deletions].
func AuditDeletions() Option {
	return func(o *options) { o.deletions = true }
}

// Deletions returns the deletions that the API server has accepted since the mark, in the order of its answers. An
// answer is logged when it is sent, so the last deletions may be missing. The cluster needs [AuditDeletions].
func (c *Cluster) Deletions(since Mark) ([]Deletion, error) {
	if !c.options.deletions {
		return nil, errors.New("the cluster does not log deletions: start it with AuditDeletions")
	}
	var deletions []Deletion
	err := c.readAudit(since, func(lines *bufio.Reader) error {
		return eachEvent(lines, func(e auditEvent) error {
			if e.Stage != answer || e.Verb != "delete" || e.ResponseStatus.Code >= http.StatusBadRequest {
				return nil
			}
			request, err := e.request()
			deletion := Deletion{Request: request, UID: e.ResponseObject.Details.UID}
			if deletion.UID == "" {
				deletion.UID = e.ResponseObject.Metadata.UID
			}
			if !request.DryRun {
				deletions = append(deletions, deletion)
			}
			return err
		})
	})
	return deletions, err
}
