# schedlab: every job a contributor or CI runs. `make` lists them.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# What may be set on the command line.
ARGS     ?= compare
FUZZTIME ?= 20s
BENCH    ?= .
COUNT    ?= 10
OLD      ?=
PLAIN    ?=
# Packages for mutate: the pure rooms. FILES=regexp takes only some files of them.
PKG      ?= $(addprefix internal/measuring/,arrivals expect judge window) $(addprefix internal/shared/,cmdline prose queueing stats timeline)

VERSION  = $(shell git describe --tags --match 'v[0-9]*.*' --always --dirty 2>/dev/null)
REVISION = $(shell git rev-parse HEAD 2>/dev/null)

# A missing real part (Prometheus, Chromium, nginx) fails the tests instead of skipping
# them. Shuffled tests find those that lean on each other.
empty :=
space := $(empty) $(empty)
GOTEST := SCHEDLAB_REQUIRE=1 go test -shuffle=on -timeout 15m

# go test, which runs the tests of tools/flaky again when they fail, and no others. Without go vet,
# which make lint runs for all of its checks. Each package has a network of its own, where that is allowed.
RETRIED = SCHEDLAB_REQUIRE=1 TEST_LOGS=$(CURDIR)/bin/tests $(CURDIR)/tools/test '$(1)' -exec $(CURDIR)/tools/alone -p 3 -vet=off -shuffle=on -timeout 15m

.PHONY: help build arms run test test-fresh test-cluster test-prometheus test-explain check lint fuzz golden dashboards release-check snapshot bench deps clean experiments-short mutate timed

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo 'Variables: ARGS="$(ARGS)" FUZZTIME=$(FUZZTIME) BENCH=$(BENCH) COUNT=$(COUNT) OLD=$(OLD)'

# With PLAIN=1 it is linked of what go test has compiled; else every package is compiled for it alone, and the packages
# that plan, judge and print after a measurement without inlining: the binary is then 0.42 MB smaller.
SHORT = $(shell cat tools/release/short)
build: ## build bin/schedlab, static, reproducible and stripped
	$(if $(PLAIN),,CGO_ENABLED=0) go build $(if $(PLAIN),,-trimpath $(SHORT)) -ldflags '-s -w -X main.version=$(VERSION) -X main.revision=$(REVISION)' -o bin/schedlab ./cmd/schedlab

# serve-no-green-tea is serve with the garbage collector that Go had before 1.26, for loadtests/arms/serve/gc*.yaml.
arms: ## build the ready arms, echo, gin and others, into bin/arms (docs/guide/ready-arms.md)
	cd loadtests/arms && CGO_ENABLED=0 go build -trimpath -o ../../bin/arms/ ./...
	cd loadtests/arms && GOEXPERIMENT=nogreenteagc CGO_ENABLED=0 go build -trimpath -o ../../bin/arms/serve-no-green-tea ./serve

run: ## go run ./cmd/schedlab $(ARGS)
	go run ./cmd/schedlab $(ARGS)

test-explain: ## ten planted faults and ten pairs of equal arms: does explain name the faults, and nothing else? 15 minutes, alone on two CPUs; adds a table to docs/evidence/explain-pack.md
	go test ./cmd/schedlab -run TestExplainNamesPlantedFaults -explain-pack $(CURDIR)/docs/evidence/explain-pack.md -count 1 -timeout 30m -v

# What the race detector can find something in: the packages whose code or tests start
# goroutines, take locks or use atomics, and runner, which runs them together. All
# others compute on one goroutine.
# The longest come first, or the last of them runs alone at the end.
LONGEST = ./cmd/schedlab/ ./internal/serving/model/ ./internal/measuring/load/ ./internal/serving/server/ ./loadtests/recipes/ ./internal/measuring/runner/
RACED = $(LONGEST) $(filter-out $(LONGEST),$(addprefix ./,$(sort internal/measuring/runner/ $(dir \
	$(shell grep -rlE --include='*.go' '^\s*go [a-z]|sync/atomic|sync\.(Cond|Map|Mutex|Pool|RWMutex|WaitGroup)' cmd internal loadtests/recipes)))))
# What of these it can find nothing in, and would take minutes of: simulations; a browser,
# Prometheus, nginx, vegeta and a program built without the detector, where our own processes
# do what they do in other tests; commands that plan, refuse and print; gates, grids, whole searches and profiles, of which
# compare_interrupted, capacity_interrupted, TestMyServicePage and TestProfileUnderLoad do the same; what a server of a process
# of its own costs, and a load of as many connections as there can be, where few do the same in
# other tests; allocations beside a sync.Pool, which drops a quarter of what it is given there. A test that is not named runs.
UNRACED = TestIdentifiability TestStationOf MeetsTheory MeetsPollaczekKhinchine TestCoDelFaresAsInTheSimulator TestReplyReaderInRandomPieces TestRunEndsWhenItKnows \
	TestClockIsSet TestToolsTest Browser Prom Nginx TestTwoBuildsAsArms TestRunningServerAsArm TestLogReplayed TestVegetaAttacks TestVegetaReadsResults TestScenariosPrintForVegeta \
	TestNumbersOfAForeignRecord TestHostileCrowdsCost TestLockedWorkersCost TestSemaphoreAllocatesNothing TestSpinMostConnections \
	TestAudit TestDoctorJudgesNoise TestShownCommandsCanDecide TestDryRunSays TestSize TestSchedulingWaitIsReal \
	TestScripts/^(arms|audit|capacity|capacity_run|compare_disk|compare_grid|compare_pack|config|doctor|environment|gate|help|modes|profiles|recipe|scenarios|size|version|.*_mistakes)$$

OTHERS = $(filter-out $(patsubst ./%/,$(shell go list -m)/%,$(RACED)),$(shell go list ./...))
unraced := '$(subst $(space),|,$(strip $(UNRACED)))'

test: deps bin/gotestsum ## every test, with a real Prometheus and a real Chromium; what runs concurrently under the race detector
	@rm -rf bin/tests; mkdir bin/tests
	$(call RETRIED,$(RACED)) -race -skip $(unraced)
	$(call RETRIED,$(RACED)) -run $(unraced)
	@$(MAKE) --no-print-directory -j3 --output-sync=target test-others test-arms test-tools
	@echo 'The slowest twenty:'; cat bin/tests/* | bin/gotestsum tool slowest --num 20

# At the same time: the first compute, and the second wait. None of them measures.
.PHONY: test-others test-arms test-tools
test-others:
	$(call RETRIED,$(OTHERS))
test-arms:
	cd loadtests/arms && $(call RETRIED,./...)
test-tools:
	cd tools && $(call RETRIED,./...)

test-fresh: ## what CI runs (.ci/run), in a fresh clone of the last commit with empty Go caches, as on a new machine
	@tools/fresh

check: lint test ## all that CI holds a change to

test-prometheus: bin/prometheus ## rules, panels and scrapes with a current Prometheus (make test has Debian's), which is built once from its module: some minutes, 250 MB
	PATH=$(CURDIR)/bin:$$PATH $(GOTEST) -count=1 -run '^(TestProm|TestComposeFileIsWhole)' ./cmd/schedlab

test-cluster: ## schedlab cluster on a real Kubernetes of two nodes: comparisons, and each fault; five minutes, as root, after ten that build Kubernetes once
	apt-get install -y --no-install-recommends $$(cat tools/cluster/packages) >/dev/null
	tools/cluster/test

lint: ## gofmt, go vet (golangci-lint runs it for Linux, macOS here), tidy and unmodified modules, golangci-lint
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "gofmt -w these:"; echo "$$unformatted"; exit 1; }
	GOOS=darwin go vet -gcflags='all=-N -l -dwarf=false' ./... # nobody runs what this compiles, so it is compiled the fast way
	go mod tidy -diff && go mod verify
	cd tools && go vet ./... && go mod tidy -diff && go mod verify
	cd tools/cluster && go vet ./pause
	cd loadtests/arms && go vet ./... && go mod tidy -diff # 'go mod verify' fails on what a replace points to
	@$(MAKE) --no-print-directory bin/golangci-lint bin/actionlint
	bin/golangci-lint run ./...
	bin/actionlint -ignore 'action "https://' deploy/github/gate.yml # published on Gitea, it names the action by URL

fuzz: ## every fuzz target for $(FUZZTIME)
	@tools/fuzz $(FUZZTIME)

# Directories of the packages whose test files match a pattern.
packages_with = $(sort $(dir $(shell grep -rlE --include='*_test.go' '$(1)' cmd internal)))

golden: ## rewrite the golden files; look at git diff afterwards
	@set -- $(filter-out ./cmd/schedlab/,$(addprefix ./,$(call packages_with,flag\.Bool.*"update"|golden\.Check))); [ $$# -gt 0 ] || { echo 'no package has golden files'; exit 0; }; \
	set -x; go test -count=1 "$$@" -update
	go test -count=1 ./cmd/schedlab -run ScenarioSchemaIsKept -update

dashboards: ## rewrite deploy/grafana/dashboards from tools/dashboards
	cd tools && go run ./dashboards ../deploy/grafana/dashboards

release-check: ## publish a copy as tools/publish-as does, then build, vet and install it as a user of its release would; two minutes
	cd tools && SCHEDLAB_INSTALL=1 go test ./publish -count=1 -v -run TestUsersInstallIt
	cd tools/release && go vet ./... && go test ./... && go mod tidy -diff

snapshot: ## what a release has, of this commit, into dist: archives, .deb, .rpm, an image, SBOMs; publishes nothing
	tools/release/snapshot

BENCHED = -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) -timeout 2h
bench: bin/benchstat ## the benchmarks, $(COUNT) times, into bin/bench.txt (OLD=file compares); with BENCH=. also tools/peers --speed, into bin/peers.md
	go test $(BENCHED) $(addprefix ./,$(call packages_with,^func Benchmark)) | tee bin/bench.txt
	cd loadtests/arms && go test $(BENCHED) ./handoff | tee -a ../../bin/bench.txt
	bin/benchstat $(OLD) bin/bench.txt
	$(if $(filter .,$(BENCH)),tools/peers --speed --print | tee bin/peers.md)

timed: ## the tests with limits of time, alone; for a machine that does nothing else (make test logs the times and judges none)
	SCHEDLAB_TIMED=1 $(GOTEST) -count=1 -v -run '^(TestHostile|TestDefaultTimeouts|TestDescriptorsRunOut)' ./internal/serving/model | grep -vE '^ *(=== |--- PASS)'

mutate: bin/gremlins ## change operators of the pure rooms one by one and list those that no test notices (PKG=internal/shared/stats does one, an hour for all)
	@tools/mutate $(PKG)

deps: ## install what the tests drive: Prometheus with promtool, Chromium, nginx, systemd-analyze, wrk, ab, httperf, h2load; jq, gcc for the measuring tools; ip (apt); and fetch the Go modules that tests build from
	@tools/deps

experiments-short: ## the pack of experiments as CI runs it: loadtests/short, in four minutes
	@tools/experiments --short

clean: ## remove bin, with the built tools, and dist
	rm -rf bin dist

# The pinned tools, rebuilt when their pins change.
bin/actionlint: PACKAGE := github.com/rhysd/actionlint/cmd/actionlint
bin/golangci-lint: PACKAGE := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
bin/benchstat: PACKAGE := golang.org/x/perf/cmd/benchstat
bin/gotestsum: PACKAGE := gotest.tools/gotestsum
bin/gremlins: PACKAGE := github.com/go-gremlins/gremlins/cmd/gremlins
bin/actionlint bin/golangci-lint bin/benchstat bin/gotestsum bin/gremlins: tools/go.mod tools/go.sum
	cd tools && go build $(QUICKLY) -o ../bin/ $(PACKAGE)

# Only what reads and checks code is optimized, and not some hundred linters that do not run: the build takes
# half the time, and the linter no longer.
bin/golangci-lint: QUICKLY := -ldflags='-s -w' -gcflags='all=-N -l -dwarf=false' -gcflags=std= -gcflags=golang.org/x/tools/...= -gcflags=honnef.co/go/tools/...=

# Of a module of its own, like Kubernetes: its many modules would raise versions of those in tools/go.mod. Without
# the discovery of targets in clouds, which nobody here asks for. Module version v0.316.0 is Prometheus 3.16.0.
PROMETHEUS = $(shell sed -nE 's|.*/prometheus/prometheus v0\.([0-9])([0-9]{2})\.([0-9]+).*|\1.\2.\3|p' tools/prometheus/go.mod)
bin/prometheus: tools/prometheus/go.mod tools/prometheus/go.sum
	cd tools/prometheus && CGO_ENABLED=0 go build -trimpath -tags netgo,remove_all_sd \
		-ldflags '-s -w -X github.com/prometheus/common/version.Version=$(PROMETHEUS)' -o ../../bin/ tool
	@touch $@
