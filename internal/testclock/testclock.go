// Package testclock lets the tests of this repository set the clock of an Ensurer. Tests of operators use testing/synctest
// instead, so that package ensure has no setting for it.
package testclock

import "k8s.io/utils/clock"

var setting func(clock.PassiveClock) any

// Provide takes what makes a setting, from package ensure, which this package cannot import.
func Provide(makeSetting func(clock.PassiveClock) any) struct{} {
	setting = makeSetting
	return struct{}{}
}

// With returns the setting by which an Ensurer uses c instead of the real clock. S is ensure.Setting.
func With[S any](c clock.PassiveClock) S {
	made, _ := setting(c).(S)
	return made
}
