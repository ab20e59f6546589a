package corpus

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// moment is not in UTC and has a fraction, which a Time drops.
func moment() metav1.Time {
	return metav1.NewTime(time.Date(2026, time.February, 28, 23, 59, 59, 999_999_999, time.FixedZone("CET", 3600)))
}

// microMoment has a fraction beyond the microseconds that a MicroTime keeps.
func microMoment() metav1.MicroTime { return metav1.NewMicroTime(moment().Time) }
