# Needs go and make. Linters and generators are pinned in tools/*/go.mod and built by the go command.

# The operator that `make run` runs; ARGS are its own.
OPERATOR ?= application
# What it is run with before its ARGS, which win: several may run side by side, and nobody else reaches them.
RUN_ARGS = --metrics-bind-address=0 --health-probe-bind-address=0
# The minor version of Kubernetes of the clusters, such as 1.33: one of tools/cluster/*, or the pinned one if it is empty.
K8S ?=
export TRUEUP_K8S = $(K8S)
# How long `make fuzz` spends on each target.
FUZZTIME ?= 1m
# How often `make flakes` runs the tests, and of which package: ./test/suites/status, ./ensure/...; all if it is empty.
N ?= 10
PKG ?=
# The race detector checks pointers, too. It needs a C compiler; where there is none, the pointers of the one package
# that makes some are checked all the same.
CHECKPTR = -gcflags=github.com/trueup-go/trueup/internal/canon=-d=checkptr
RACE ?= $(if $(filter 1,$(shell go env CGO_ENABLED)),-race,$(CHECKPTR))

MODULES = $(patsubst %/go.mod,%,$(sort $(shell find . -name go.mod)))
CODE_MODULES = $(filter-out ./tools/%,$(MODULES))
OPERATORS = $(patsubst %/Makefile,%,$(wildcard examples/*/Makefile))

GOLANGCI_LINT = $(shell go tool -n -modfile=$(CURDIR)/tools/lint/go.mod golangci-lint)
export GOLANGCI_LINT_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/trueup/golangci-lint

# A workspace around this checkout would replace the pinned versions; and git refuses to tell the version of a checkout
# that belongs to another user.
export GOWORK := off
# But cmd/trueup has a workspace, as its go.mod requires the release of the library that will be tagged with it. For a shell
# in the folder of a module.
WORKSPACE = GOWORK=$$(test -f go.work && echo "$$PWD/go.work" || echo off)
export GOFLAGS := $(shell go env GOFLAGS) -buildvcs=false
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

.PHONY: help
help: ## Print this help.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

# How tests are run, and how long a package may take. `make lint` vets.
GOTEST = go test -vet=off
SHORT = -short
TIMEOUT = -timeout 30m
# How many packages with a cluster are tested at once. They wait for much of their time, but each cluster takes up to
# a gigabyte of memory.
CLUSTERS ?= 4
# How many tests of such a package run at once. They wait, too, so that one for each processor would be too few.
PARALLEL ?= 6
# The modules, test aside, that have tests.
TESTED_MODULES = cmd/trueup docs/cookbook examples bench test/tools/compat test/tools/release

.PHONY: test-unit
test-unit: ## Run the library's own tests, without a cluster: while you work.
	$(GOTEST) $(RACE) $(SHORT) $(TIMEOUT) ./...

.PHONY: test
test: test-library test-cluster ## Run all tests in their short forms, also on a real API server: before you send a change.

# Tests without a cluster leave processors idle.
.PHONY: test-library
test-library:
	@$(MAKE) -j2 test-unit test-modules

# Each module is a target of its own, so that with --keep-going none hides another.
.PHONY: test-modules $(TESTED_MODULES:%=test-module-%)
test-modules: $(TESTED_MODULES:%=test-module-%)
$(TESTED_MODULES:%=test-module-%): test-module-%:
	cd $* && $(WORKSPACE) $(GOTEST) $(TIMEOUT) ./...

.PHONY: test-cluster test-suites test-dashboard test-peers
test-cluster: test-suites test-dashboard test-peers

# Building the cluster's programs, minutes the first time, counts against no timeout.
.PHONY: programs
programs:
	cd test && go run ./harness/cluster/cmd build

test-suites: programs
	cd test && $(GOTEST) -count=1 $(SHORT) -p $(CLUSTERS) -parallel $(PARALLEL) $(TIMEOUT) ./...

test-dashboard: programs
	cd test/tools/dashboard && $(GOTEST) -count=1 $(SHORT) $(TIMEOUT) ./...

test-peers: programs
	cd bench/peers && $(GOTEST) -count=1 $(SHORT) $(TIMEOUT) ./...

# Make runs a target once, so that `make test test-full` would leave out the long forms if test were a prerequisite.
.PHONY: test-full
test-full: ## Run all tests in full, with soak and a minute of chaos, all versions of k8s.io/api and the newest dependencies: before a release.
	@$(MAKE) test SHORT= TIMEOUT='-timeout 60m'
	@$(MAKE) compat newest minors soak
	@$(MAKE) chaos DURATION=1m OWNERS=60

.PHONY: flakes
flakes: ## Run the tests of make test, or of PKG, N times on a busy machine, and list those that failed.
	@cd test && go run ./tools/flakes -n $(N) $(if $(PKG),-pkg $(PKG) -p $(CLUSTERS) -parallel $(PARALLEL) -unit '$(RACE)')

.PHONY: lint
lint: lint-code lint-house lint-darwin lint-tidy lint-generated ## Check style, imports, the structure of ensure, go.mod files and generated files; FIX=1 fixes style.

.PHONY: lint-code
lint-code:
	@set -e; linter=$(GOLANGCI_LINT); for module in $(CODE_MODULES); do \
		echo "golangci-lint $$module"; (cd $$module && $(WORKSPACE) $$linter run $(if $(FIX),--fix) ./...); \
	done

# How closely the parts of ensure are tied to each other, against limits that only go down.
.PHONY: lint-house
lint-house:
	@cd test && go run ./tools/house

# What may run elsewhere than on Linux: the library, the command, the operators, and the demo on an existing cluster.
# They are compiled and not linked, which would take most of the time.
.PHONY: lint-darwin
lint-darwin:
	@set -e; for folder in . cmd/trueup examples test/tools/demo; do \
		echo "GOOS=darwin $$folder"; (cd $$folder && $(WORKSPACE) GOOS=darwin CGO_ENABLED=0 go list -export ./... >/dev/null); \
	done

# go mod tidy knows no workspace, so that the command is tidied by a copy of its go.mod with a replace.
LIBRARY = github.com/trueup-go/trueup
define TIDY
set -e; copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; trap 'exit 1' HUP INT TERM; \
for module in $(filter-out ./cmd/trueup,$(MODULES)); do \
	echo "go mod tidy $(1) $$module"; (cd $$module && go mod tidy $(1)); \
done; \
echo "go mod tidy $(1) ./cmd/trueup"; cd cmd/trueup; cp go.mod go.sum "$$copy"; \
go mod edit -replace=$(LIBRARY)=../.. "$$copy/go.mod"; go mod tidy $(1) -modfile="$$copy/go.mod"; \
$(if $(1),,go mod edit -dropreplace=$(LIBRARY) "$$copy/go.mod"; cp "$$copy/go.mod" "$$copy/go.sum" .)
endef

.PHONY: lint-tidy
lint-tidy:
	@$(call TIDY,-diff)

# In a copy, so that a check changes nothing.
.PHONY: lint-generated
lint-generated:
	@set -e; copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; trap 'exit 1' HUP INT TERM; \
	cp -R ./* "$$copy"; $(MAKE) -C "$$copy" generate; \
	diff -r examples "$$copy/examples" && diff -r cmd "$$copy/cmd" || { echo "generated files are stale: run make generate" >&2; exit 1; }

.PHONY: generate
generate: ## Generate the deep copies, CRDs and roles of every example, and the operator that trueup scaffold writes.
	@set -e; for operator in $(OPERATORS); do $(MAKE) -C $$operator manifests generate; done
	@cd cmd/trueup && $(WORKSPACE) go test -count=1 -run '^TestGolden$$' ./internal/scaffold -update

.PHONY: tidy
tidy: ## Tidy the go.mod of every module.
	@$(call TIDY)

.PHONY: conformance
conformance: programs ## Test every kind on a real API server and write docs/conformance.md; K8S=1.33 (to 1.37) writes a column of docs/versions.md, SHORT=1 a short one.
	cd test && go test -count=1 $(if $(filter 1,$(SHORT)),-short) -timeout 30m ./suites/conformance -update

.PHONY: readiness
readiness: ## Compare status/readiness with kstatus on a real API server and write docs/readiness.md.
	cd test && go test -count=1 -run '^TestReadinessBesideKstatus$$' ./suites/status -update

.PHONY: predicates
predicates: ## Record which events wake a reconciler on a real API server and write docs/predicates.md.
	cd test && go test -count=1 -run '^TestEvents$$' ./suites/predicates -update

.PHONY: articles
articles: ## Follow the articles of the operators on a real API server and write docs/articles.md.
	cd test && go test -count=1 -run '^TestArticles$$' ./suites/articles -update

.PHONY: tutorial
tutorial: programs ## Follow docs/tutorial.md on a real API server and write the measured figures into it.
	cd test && go test -count=1 -timeout 30m -run '^TestTutorial$$' ./suites/tutorial -update

.PHONY: kubebuilder
kubebuilder: programs ## Follow the README's quick start in projects of several versions of kubebuilder and write docs/kubebuilder.md.
	cd test && go test -count=1 -timeout 30m -run '^TestQuickStart$$' ./suites/quickstart -update

.PHONY: dashboard
dashboard: ## Run operators through faults and draw the panels of docs/dashboard.json; ARGS=-redraw draws the last run again.
	@cd test/tools/dashboard && go run . $(ARGS)

.PHONY: compat
compat: ## Compute the digests of a corpus under every supported version of k8s.io/api; none may differ.
	@cd test/tools/compat && go run .

# In a copy, so that go.mod keeps the lowest versions, which test-unit takes.
.PHONY: newest
newest: ## Run the library's own tests with the newest version of each module that go.mod requires.
	@set -e; copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; trap 'exit 1' HUP INT TERM; \
	cp -R ./* "$$copy"; cd "$$copy"; \
	go get -t $$(go list -m -f '{{if not (or .Main .Indirect)}}{{.Path}}@latest{{end}}' all); \
	go mod tidy; go list -m -f '{{if not (or .Main .Indirect)}}{{.Path}} {{.Version}}{{end}}' all; \
	$(GOTEST) $(SHORT) $(TIMEOUT) -skip '^TestRequirementsAreTheLowest$$' ./...

# In a copy, with the folder of the newest minor version so far for one that has none.
.PHONY: newest-kubernetes
newest-kubernetes: ## Run conformance in its short form on the newest release of Kubernetes.
	@set -e; copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; trap 'exit 1' HUP INT TERM; \
	cp -R ./* "$$copy"; cd "$$copy/tools/cluster"; \
	newest=$$(go list -m -f '{{.Version}}' k8s.io/kubernetes@latest); minor=$${newest%.*}; minor=$${minor#v}; \
	last=$$(ls -d 1.* | sort -V | tail -n 1); \
	before=$$(sed -n 's|^.k8s.io/kubernetes v1\.\([0-9.]*\).*|\1|p' $$last/go.mod); \
	[ -d $$minor ] || cp -R $$last $$minor; cd $$minor; \
	sed -i "s/v\([01]\)\.$$before/v\1.$${newest#v1.}/; s|cluster/$$last|cluster/$$minor|" go.mod; \
	go mod tidy; cd "$$copy"; echo "Kubernetes $$newest"; \
	$(MAKE) conformance K8S=$$minor SHORT=1

.PHONY: minors
minors: programs ## Run the library's own tests, and suites on an API server, with each supported minor version of controller-runtime.
	@cd test && go run ./tools/minors $(ARGS)

.PHONY: release-check
release-check: ## Check API, CRDs, digests, licences and vulnerabilities before a release, the first two against the last tag.
	@cd test/tools/release && go run .

# Goes on after a finding, so that one does not hide another; go test says where it has put the input.
.PHONY: fuzz
fuzz: ## Run every fuzz target of every module for FUZZTIME, one after another.
	@failed=; \
	for file in $$(find . -name '*_test.go' -exec grep -l '^func Fuzz' {} +); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' $$file); do \
			echo "$${file%/*} $$target"; \
			(cd $${file%/*} && go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) .) || \
				failed="$$failed $${file%/*}:$$target"; \
		done; \
	done; \
	test -z "$$failed" || { echo "found something:$$failed" >&2; exit 1; }

.PHONY: bench
bench: ## Measure digests, passes without work and recorded writes, and compare them with other libraries; ARGS are flags of bench.
	@cd bench && go run . $(ARGS)

.PHONY: bench-peers
bench-peers: programs ## Run bench, and compare operators with trueup and other libraries on an API server; SHORT=1 is quick, UPDATE=1 writes docs/benchmarks.md.
	@set -e; library=$$(mktemp); trap 'rm -f "$$library"' EXIT; trap 'exit 1' HUP INT TERM; \
	(cd bench && go run . -report) > "$$library"; \
	cd bench/peers && go run . -library "$$library" $(if $(filter 1,$(SHORT)),-short) $(if $(filter 1,$(UPDATE)),-update ../../docs)

# No part of generate, which lint runs: each recording differs, in times and names.
.PHONY: bench-record
bench-record: programs ## Record the answers of an API server that bench replays, in bench/testdata/recorded: after a change of what is sent.
	cd bench/peers && go run . -record ../testdata/recorded

# The existing cluster of the demo: a variable of the environment may be there for other reasons.
EXISTING = $(if $(findstring command,$(origin KUBECONFIG)),$(abspath $(KUBECONFIG)))
.PHONY: demo
demo: ## Show five operators at work and count their requests; KEEP=1 keeps them running, KUBECONFIG=file uses an existing cluster.
	@cd test && go run ./tools/demo $(if $(filter 1,$(KEEP)),-keep) $(if $(EXISTING),-kubeconfig '$(EXISTING)')

.PHONY: soak
soak: programs ## Measure an operator with 10,000 children on a real API server; ARGS are flags of the test.
	@cd test && go run ./trials/soak $(ARGS)

.PHONY: chaos
DURATION ?= 10m
OWNERS ?= 300
chaos: programs ## Run all operators through DURATION of random faults; SEED repeats a run, UPDATE=1 writes docs/chaos.md, BROKEN=name runs a broken build.
	@cd test && go run ./trials/chaos -duration $(DURATION) -owners $(OWNERS) $(if $(SEED),-seed $(SEED)) \
		$(if $(filter 1,$(UPDATE)),-update) $(if $(BROKEN),-broken $(BROKEN)) $(ARGS)

.PHONY: proxy
proxy: ## Print settings with which the go command takes this checkout as the latest release: eval "$(make -s proxy)"
	@cd test && go run ./tools/proxy

.PHONY: run
run: ## Install OPERATOR (hello, application, reversewordsapp, site, bookstore, postgreswriter) in the cluster of KUBECONFIG and run it from here, with ARGS.
	@test -n "$$KUBECONFIG" || { echo 'KUBECONFIG is not set; of the local cluster it is: export KUBECONFIG=$$(make cluster-up STORAGE=1)' >&2; exit 1; }
	@test -f examples/$(OPERATOR)/Makefile || { echo "no operator $(OPERATOR); there are: $(notdir $(OPERATORS))" >&2; exit 1; }
	@kubectl=$$(cd test && go run ./harness/cluster/cmd kubectl) && \
		$(MAKE) -C examples/$(OPERATOR) install run KUBECTL="$$kubectl" ARGS='$(RUN_ARGS) $(ARGS)'

.PHONY: cluster-up
cluster-up: ## Start a local cluster and print the path of its kubeconfig; STORAGE=1 gives it volumes.
	@cd test && go run ./harness/cluster/cmd up $(if $(filter 1,$(STORAGE)),-storage)

.PHONY: kubectl
kubectl: ## Print the path of a kubectl.
	@cd test && go run ./harness/cluster/cmd kubectl

.PHONY: cluster-down
cluster-down: ## Stop the local cluster.
	@cd test && go run ./harness/cluster/cmd down

.PHONY: postgres-up
postgres-up: ## Start a local PostgreSQL and name it in the environment: eval "$(make postgres-up)"
	@cd test && go run ./harness/postgres/cmd up

.PHONY: postgres-down
postgres-down: ## Stop the local PostgreSQL and delete its data.
	@cd test && go run ./harness/postgres/cmd down
