#!/bin/sh
# Fails if the cluster has objects of the kinds in the folder config/crd, and lists them. The API server deletes all
# objects of a kind with its CRD. With DELETE_OBJECTS=1, the script does nothing.
set -eu
kubectl=${KUBECTL:-kubectl}
test "${DELETE_OBJECTS:-}" != 1 || exit 0

found=
crds=$($kubectl get -k config/crd --ignore-not-found -o name) # on a line of its own, so that a failure ends the script
for crd in $crds; do
	name=${crd#*/}
	# The stored version needs no conversion, and so no operator.
	version=$($kubectl get crd "$name" -o jsonpath='{.spec.versions[?(@.storage==true)].name}')
	objects=$($kubectl get "${name%%.*}.$version.${name#*.}" --all-namespaces \
		-o jsonpath='{range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{"\n"}{end}')
	if [ -n "$objects" ]; then
		echo "$objects" >&2
		found=yes
	fi
done
if [ -n "$found" ]; then
	echo "These objects would be deleted, and their children with them. Delete them first, while the operator runs, or set DELETE_OBJECTS=1." >&2
	exit 1
fi
