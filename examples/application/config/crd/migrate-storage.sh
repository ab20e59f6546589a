#!/bin/sh
# Usage: migrate-storage.sh VERSION
#
# The API server then stores all Applications in VERSION: v1alpha1 or v1beta1. The operator must be running, since the
# API server needs the operator for the conversion. Run the script again if it breaks off. The environment variable WAIT
# is the number of seconds after which all API servers know a changed CRD.
set -eu
kubectl=${KUBECTL:-kubectl}
definition=applications.application.sample.ibm.com

version=${1:-}
case $version in
v1alpha1) alpha=true beta=false ;;
v1beta1) alpha=false beta=true ;;
*)
	echo "Usage: make migrate-storage VERSION=v1beta1 (or v1alpha1, to go back)" >&2
	exit 2
	;;
esac

$kubectl patch crd $definition --type=json -p "[
	{\"op\": \"test\", \"path\": \"/spec/versions/0/name\", \"value\": \"v1alpha1\"},
	{\"op\": \"test\", \"path\": \"/spec/versions/1/name\", \"value\": \"v1beta1\"},
	{\"op\": \"replace\", \"path\": \"/spec/versions/0/storage\", \"value\": $alpha},
	{\"op\": \"replace\", \"path\": \"/spec/versions/1/storage\", \"value\": $beta}]"

# An API server that does not know the change yet would write nothing.
sleep "${WAIT:-60}"

# gone succeeds if the API server says that there is no such object.
gone() {
	found=$($kubectl get "$@" --ignore-not-found -o name </dev/null) && test -z "$found"
}

# migrate writes an Application in the new version: an empty patch changes nothing else. Somebody may delete the
# Application meanwhile. Nobody can write an Application whose namespace is gone, but anybody with the right can delete
# it.
migrate() {
	tries=0
	until $kubectl patch $definition "$2" -n "$1" --type=merge -p '{}' </dev/null; do
		if gone $definition "$2" -n "$1"; then
			return 0
		fi
		if gone namespace "$1"; then
			echo "$1/$2 stays in the other version, since its namespace is gone. Delete the Application, and run this script again:" >&2
			echo "  kubectl delete $definition $2 -n $1" >&2
			remaining=true
			return 0
		fi
		tries=$((tries + 1))
		test $tries -lt 30
		sleep 1
	done
}

remaining=false
objects=$(mktemp)
trap 'rm -f "$objects"' EXIT
$kubectl get $definition -A -o jsonpath='{range .items[*]}{.metadata.namespace} {.metadata.name}{"\n"}{end}' >"$objects"
while read -r namespace name; do
	migrate "$namespace" "$name"
done <"$objects"

# With storedVersions of one version, the other could be removed from the CRD, and no object of it could be read again.
test $remaining = false

$kubectl patch crd $definition --subresource=status --type=merge -p "{\"status\": {\"storedVersions\": [\"$version\"]}}"
