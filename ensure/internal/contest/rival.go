package contest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/internal/managedfields"
)

// RivalIn returns the field manager that changed paths in obj, before fieldOwner set them back; empty
// if the managed fields do not show that.
func RivalIn(obj metav1.Object, fieldOwner string, paths []string) string {
	others := managedfields.Others(obj, fieldOwner)
	if manager := managedfields.OwnersIn(others).Of(paths...); manager != "" {
		return manager
	}
	own := managedfields.Applied(obj, fieldOwner)
	if len(others) > 0 && own != nil && !managedfields.WrittenAt(&others[0]).Before(managedfields.WrittenAt(own)) {
		return others[0].Manager // a removed field has no owner, but its remover wrote another field, too
	}
	return ""
}
