package contest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/internal/managedfields"
)

// RivalIn returns the field manager that changed paths in obj, before fieldOwner set them back; empty
// if the managed fields do not show it.
func RivalIn(obj metav1.Object, fieldOwner string, paths []string) string {
	others := managedfields.Others(obj, fieldOwner)
	if manager := managedfields.ManagerOf(others, paths...); manager != "" {
		return manager
	}
	own := managedfields.Applied(obj, fieldOwner)
	if len(others) > 0 && own != nil && !managedfields.WrittenAt(&others[0]).Before(managedfields.WrittenAt(own)) {
		return others[0].Manager // nobody owns what a manager removed, but this one wrote another field with that
	}
	return ""
}
