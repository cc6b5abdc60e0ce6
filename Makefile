# `make` lists the targets. All targets need Go, git and gcc: Go modules contain
# the tools, and the fleet of the end-to-end tests. `make test` installs the
# other programs for the tests with .ci/needs.

# A failed command inside of $$(…) stops a recipe only if the recipe assigns the
# output to a variable first.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Without cgo, all targets share their compiled packages with each other, and with the programs of the images. Only the race
# detector needs cgo. No test reads debug information.
export CGO_ENABLED := 0
RACE := CGO_ENABLED=1 go test -race -gcflags=all=-dwarf=false
# The lint has go vet's checks for the code of Towline. In a test, go vet would also read all packages that the test imports: thousands
# for the contract with Argo CD.
export GOFLAGS := $(filter-out -vet=off,$(shell go env GOFLAGS 2>/dev/null)) -vet=off

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# The image of `make image`, and of the manifests.
IMAGE ?= towline:latest
# The platforms of `make image`, and the destination of the result: --load or
# --push.
PLATFORMS ?= linux/amd64
IMAGE_OUTPUT ?= --load
# The version in the programs of an image: the tag of IMAGE, because `kubectl
# towline check` compares the version of the plugin with the tag. The tag latest
# names no version. VERSION on the command line overrides the tag.
IMAGE_TAG = $(filter-out latest,$(word 2,$(subst :, ,$(notdir $(firstword $(subst @, ,$(IMAGE)))))))
IMAGE_VERSION = $(or $(if $(filter file,$(origin VERSION)),$(IMAGE_TAG)),$(VERSION))
# The namespace of `make install-manifest`, which is the namespace of Argo CD on
# the hub, and more flags for the chart, for example HELM_FLAGS='--set
# profile=acm'.
NAMESPACE ?= argocd
HELM_FLAGS ?=
# The kustomize overlay with the add-ons for `make addon-manifest`.
OVERLAY ?= argocd
# The clusters that get the agent from `make addon-manifest`. With placement:
# the clusters of the Placement towline-clusters. Otherwise: the clusters with a
# ManagedClusterAddOn.
AGENT ?=
# More flags for the end-to-end suite, for example
# E2E_FLAGS='-ginkgo.focus=guestbook'.
E2E_FLAGS ?=
# The specs of the suite: all specs except the specs for works in Maestro.
E2E_LABELS = '-ginkgo.label-filter=!maestro'
# The labels of the specs in e2e-short. `make test` also leaves out the nightly specs.
E2E_SHORT = !long && !maestro
# The versions of Argo CD in the fleet. The hub has the first version, and the
# clusters take turns. Default: 3,2.14, and 3 for the demo.
ARGOCD ?=
export TOWLINE_FLEET_ARGOCD = $(ARGOCD)
# OLDEST=1 runs the oldest supported versions in the fleet and for the tests
# against an API server: see docs/compatibility.md.
OLDEST ?=
export TOWLINE_FLEET_OLDEST = $(OLDEST)
# NEWEST=1 runs the newest versions that can be built. Go loads the newer Go for
# these versions.
NEWEST ?=
export TOWLINE_FLEET_NEWEST = $(NEWEST)
# The place of the works for the demo and for fleet-up: the hub's etcd, or
# Maestro, which needs Debian's packages postgresql and mosquitto.
TRANSPORT ?= hub
# OPEN=1 opens the status page of the demo in a browser.
OPEN ?=
# The check of this machine before the demo and fleet-up. `make demo NEEDS=:`
# starts without the check.
NEEDS ?= go -C e2e run ./cmd/needs --transport=$(TRANSPORT)
E2E_TIMEOUT ?= 80m
ENVTEST_TIMEOUT ?= 25m
# The size of `make bench`, and more flags, for example BENCH_FLAGS='--profiles
# profiles'.
CLUSTERS ?= 2000
SETS ?= 5
BENCH_FLAGS ?=

CONTROLLER_GEN := go tool -modfile=.ci/tools/go.mod controller-gen
KUSTOMIZE := go tool -modfile=$(CURDIR)/.ci/tools/go.mod kustomize
CRD_REF_DOCS := go tool -modfile=$(CURDIR)/.ci/tools/docs/go.mod crd-ref-docs
HELM := go tool -modfile=$(CURDIR)/.ci/tools/helm4/go.mod helm
ACTIONLINT := go tool -modfile=$(CURDIR)/.ci/tools/release/go.mod actionlint
GOLANGCI_LINT := go tool -modfile=$(CURDIR)/.ci/tools/golangci-lint/go.mod golangci-lint

# The version in the workflow release.yml.
GORELEASER_VERSION := v2.16.0

# The program that GoReleaser calls for an SBOM.
SYFT_VERSION := v1.57.0

# Runs a target under a headline, so that readers can find the target in a long
# log.
step = +@printf '\n==> %s\n' "$(1)" && $(MAKE) --no-print-directory $(1)
# Two jobs print one after another, with GNU make 4.
IN_TURN := $(if $(filter output-sync,$(.FEATURES)),--output-sync=recurse)

# Runs a command of e2e until Ctrl-C. Only the command gets Ctrl-C, because `go
# run` and make would report the interrupt as an error.
until_interrupted = @go -C e2e build -o ../bin/$(1) ./cmd/$(1) && set -m && bin/$(1) $(2); exit

##@ Try

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9.-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Run a hub and two clusters on this machine, with the guestbook, until Ctrl-C.
	@command -v go > /dev/null || { echo 'The demo needs Go: https://go.dev/dl' >&2; exit 1; }
	@echo 'Go compiles the demo. The first time, a minute or two pass without further lines.'
	@$(NEEDS)
	$(call until_interrupted,demo,--transport=$(TRANSPORT) $(if $(OPEN),--open))

.PHONY: fleet-up
fleet-up: ## Start a hub and two clusters without Towline.
	@$(NEEDS)
	$(call until_interrupted,fleet,up --transport=$(TRANSPORT))

.PHONY: fleet-down
fleet-down: ## Stop the hub and the clusters of fleet-up.
	go -C e2e run ./cmd/fleet down

##@ Test

.PHONY: test
# With fewer garbage collections, a compiler needs a fifth less CPU. The value is lower for the steps that run at the same time:
# with 400 in all processes, the steps used all of 24 GB of memory.
test: export GOGC := 400
test: ## Run all required tests. The target installs missing programs, or prints the command to install the programs.
	.ci/needs
	$(call step,verify)
	go -C e2e run ./cmd/fleet build
	@$(MAKE) --no-print-directory prebuild envtest-prepare e2e-prepare
	@GOGC=200 $(MAKE) --no-print-directory -j5 $(IN_TURN) 'E2E_SHORT=!long && !nightly && !maestro' $(STEPS) $(BESIDE)
	@printf '\n==> all tests passed\n'

# The tests against an API server and the specs often wait. So these tests run in several parts at the same time, each with an API
# server or a fleet. The other checks run at the same time with a lower priority.
.PHONY: beside-lint beside-unit beside-e2e
# With GOGC=400, the linters need 8 GB more.
beside-lint: export GOGC := 100
beside-lint:
	$(call step,lint)
beside-unit:
	$(call step,test-unit)
beside-e2e:
	$(call step,test-simulation)
	$(call step,test-fuzz)
	$(call step,test-contract)
	$(call step,test-fleet)

ENVTEST_STEPS := step-envtest-half step-envtest-rest step-envtest-others
FLEET_STEPS := step-e2e-half-first step-e2e-half-second step-faults-brief
STEPS := $(ENVTEST_STEPS) $(FLEET_STEPS)
BESIDE := step-beside-lint step-beside-unit step-beside-e2e
.PHONY: $(STEPS) $(BESIDE)
$(STEPS): step-%:
	$(call step,$*)
$(BESIDE): step-%:
	@nice $(MAKE) --no-print-directory $*
# The API servers and the fleets of all parts together need too much memory. Without memory, an API server does not answer for
# half a minute.
$(FLEET_STEPS): $(ENVTEST_STEPS)
step-beside-e2e: step-beside-lint step-beside-unit

HALF := ^Test[A-F]
ENVTEST_ASSETS = assets="$$(go -C e2e run ./cmd/fleet assets)"; export KUBEBUILDER_ASSETS="$$assets";
ENVTEST = $(ENVTEST_ASSETS) $(RACE) -timeout $(ENVTEST_TIMEOUT)
# The tests of the controllers, linked once for several parts. As with `go test`, an exit without a result is a failure.
PREPARED = test -x bin/envtest.test || { echo 'bin/envtest.test is missing: run make envtest-prepare' >&2; exit 1; }; \
	$(ENVTEST_ASSETS) cd controllers/envtest && ../../bin/envtest.test -test.paniconexit0 -test.timeout=$(ENVTEST_TIMEOUT)

.PHONY: envtest-prepare
envtest-prepare:
	$(RACE) -c -o bin/envtest.test ./controllers/envtest

.PHONY: envtest-half envtest-rest envtest-others
envtest-half:
	$(PREPARED) -test.run='$(HALF)'
envtest-rest:
	$(PREPARED) -test.skip='$(HALF)'
envtest-others:
	$(ENVTEST) ./cmd/kubectl-towline ./pkg/ui/hub ./deploy/attacks ./deploy/commands
	$(PREPARED) -test.run='$(PUBLISHED)' -published-crds

# The tests that concern the narrower CRDs of other products, again with these CRDs instead of Towline's CRDs.
PUBLISHED := ^TestAggregation|^TestReport|^TestNoReport|^TestGitOpsCluster

.PHONY: test-published
test-published: ## Run all tests against an API server, with the CRDs of other products instead of Towline's CRDs.
	$(ENVTEST) ./controllers/envtest -published-crds

# The longest delay of Towline behind the hub.
SLOW ?= 300ms
.PHONY: test-slow
test-slow: ENVTEST_TIMEOUT = 60m
test-slow: ## Run the controllers' tests against an API server with a delayed Towline: a test must not depend on a fast Towline.
	$(ENVTEST) ./controllers/envtest -slow $(SLOW)

# The programs for tests with a time limit, built before the tests: both versions of Helm, helm-unittest, and the plugin. Go
# commands that run at the same time compile a package twice, so the packages of all modules are compiled before.
.PHONY: prebuild
prebuild:
	for module in . e2e cmd/towline-maestro cmd/towline-source; do go -C $$module build ./... || exit; done
	go build -o /dev/null ./cmd/kubectl-towline
	for version in helm3 helm4; do go tool -n -modfile=.ci/tools/$$version/go.mod helm > /dev/null || exit; done
	go tool -n -modfile=.ci/tools/helm-unittest/go.mod helm-unittest > /dev/null

.PHONY: test-unit
test-unit: prebuild ## Run the tests that need no API server.
	packages=$$(go list ./... | grep -vE '/towline/(controllers/envtest|cmd/kubectl-towline|pkg/ui/hub|deploy/(attacks|commands))$$'); \
		$(RACE) $$packages
	go -C cmd/towline-maestro test ./...
	cd cmd/towline-maestro && $(RACE) ./internal/mirror ./internal/contact
	go -C cmd/towline-source test ./...
	cd cmd/towline-source && $(RACE) ./internal/mirror

# The duration of the simulation. Each seed is another schedule, and SEED is the
# first seed.
TIME ?= 1m
SEED ?= 0
.PHONY: simulate
simulate: ## Simulate propagation in a fleet with users and faults for TIME, with all pairs of user actions.
	go test ./controllers/propagation/simulation -count=1 -v -timeout 0 -run '^Test(Simulate|Pairs|Interruptions)$$' -simulation.time $(TIME) -simulation.seed $(SEED)

.PHONY: test-simulation
test-simulation: ## Run one minute of the simulation.
	go test ./controllers/propagation/simulation -count=1

.PHONY: mutants
mutants: ## Break propagation in one place at a time, and show that the simulation notices.
	controllers/propagation/simulation/mutants

.PHONY: fuzz
fuzz: ## Run each fuzz target for TIME; FUZZ chooses targets by folder or name.
	TIME=$(TIME) .ci/fuzz $(FUZZ)

.PHONY: test-fuzz
test-fuzz: ## Try 10,000 inputs of each fuzz target. test-contract runs the cases of the fuzz targets against Argo CD.
	@# A number instead of a time: Go 1.26 can report the end of a time as a failure ("context deadline exceeded").
	TIME=10000x GUIDED=false .ci/fuzz cmd pkg

.PHONY: mutation
mutation: ## Change each decision of some packages, and show that the tests notice; see docs/reliability.md.
	go -C e2e run ./cmd/mutate $(MUTATE)

.PHONY: test-envtest
test-envtest: ## Run the unit tests, and the tests against a real API server.
	$(ENVTEST) ./...
	$(ENVTEST) -run '$(PUBLISHED)' ./controllers/envtest -published-crds

.PHONY: test-contract
test-contract: ## Read Towline's output with the code of Argo CD, OCM, and the Operator Lifecycle Manager.
	# With the flags of the fleet's programs, the tests share the compiled packages with the programs.
	go -C e2e/programs/argocd test -trimpath -gcflags=all=-dwarf=false ./...
	go -C e2e/programs/fleet test -trimpath -gcflags=all=-dwarf=false ./...
	go -C e2e/contract test -trimpath -gcflags=all=-dwarf=false ./...
	go -C .ci/tools/olm test -vet= ./...
	go -C .ci/tools/globs test -vet= ./...

.PHONY: test-fleet
test-fleet: ## Test the fleet program itself on real fleets.
	packages=$$(go -C e2e list ./... | grep -v '/e2e/suite'); \
		TOWLINE_FLEET_TEST=1 go -C e2e test -timeout 30m $$packages

.PHONY: test-maestro
test-maestro: ## Test a fleet with works in Maestro; needs Debian's packages postgresql and mosquitto.
	TOWLINE_MAESTRO_TEST=1 go -C e2e test ./fleet -run '^TestMaestro$$' -count=1 -v -timeout 30m

.PHONY: test-migration
test-migration: ## Move the works of a fleet from the hub's etcd to Maestro and back, with running Applications; needs postgresql and mosquitto.
	TOWLINE_MAESTRO_TEST=1 go -C e2e test ./migration -count=1 -v -timeout 30m

.PHONY: test-hubs
test-hubs: ## Test a hub of hubs: a top hub, and two regional hubs with a cluster each; needs 8 GB of memory.
	TOWLINE_HUBS_TEST=1 go -C e2e test ./hubs -count=1 -v -timeout 40m

.PHONY: test-demo
test-demo: ## Run the demo, and the commands in its last lines. TRANSPORT=maestro tests the demo with Maestro.
	TOWLINE_DEMO_TEST=$(TRANSPORT) go -C e2e test ./cmd/demo -run '^TestDemo$$' -count=1 -v -timeout 60m

# The order of the specs is random, and the same in each run, so that a failure can be repeated. Another number gives another
# order.
E2E_SEED ?= 138850406

# The folder of the suite's reports. Each run adds a report, and `make matrix` reads all reports.
E2E_REPORTS ?= $(CURDIR)/bin/e2e-reports
RECORD = -towline.reports=$(E2E_REPORTS)

.PHONY: e2e
e2e: ## Run the end-to-end suite: a hub and clusters as local processes.
	go -C e2e test ./suite/... -count=1 -v -timeout $(E2E_TIMEOUT) -ginkgo.v -ginkgo.no-color -ginkgo.randomize-all -ginkgo.seed=$(E2E_SEED) $(RECORD) $(E2E_LABELS) $(E2E_FLAGS)

.PHONY: e2e-short
e2e-short: e2e-prepare ## Run the suite without the long specs, in two halves side by side, each with a fleet.
	@$(MAKE) --no-print-directory -j2 $(IN_TURN) OLDEST=$(OLDEST) NEWEST=$(NEWEST) e2e-half-first e2e-half-second

.PHONY: e2e-prepare
e2e-prepare:
	rm -rf bin/e2e-halves
	mkdir -p bin/e2e-halves
	go -C e2e test -c -o ../bin/e2e-halves/suite.test ./suite

.PHONY: e2e-half-first e2e-half-second
e2e-half-first e2e-half-second: e2e-half-%:
	cd e2e/suite && ../../bin/e2e-halves/suite.test -test.paniconexit0 -test.v -test.timeout=$(E2E_TIMEOUT) -ginkgo.v -ginkgo.no-color -ginkgo.randomize-all \
		-ginkgo.seed=$(E2E_SEED) '-ginkgo.label-filter=$(E2E_SHORT)' -towline.half=$* -towline.halves=$(CURDIR)/bin/e2e-halves $(RECORD) $(E2E_FLAGS)

.PHONY: e2e-oldest
e2e-oldest: OLDEST := 1
e2e-oldest: e2e-short ## Run the suite with the oldest supported versions of Kubernetes, Open Cluster Management and Argo CD.

.PHONY: e2e-newest
e2e-newest: NEWEST := 1
e2e-newest: e2e-short ## Run the suite with the newest versions of Kubernetes and Argo CD.

.PHONY: matrix
matrix: ## Make e2e/matrix/*.json and the blocks of docs/compatibility.md from the reports of e2e, e2e-short, e2e-oldest and e2e-newest.
	go -C e2e run ./cmd/matrix --reports=$(E2E_REPORTS)

.PHONY: e2e-acm
e2e-acm: E2E_LABELS := '-ginkgo.label-filter=rights && !long && !imports' -towline.profile=acm
e2e-acm: e2e ## Run a part of the suite with the chart's profile acm, which must use all rights of the profile.

.PHONY: e2e-acm-2.16
e2e-acm-2.16: E2E_LABELS := '-ginkgo.label-filter=rights && !long && imports' -towline.profile=acm-without-app-lifecycle
e2e-acm-2.16: e2e ## Run the specs of GitOpsClusters on a hub of Advanced Cluster Management without the component app-lifecycle.

.PHONY: e2e-maestro
e2e-maestro: E2E_LABELS := '-ginkgo.label-filter=!long && !etcd' -towline.transport=maestro
e2e-maestro: e2e ## Run the suite with the works in Maestro; needs Debian's packages postgresql and mosquitto.

# The faults to inject. POINT: a single point, for example move/kill-after/3. FLOW: a pattern of flows. POINTS: the number of
# points with one fault, 0 for all points. PAIRS: the number of points with two faults.
POINT ?=
FLOW ?= .
POINTS ?= 0
PAIRS ?= 500
FAULTS_FLAGS ?=
.PHONY: faults
faults: ## Inject a fault at each write of Towline in every flow, on a real hub; see docs/reliability.md.
	TOWLINE_FAULTS=1 go -C e2e test ./faults -run '^TestFaults$$' -count=1 -v -timeout 0 -faults.seed=$(SEED) -faults.point='$(POINT)' \
		-faults.flow='$(FLOW)' -faults.points=$(POINTS) -faults.pairs=$(PAIRS) $(FAULTS_FLAGS)

.PHONY: faults-brief
faults-brief: ## Inject a fixed set of a few faults of each kind: see e2e/faults/brief.go.
	TOWLINE_FAULTS=1 go -C e2e test ./faults -run '^TestFaults$$' -count=1 -v -timeout 30m

.PHONY: faults-planted
faults-planted: ## Show that the faults find five planted bugs.
	TOWLINE_FAULTS=1 go -C e2e test ./faults -run '^TestPlanted$$' -count=1 -v -timeout 0

# The number of leaders to stop.
KILLS ?= 50
.PHONY: failover
failover: ## Stop the leader of two replicas in four ways during flows, on a real hub; see docs/reliability.md.
	TOWLINE_FAULTS=1 go -C e2e test ./faults -run '^TestFailover$$' -count=1 -v -timeout 0 -faults.seed=$(SEED) -failover.kills=$(KILLS) $(FAULTS_FLAGS)

# The number of Applications that keep Towline busy.
ENDURANCE_APPLICATIONS ?= 1000
.PHONY: endurance
endurance: TIME = 15m
endurance: ## Keep two replicas busy for TIME on a real hub, and show that no resource grows; see docs/reliability.md.
	TOWLINE_FAULTS=1 go -C e2e test ./faults -run '^TestEndurance$$' -count=1 -v -timeout 0 -faults.seed=$(SEED) -endurance.time=$(TIME) \
		-endurance.applications=$(ENDURANCE_APPLICATIONS) $(FAULTS_FLAGS)

.PHONY: endurance-played
endurance-played: TIME = 30m
endurance-played: ## Run a longer endurance test on a hub with simulated clusters: a thousand Applications that change, and come and go.
	go -C e2e run ./cmd/bench endure --time $(TIME) $(BENCH_FLAGS)

.PHONY: bench
bench: ## Measure Towline on a hub of CLUSTERS × SETS Applications; see docs/scale.md.
	go -C e2e run ./cmd/bench run --clusters $(CLUSTERS) --sets $(SETS) --json $(CURDIR)/bench-$(CLUSTERS)x$(SETS).json $(BENCH_FLAGS)

.PHONY: bench-cost
bench-cost: ## Measure a real work agent beside plain works, and fail if a ratio is outside e2e/bench/thresholds-cost.yaml.
	go -C e2e run ./cmd/bench cost --applications 100 --thresholds bench/thresholds-cost.yaml $(BENCH_FLAGS)

.PHONY: bench-maestro
bench-maestro: ## Measure Towline with works in Maestro; see docs/scale.md.
	$(MAKE) bench BENCH_FLAGS='--transport maestro --json $(CURDIR)/bench-maestro-$(CLUSTERS)x$(SETS).json $(BENCH_FLAGS)'

.PHONY: bench-check
bench-check: ## Measure a small hub, and fail if a ratio is outside e2e/bench/thresholds.yaml.
	go -C e2e run ./cmd/bench run --clusters 100 --sets 5 --changes 50 --storm 5s --idle 10s --thresholds bench/thresholds.yaml

.PHONY: verify
verify: ## Fail if generated files or go.mod are not current, a licence is not permitted, or a text has too many pointing words (.ci/words).
	.ci/verify
	.ci/licences

.PHONY: lint
lint: ## Run static checks of the program and of the end-to-end tests.
	$(GOLANGCI_LINT) run ./...
	cd e2e && $(GOLANGCI_LINT) run ./...
	cd cmd/towline-maestro && $(GOLANGCI_LINT) run ./...
	cd cmd/towline-source && $(GOLANGCI_LINT) run ./...
	$(ACTIONLINT)

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in called functions, in vuln.go.dev or in VULNDB of the module proxy.
	VULNDB=$(VULNDB) .ci/vulncheck

.PHONY: lint-fix
lint-fix: ## Let the linters fix problems.
	$(GOLANGCI_LINT) run --fix ./...
	cd e2e && $(GOLANGCI_LINT) run --fix ./...

##@ Build

.PHONY: plugin
plugin: ## Build bin/kubectl-towline, a plugin of kubectl.
	go build -ldflags '-s -w -X main.version=$(VERSION)' -o bin/kubectl-towline ./cmd/kubectl-towline

.PHONY: build
build: ## Build bin/towline.
	go build -ldflags '-s -w -X main.version=$(VERSION)' -o bin/towline ./cmd/towline

.PHONY: generate
generate: ## Generate the deep copies of the API types, the contract tests of Argo CD 3, docs/cli, docs/reference and docs/compatibility.md.
	$(CONTROLLER_GEN) object paths=./pkg/apis/...
	.ci/contract-tests
	go run -tags reference ./cmd/kubectl-towline docs/cli
	rm -rf docs/reference && mkdir -p docs/reference
	go run -tags reference ./cmd/towline docs/reference/flags.md
	$(CRD_REF_DOCS) --source-path=pkg/apis/apps --config=.ci/tools/docs/crd-ref-docs.yaml --renderer=markdown \
		--output-path=docs/reference/crds.md --log-level=WARN
	go -C .ci/tools/docs run . $(CURDIR) $(CURDIR)/docs/reference
	go -C e2e run ./cmd/matrix

.PHONY: manifests
manifests: ## Generate the CRDs, the role, the files of the chart, deploy/install.yaml and the bundles.
	rm -f deploy/crds/apps.open-cluster-management.io_*.yaml
	$(CONTROLLER_GEN) crd paths=./pkg/apis/apps/... output:crd:dir=deploy/crds
	cp deploy/crds/apps.open-cluster-management.io_multiclusterapplicationsetreports.yaml controllers/aggregation/crd.yaml
	paths=$$(go list ./controllers/... ./cmd/... | grep -v '/controllers/decisions$$' | sed 's/^/paths=/'); \
		$(CONTROLLER_GEN) rbac:roleName=towline-controller $$paths output:rbac:dir=deploy/rbac
	$(CONTROLLER_GEN) rbac:roleName=towline-decisions,fileName=decisions.yaml paths=./controllers/decisions output:rbac:dir=deploy/rbac
	{ cat .ci/install-header.yaml; $(KUSTOMIZE) build deploy/overlays/argocd; } > deploy/install.yaml.new
	mv deploy/install.yaml.new deploy/install.yaml
	.ci/chart-files
	.ci/bundle deploy/bundle/source deploy/bundle v0.0.0-dev towline:latest
	.ci/bundle deploy/bundle-source/source deploy/bundle-source v0.0.0-dev towline-source:latest

# The modules with one version of each shared dependency: Go compiles each package of a dependency once for all these modules. The
# programs of the fleet, FOLLOWERS, and the tools without a dependency of Kubernetes choose their own versions.
MODULES := . e2e cmd/towline-maestro cmd/towline-source .ci/tools .ci/tools/docs .ci/tools/helm3 .ci/tools/helm4 .ci/tools/helm-unittest .ci/tools/olm
# The other modules that import Towline. Go refuses to build a module with older requirements than Towline.
FOLLOWERS := e2e/contract

.PHONY: tidy tidy-modules
tidy: tidy-modules ## Update go.mod and go.sum to the imports of the code, with the same versions in all modules.
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && export GOWORK="$$folder/go.work" && \
		go work init $(addprefix ./,$(MODULES)) && go work sync
	@$(MAKE) --no-print-directory tidy-modules
tidy-modules:
	for module in $(MODULES) $(FOLLOWERS); do go -C $$module mod tidy || exit; done

.PHONY: image
image: ## Build the image IMAGE for PLATFORMS; IMAGE_OUTPUT=--push pushes the image.
	docker buildx build --platform $(PLATFORMS) --build-arg VERSION=$(IMAGE_VERSION) --tag $(IMAGE) $(IMAGE_OUTPUT) .

.PHONY: image-maestro
image-maestro: ## Build the image of towline-maestro for deploy/maestro.
	docker buildx build --target maestro --platform $(PLATFORMS) --build-arg VERSION=$(IMAGE_VERSION) --tag $(IMAGE) $(IMAGE_OUTPUT) .

.PHONY: image-source
image-source: ## Build the image of towline-source for deploy/source.
	docker buildx build --target source --platform $(PLATFORMS) --build-arg VERSION=$(IMAGE_VERSION) --tag $(IMAGE) $(IMAGE_OUTPUT) .

.PHONY: install-manifest
install-manifest: ## Write bin/install.yaml for IMAGE and NAMESPACE, from the chart with HELM_FLAGS.
	mkdir -p bin
	image=$$(.ci/image-values $(IMAGE)); \
		$(HELM) template towline deploy/chart --namespace $(NAMESPACE) --skip-tests $$image $(HELM_FLAGS) > bin/install.yaml.new
	mv bin/install.yaml.new bin/install.yaml
	@echo 'kubectl apply -f bin/install.yaml'

# The version of the packaged chart, as SemVer.
CHART_VERSION ?= 0.0.0-dev

.PHONY: chart
chart: ## Package deploy/chart for VERSION as bin/towline-CHART_VERSION.tgz.
	$(HELM) package deploy/chart --version $(CHART_VERSION) --app-version $(VERSION) --destination bin

# The folder with the add-ons of OVERLAY.
ADDON = $(or $(patsubst %/,%,$(dir $(wildcard deploy/overlays/$(OVERLAY)/addon/kustomization.yaml))),deploy/addon)

.PHONY: addon-manifest
addon-manifest: ## Write bin/addon.yaml, the add-ons for the hub, for IMAGE and OVERLAY; AGENT=placement puts the agent on all clusters.
	@[[ -n "$(OVERLAY)" && -d deploy/overlays/$(OVERLAY) ]] || { echo "OVERLAY=$(OVERLAY) is not a folder of deploy/overlays" >&2; exit 1; }
	@[[ "$(AGENT)" =~ ^(placement)?$$ ]] || { echo "AGENT=$(AGENT) is neither placement nor empty" >&2; exit 1; }
	rm -rf bin/addon-manifest
	mkdir -p bin/addon-manifest
	cd bin/addon-manifest && \
		$(KUSTOMIZE) create --resources ../../$(ADDON) && \
		if [[ "$(AGENT)" == placement ]]; then $(KUSTOMIZE) edit add component ../../deploy/components/agent-by-placement; fi && \
		printf 'configurations: [../../deploy/addon/images.yaml]\n' >> kustomization.yaml && \
		$(KUSTOMIZE) edit set image towline=$(IMAGE)
	$(KUSTOMIZE) build --load-restrictor LoadRestrictionsNone bin/addon-manifest > bin/addon.yaml
	@echo 'kubectl apply -f bin/addon.yaml'

.PHONY: release-snapshot
release-snapshot: bin/syft-$(SYFT_VERSION)/syft ## Build the files of a release of kubectl towline into bin/release, without signatures, and publish no file.
	PATH="$(CURDIR)/bin/syft-$(SYFT_VERSION):$$PATH" \
		go run github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION) release --snapshot --clean --skip=sign

bin/syft-$(SYFT_VERSION)/syft:
	GOBIN=$(CURDIR)/$(@D) go install github.com/anchore/syft/cmd/syft@$(SYFT_VERSION)

# Mermaid draws the pictures of the site. The theme requires this version.
MERMAID := mermaid-8.14.0

.PHONY: site
site: ## Build the site of the documentation into bin/site; needs mkdocs-material and npm.
	mkdir -p bin
	[[ -e bin/$(MERMAID)/package ]] || { mkdir -p bin/$(MERMAID) && cd bin/$(MERMAID) && \
		npm pack --silent mermaid@$(MERMAID:mermaid-%=%) && tar --extract --file $(MERMAID).tgz; }
	MERMAID=$(CURDIR)/bin/$(MERMAID)/package/dist/mermaid.min.js PYTHONPATH=.ci PYTHONDONTWRITEBYTECODE=1 \
		mkdocs build --strict --quiet --config-file .ci/mkdocs.yml

.PHONY: clean
clean: ## Remove all built files.
	rm -rf bin
