// kubebuilder in a version with which test/suites/quickstart follows the README.
module github.com/trueup-go/trueup/tools/kubebuilder-4.15

go 1.26.0

tool sigs.k8s.io/kubebuilder/v4

require sigs.k8s.io/kubebuilder/v4 v4.15.0 // indirect
