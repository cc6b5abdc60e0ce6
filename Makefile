# `make` lists the targets. Everything needs Go, git and gcc: the tools, and the
# fleet that the end-to-end tests run on, are built from Go modules. `make test`
# installs the other programs that some tests need, by .ci/needs.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# The image to build, and to put into a manifest.
IMAGE ?= towline:latest
# The platforms of `make image`, and where the result goes: --load or --push.
PLATFORMS ?= linux/amd64
IMAGE_OUTPUT ?= --load
# The namespace of `make install-manifest`, that of Argo CD on the hub, and more
# flags for the chart, for example HELM_FLAGS='--set profile=acm'.
NAMESPACE ?= argocd
HELM_FLAGS ?=
# The kustomize overlay whose add-ons `make addon-manifest` writes.
OVERLAY ?= argocd
# Which clusters get the agent by `make addon-manifest`: placement for all that
# the Placement towline-clusters chooses; otherwise those with a
# ManagedClusterAddOn.
AGENT ?=
# More flags for the end-to-end suite, for example
# E2E_FLAGS='-ginkgo.focus=guestbook'.
E2E_FLAGS ?=
# Which specs of it: all but those of works in Maestro.
E2E_LABELS = '-ginkgo.label-filter=!maestro'
# The versions of Argo CD that run: the hub has the first, and the clusters have
# them in turn. Default: 3,2.14, and 3 for the demo.
ARGOCD ?=
export TOWLINE_FLEET_ARGOCD = $(ARGOCD)
# Where the works of the demo and of fleet-up are: in the hub's etcd, or in
# Maestro, which needs Debian's packages postgresql and mosquitto.
TRANSPORT ?= hub
E2E_TIMEOUT ?= 80m
ENVTEST_TIMEOUT ?= 25m
# The size of `make bench`, and more of its flags, for example
# BENCH_FLAGS='--profiles profiles'.
CLUSTERS ?= 2000
SETS ?= 5
BENCH_FLAGS ?=

CONTROLLER_GEN := go tool -modfile=.ci/tools/go.mod controller-gen
KUSTOMIZE := go tool -modfile=$(CURDIR)/.ci/tools/go.mod kustomize
CRD_REF_DOCS := go tool -modfile=$(CURDIR)/.ci/tools/docs/go.mod crd-ref-docs
HELM := go tool -modfile=$(CURDIR)/.ci/tools/helm4/go.mod helm
ACTIONLINT := go tool -modfile=$(CURDIR)/.ci/tools/release/go.mod actionlint
GOLANGCI_LINT := go tool -modfile=$(CURDIR)/.ci/tools/golangci-lint/go.mod golangci-lint

# The one that the workflow release.yml uses.
GORELEASER_VERSION := v2.16.0

# What GoReleaser calls for an SBOM.
SYFT_VERSION := v1.57.0

# Recurses into a target with a headline, so that a long log can be found one's
# way in.
step = +@printf '\n==> %s\n' "$(1)" && $(MAKE) --no-print-directory $(1)
# Has two jobs print one after the other, where make can (GNU make 4).
IN_TURN := $(if $(filter output-sync,$(.FEATURES)),--output-sync=recurse)

# Runs a command of e2e until Ctrl-C, which is for it alone: `go run` and make
# would call that an error.
until_interrupted = @go -C e2e build -o ../bin/$(1) ./cmd/$(1) && set -m && bin/$(1) $(2); exit

##@ Try

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Run a hub and two clusters here, and the guestbook on them, until Ctrl-C.
	$(call until_interrupted,demo,--transport=$(TRANSPORT))

.PHONY: fleet-up
fleet-up: ## Start a hub and two clusters, without Towline.
	$(call until_interrupted,fleet,up --transport=$(TRANSPORT))

.PHONY: fleet-down
fleet-down: ## Stop them.
	go -C e2e run ./cmd/fleet down

##@ Test

.PHONY: test
test: ## Everything that must pass. It installs what it needs, or names the command that does.
	.ci/needs
	$(call step,verify)
	go -C e2e run ./cmd/fleet build
	@$(MAKE) --no-print-directory prebuild
	go test -race -c -o /dev/null ./controllers # compiled once, for both halves
	@$(MAKE) --no-print-directory -j3 $(IN_TURN) step-envtest-half step-envtest-rest step-beside
	$(call step,test-simulation)
	$(call step,faults-brief)
	$(call step,e2e-short)
	@printf '\n==> all tests passed\n'

# The tests against an API server wait more than they work. So they run in two halves, each with an API server of its
# own, and the rest goes on beside them, and gives way to them.
.PHONY: beside
beside:
	$(call step,lint)
	$(call step,test-fuzz)
	$(call step,test-contract)
	$(call step,test-fleet)

.PHONY: step-envtest-half step-envtest-rest step-beside
step-envtest-half:
	$(call step,envtest-half)
step-envtest-rest:
	$(call step,envtest-rest)
step-beside:
	@nice $(MAKE) --no-print-directory beside

HALF := ^Test[A-F]
ENVTEST = assets="$$(go -C e2e run ./cmd/fleet assets)"; \
	KUBEBUILDER_ASSETS="$$assets" go test -race -timeout $(ENVTEST_TIMEOUT)

.PHONY: envtest-half envtest-rest
envtest-half:
	$(ENVTEST) -run '$(HALF)' ./controllers
envtest-rest: test-unit
	$(ENVTEST) -skip '$(HALF)' ./controllers
	$(ENVTEST) ./cmd/kubectl-towline ./pkg/ui/hub ./deploy/attacks ./deploy/commands
	$(PUBLISHED)

# What the CRDs concern that other products bring, which are narrower, once more with those in place of Towline's.
PUBLISHED = $(ENVTEST) -run '^TestAggregation|^TestReport|^TestNoReport|^TestGitOpsCluster' ./controllers -published-crds

.PHONY: test-published
test-published: ## All tests against an API server, with the CRDs that other products bring in place of Towline's.
	$(ENVTEST) ./controllers -published-crds

# By how much Towline lags behind the hub at most.
SLOW ?= 300ms
.PHONY: test-slow
test-slow: ENVTEST_TIMEOUT = 60m
test-slow: ## The controllers' tests against an API server, with a Towline that lags: no test may count on it being fast.
	$(ENVTEST) ./controllers -slow $(SLOW)

# What tests run whose time is bounded, built before it runs: both versions that render the chart, helm-unittest, and the plugin.
.PHONY: prebuild
prebuild:
	CGO_ENABLED=0 go build -trimpath -o /dev/null ./cmd/kubectl-towline
	for version in helm3 helm4; do go tool -n -modfile=.ci/tools/$$version/go.mod helm > /dev/null || exit; done
	go tool -n -modfile=.ci/tools/helm-unittest/go.mod helm-unittest > /dev/null

.PHONY: test-unit
test-unit: prebuild ## The tests that need no API server.
	go test -race $$(go list ./... | grep -vE '/towline/(controllers|cmd/kubectl-towline|pkg/ui/hub|deploy/(attacks|commands))$$')
	go -C cmd/towline-maestro test ./...
	go -C cmd/towline-maestro test -race ./internal/mirror ./internal/contact

# How long to simulate; each seed is another schedule, and SEED the first.
TIME ?= 1m
SEED ?= 0
.PHONY: simulate
simulate: ## Run propagation in a simulated fleet with users and faults for TIME, and all pairs of what users do.
	go test ./controllers/propagation/simulation -count=1 -v -timeout 0 -run '^Test(Simulate|Pairs)$$' -simulation.time $(TIME) -simulation.seed $(SEED)

.PHONY: test-simulation
test-simulation: ## Run as much of that as takes a minute.
	go test ./controllers/propagation/simulation -count=1

.PHONY: mutants
mutants: ## Break propagation in one place at a time, and show that the simulation notices.
	controllers/propagation/simulation/mutants

.PHONY: fuzz
fuzz: ## Run each fuzz target for TIME; FUZZ chooses some by folder or name.
	TIME=$(TIME) .ci/fuzz $(FUZZ)

.PHONY: test-fuzz
test-fuzz: ## Try 10,000 inputs of each, but for those against Argo CD, whose cases test-contract runs.
	@# A number and no time: Go 1.26 can take the end of a time for a failure ("context deadline exceeded").
	TIME=10000x GUIDED=false .ci/fuzz cmd pkg

.PHONY: mutation
mutation: ## Change each decision of some packages, and show that their tests notice; see docs/reliability.md.
	go -C e2e run ./cmd/mutate $(MUTATE)

.PHONY: test-envtest
test-envtest: ## Those, and the tests against a real API server.
	$(ENVTEST) ./...
	$(PUBLISHED)

.PHONY: test-contract
test-contract: ## What Towline writes, read by the code of Argo CD, of OCM, and of the Operator Lifecycle Manager.
	CGO_ENABLED=0 go -C e2e/programs/argocd test -trimpath ./...
	CGO_ENABLED=0 go -C e2e/programs/argocd3 test -trimpath ./...
	CGO_ENABLED=0 go -C e2e/programs/ocm test -trimpath ./...
	CGO_ENABLED=0 go -C e2e/contract test -trimpath ./...
	go -C .ci/tools/olm test ./...

.PHONY: test-fleet
test-fleet: ## The tests of the fleet program itself, on real fleets.
	TOWLINE_FLEET_TEST=1 go -C e2e test -timeout 30m $$(go -C e2e list ./... | grep -v '/e2e/suite')

.PHONY: test-maestro
test-maestro: ## A fleet whose works are in Maestro; Debian's packages postgresql and mosquitto are needed.
	TOWLINE_MAESTRO_TEST=1 go -C e2e test ./fleet -run '^TestMaestro$$' -count=1 -v -timeout 30m

.PHONY: test-migration
test-migration: ## Move the works of a fleet from the hub's etcd to Maestro and back, while Applications run; it needs them too.
	TOWLINE_MAESTRO_TEST=1 go -C e2e test ./migration -count=1 -v -timeout 30m

.PHONY: test-hubs
test-hubs: ## A hub of hubs: a top hub, two regional hubs with a cluster each; it takes 6 GB of memory.
	TOWLINE_HUBS_TEST=1 go -C e2e test ./hubs -count=1 -v -timeout 40m

# The specs come in an order of chance that is always the same, so that a failure can be repeated. Another number is another order.
E2E_SEED ?= 138850406

.PHONY: e2e
e2e: ## The end-to-end suite: a hub and clusters as local processes.
	go -C e2e test ./suite/... -count=1 -v -timeout $(E2E_TIMEOUT) -ginkgo.v -ginkgo.no-color -ginkgo.randomize-all -ginkgo.seed=$(E2E_SEED) $(E2E_LABELS) $(E2E_FLAGS)

.PHONY: e2e-short
e2e-short: E2E_LABELS := '-ginkgo.label-filter=!long && !maestro'
e2e-short: e2e ## All of it but the specs that mostly wait: twelve take a third of the time.

.PHONY: e2e-acm
e2e-acm: E2E_LABELS := '-ginkgo.label-filter=rights && !long && !imports' -towline.profile=acm
e2e-acm: e2e ## Some of it with the chart's profile acm, whose rights must all be used then.

.PHONY: e2e-maestro
e2e-maestro: E2E_LABELS := '-ginkgo.label-filter=!long && !etcd' -towline.transport=maestro
e2e-maestro: e2e ## The same with the works in Maestro; Debian's packages postgresql and mosquitto are needed.

# What to let fail: one point alone, as move/kill-after/3; the flows that match; how many points of one fault, 0 for all, and of two.
POINT ?=
FLOW ?= .
POINTS ?= 0
PAIRS ?= 500
FAULTS_FLAGS ?=
.PHONY: faults
faults: ## Let something fail at each write of Towline in every flow, on a real hub; see docs/reliability.md.
	TOWLINE_FAULTS=1 go -C e2e test ./faults -run '^TestFaults$$' -count=1 -v -timeout 0 -faults.seed=$(SEED) -faults.point='$(POINT)' \
		-faults.flow='$(FLOW)' -faults.points=$(POINTS) -faults.pairs=$(PAIRS) $(FAULTS_FLAGS)

.PHONY: faults-brief
faults-brief: ## A few points of each kind of fault, always the same: see e2e/faults/brief.go.
	TOWLINE_FAULTS=1 go -C e2e test ./faults -run '^TestFaults$$' -count=1 -v -timeout 30m

.PHONY: faults-planted
faults-planted: ## Show that the faults find five planted bugs.
	TOWLINE_FAULTS=1 go -C e2e test ./faults -run '^TestPlanted$$' -count=1 -v -timeout 0

# How many leaders to stop.
KILLS ?= 50
.PHONY: failover
failover: ## Stop the leader of two replicas in four ways while flows go on, on a real hub; see docs/reliability.md.
	TOWLINE_FAULTS=1 go -C e2e test ./faults -run '^TestFailover$$' -count=1 -v -timeout 0 -faults.seed=$(SEED) -failover.kills=$(KILLS) $(FAULTS_FLAGS)

# How long to keep Towline busy, and with how many Applications.
ENDURANCE_APPLICATIONS ?= 1000
.PHONY: endurance
endurance: TIME = 15m
endurance: ## Keep two replicas busy for TIME on a real hub, and show that nothing of them grows; see docs/reliability.md.
	TOWLINE_FAULTS=1 go -C e2e test ./faults -run '^TestEndurance$$' -count=1 -v -timeout 0 -faults.seed=$(SEED) -endurance.time=$(TIME) \
		-endurance.applications=$(ENDURANCE_APPLICATIONS) $(FAULTS_FLAGS)

.PHONY: endurance-played
endurance-played: TIME = 30m
endurance-played: ## The same for longer, on a hub whose clusters are played: a thousand Applications that change, and come and go.
	go -C e2e run ./cmd/bench endure --time $(TIME) $(BENCH_FLAGS)

.PHONY: bench
bench: ## Measure Towline on a hub of CLUSTERS × SETS Applications; see docs/scale.md.
	go -C e2e run ./cmd/bench run --clusters $(CLUSTERS) --sets $(SETS) --json $(CURDIR)/bench-$(CLUSTERS)x$(SETS).json $(BENCH_FLAGS)

.PHONY: bench-maestro
bench-maestro: ## The same with works in Maestro; see docs/scale.md.
	$(MAKE) bench BENCH_FLAGS='--transport maestro --json $(CURDIR)/bench-maestro-$(CLUSTERS)x$(SETS).json $(BENCH_FLAGS)'

.PHONY: bench-check
bench-check: ## Measure a small hub, and fail where a ratio of e2e/bench/thresholds.yaml does not hold.
	go -C e2e run ./cmd/bench run --clusters 100 --sets 5 --changes 50 --storm 5s --idle 10s --thresholds bench/thresholds.yaml

.PHONY: verify
verify: ## Fail if generated files or go.mod are not current, a licence does not go with ours, or a text points in place of naming (.ci/words).
	.ci/verify
	.ci/licences

.PHONY: lint
lint: ## Static checks of the program and of the end-to-end tests.
	go vet ./...
	$(GOLANGCI_LINT) run ./...
	go -C e2e vet ./...
	cd e2e && $(GOLANGCI_LINT) run ./...
	go -C cmd/towline-maestro vet ./...
	cd cmd/towline-maestro && $(GOLANGCI_LINT) run ./...
	$(ACTIONLINT)

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in what the programs call, in vuln.go.dev or VULNDB of the module proxy.
	VULNDB=$(VULNDB) .ci/vulncheck

.PHONY: lint-fix
lint-fix: ## Let the linters mend what they can.
	$(GOLANGCI_LINT) run --fix ./...
	cd e2e && $(GOLANGCI_LINT) run --fix ./...

##@ Build

.PHONY: plugin
plugin: ## Build bin/kubectl-towline, a plugin of kubectl.
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/kubectl-towline ./cmd/kubectl-towline

.PHONY: build
build: ## Build bin/towline.
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/towline ./cmd/towline

.PHONY: generate
generate: ## Generate the deep copies of the API types, the contract tests of Argo CD 3, docs/cli and docs/reference.
	$(CONTROLLER_GEN) object paths=./pkg/apis/...
	.ci/contract-tests
	go run -tags reference ./cmd/kubectl-towline docs/cli
	rm -rf docs/reference && mkdir -p docs/reference
	go run -tags reference ./cmd/towline docs/reference/flags.md
	$(CRD_REF_DOCS) --source-path=pkg/apis/apps --config=.ci/tools/docs/crd-ref-docs.yaml --renderer=markdown \
		--output-path=docs/reference/crds.md --log-level=WARN
	go -C .ci/tools/docs run . $(CURDIR) $(CURDIR)/docs/reference

.PHONY: manifests
manifests: ## Generate the CRDs, the role, the files of the chart, deploy/install.yaml and deploy/bundle.
	rm -f deploy/crds/apps.open-cluster-management.io_*.yaml
	$(CONTROLLER_GEN) crd paths=./pkg/apis/apps/... output:crd:dir=deploy/crds
	cp deploy/crds/apps.open-cluster-management.io_multiclusterapplicationsetreports.yaml controllers/aggregation/crd.yaml
	$(CONTROLLER_GEN) rbac:roleName=towline-controller $$(go list ./controllers/... ./cmd/... | grep -v '/controllers/decisions$$' | sed 's/^/paths=/') \
		output:rbac:dir=deploy/rbac
	$(CONTROLLER_GEN) rbac:roleName=towline-decisions,fileName=decisions.yaml paths=./controllers/decisions output:rbac:dir=deploy/rbac
	{ cat .ci/install-header.yaml; $(KUSTOMIZE) build deploy/overlays/argocd; } > deploy/install.yaml.new
	mv deploy/install.yaml.new deploy/install.yaml
	.ci/chart-files
	.ci/bundle deploy/bundle v0.0.0-dev towline:latest

.PHONY: tidy
tidy: ## Make go.mod and go.sum say what the code imports.
	go mod tidy
	go -C e2e mod tidy
	go -C cmd/towline-maestro mod tidy

.PHONY: image
image: ## Build the image IMAGE for PLATFORMS; IMAGE_OUTPUT=--push pushes it.
	docker buildx build --platform $(PLATFORMS) --build-arg VERSION=$(VERSION) --tag $(IMAGE) $(IMAGE_OUTPUT) .

.PHONY: image-maestro
image-maestro: ## The same of towline-maestro, for deploy/maestro.
	docker buildx build --target maestro --platform $(PLATFORMS) --build-arg VERSION=$(VERSION) --tag $(IMAGE) $(IMAGE_OUTPUT) .

.PHONY: install-manifest
install-manifest: ## Write bin/install.yaml for IMAGE and NAMESPACE, from the chart with HELM_FLAGS.
	mkdir -p bin
	image=$$(.ci/image-values $(IMAGE)); \
		$(HELM) template towline deploy/chart --namespace $(NAMESPACE) --skip-tests $$image $(HELM_FLAGS) > bin/install.yaml.new
	mv bin/install.yaml.new bin/install.yaml
	@echo 'kubectl apply -f bin/install.yaml'

# The version of the packaged chart: SemVer.
CHART_VERSION ?= 0.0.0-dev

.PHONY: chart
chart: ## Package deploy/chart for VERSION as bin/towline-CHART_VERSION.tgz.
	$(HELM) package deploy/chart --version $(CHART_VERSION) --app-version $(VERSION) --destination bin

# The folder of the add-ons for OVERLAY.
ADDON = $(or $(patsubst %/,%,$(dir $(wildcard deploy/overlays/$(OVERLAY)/addon/kustomization.yaml))),deploy/addon)

.PHONY: addon-manifest
addon-manifest: ## Write bin/addon.yaml, the add-ons for the hub, for IMAGE and OVERLAY; AGENT=placement puts the agent on all clusters.
	@[[ -n "$(OVERLAY)" && -d deploy/overlays/$(OVERLAY) ]] || { echo "OVERLAY=$(OVERLAY) is no folder of deploy/overlays" >&2; exit 1; }
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
release-snapshot: bin/syft-$(SYFT_VERSION)/syft ## Build what a release has of kubectl towline into bin/release, without signatures, and publish nothing.
	PATH="$(CURDIR)/bin/syft-$(SYFT_VERSION):$$PATH" \
		go run github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION) release --snapshot --clean --skip=sign

bin/syft-$(SYFT_VERSION)/syft:
	GOBIN=$(CURDIR)/$(@D) go install github.com/anchore/syft/cmd/syft@$(SYFT_VERSION)

# Draws the pictures of the site. The theme knows this version.
MERMAID := mermaid-8.14.0

.PHONY: site
site: ## Build the site of the documentation into bin/site; needs mkdocs-material and npm.
	mkdir -p bin
	[[ -e bin/$(MERMAID)/package ]] || { mkdir -p bin/$(MERMAID) && cd bin/$(MERMAID) && \
		npm pack --silent mermaid@$(MERMAID:mermaid-%=%) && tar --extract --file $(MERMAID).tgz; }
	MERMAID=$(CURDIR)/bin/$(MERMAID)/package/dist/mermaid.min.js PYTHONPATH=.ci PYTHONDONTWRITEBYTECODE=1 \
		mkdocs build --strict --quiet --config-file .ci/mkdocs.yml

.PHONY: clean
clean: ## Remove what was built.
	rm -rf bin
