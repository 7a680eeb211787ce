# SPDX-License-Identifier: Apache-2.0
# Copyright The Picket Authors

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
LDFLAGS := -s -w -X github.com/picketd/picket/daemon.version=$(VERSION) -X github.com/picketd/picket/daemon.commit=$(COMMIT)
ARCH ?= $(shell go env GOARCH)
PREFIX ?= /usr/local
DIST ?= dist
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
FUZZTIME ?= 10s
CHAOSTIME ?= 1m
PROOF_HISTORIES ?= 300
PROOF_AT_ONCE ?= 6
SOAKTIME ?= 30m
HOSTILETIME ?= 2m
BENCH_ASSETS ?= 30000
BENCH_TICKETS ?= 100000
SCALE_DAEMONS ?= 5,50,500,1000
SCALE_ASSETS ?= 10000,100000,1000000
TESTFLAGS ?=
# How everything but the tests for the race detector is compiled, so that nothing is compiled twice.
PLAIN := CGO_ENABLED=0 GOFLAGS="$$(go env GOFLAGS) -trimpath"

.PHONY: help
help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the static binary bin/picket
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/picket ./daemon/cmd/picket

.PHONY: install
install: build ## Install below DESTDIR in PREFIX (/usr/local): command, units, manual, completions, an example configuration
	rm -rf bin/man && mkdir -p bin/man
	for page in picket.1 picketd.8; do bin/picket man $$page >bin/man/$$page; done
	for config in packaging/*.toml; do bin/picket man $$(basename $$config).5 <$$config >bin/man/$$(basename $$config).5; done
	DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' packaging/install bin/picket bin/man

.PHONY: packages
packages: ## Make deb, rpm and tar.gz with SHA256SUMS in dist/, for ARCH (this machine's)
	for arch in $(ARCH) $$(go env GOHOSTARCH); do \
		CGO_ENABLED=0 GOARCH=$$arch go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o "$(DIST)/bin-$$arch/picket" ./daemon/cmd/picket; \
	done
	VERSION='$(VERSION)' ARCH='$(ARCH)' packaging/packages '$(DIST)'
	rm -rf '$(DIST)'/bin-*

.PHONY: run
run: build ## Show with real processes what Picket does; Go is enough
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -o bin/ ./daemon/cmd/picket-demo ./examples/agent-go
	bin/picket-demo

.PHONY: test
test: ## Install what the tests need, lint, and run all tests, with the race detector where things happen at the same time
	.ci/deps
	rm -f .cache/flaky
	$(MAKE) --no-print-directory lint
	.ci/together test-race test-packages
	$(MAKE) --no-print-directory test-plain
	@if [[ -s .cache/flaky ]]; then echo "FLAKY: these failed once and passed alone. Each is a fault to be mended:"; cat .cache/flaky; fi

# The parts of test. What has time-outs is not tested beside what computes: all is compiled first, what is left of that (linking) gives
# way to tests, and two packages run at a time beside those on a real system: the engine, which waits more than it computes, beside the
# others, the daemon last. The command, whose tests start it more than a thousand times, which the race detector makes slow, is plain.
.PHONY: test-race test-packages test-plain
test-race: # lint has all of vet, and go test a part
	CGO_ENABLED=1 nice go list -race -test -export ./... >/dev/null
	CGO_ENABLED=1 .ci/test "./engine $$(go list ./... | grep -v -e /proof -e /agent/findings -e /agent/report -e /cmd/picket$$ -e /daemon$$ -e '^github.com/picketd/picket$$' | tr '\n' ' ') ./daemon" \
		-race -toolexec 'nice -n 19' -vet=off -shuffle=on -p 2 -parallel 4 -timeout 20m $(TESTFLAGS)
test-packages:
	packaging/systemd-test/run
test-plain: # and what computes and does nothing at the same time
	$(PLAIN) .ci/test './daemon/cmd/picket . ./agent/findings ./agent/report ./proof/...' -vet=off -shuffle=on -p 3 -timeout 20m $(TESTFLAGS)

.PHONY: test-redis
test-redis: ## Run the whole contract on a standalone Redis, with Sentinel and on a Cluster with replicas; on Valkey, too, where it is
	.ci/deps
	.ci/test-redis -race -shuffle=on -parallel 4 -timeout 30m $(TESTFLAGS)

.PHONY: test-systemd
test-systemd: ## Prove the packages on a Debian with a real systemd, in nspawn; needs root and debootstrap
	.ci/deps
	PICKET_SYSTEMD=demand packaging/systemd-test/run

.PHONY: lint
lint: ## Run go vet, staticcheck and gofumpt, which must find nothing
	$(PLAIN) nice go vet ./...
	$(PLAIN) nice go tool staticcheck ./...
	@files=$$(go tool gofumpt -l .); if [[ $$files ]]; then echo "run make fmt, which formats:"; echo "$$files"; exit 1; fi

.PHONY: fmt
fmt: ## Format all Go files
	go tool gofumpt -l -w .

.PHONY: bench
bench: build ## Measure the daemon beside its floors (BENCHMARKS.md), with BENCH_ASSETS and BENCH_TICKETS; needs redis-server
	go run ./daemon/bench -assets $(BENCH_ASSETS) -tickets $(BENCH_TICKETS)

.PHONY: scale
scale: build ## Measure how the cost grows with daemons and assets (docs/scale.md), with SCALE_DAEMONS and SCALE_ASSETS; needs redis-server
	go run ./daemon/bench scale -daemons $(SCALE_DAEMONS) -assets $(SCALE_ASSETS)

.PHONY: microbench
microbench: ## Run the Go benchmarks of the packages
	go test -run '^$$' -bench . ./...

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (10s)
	@for package in $$(go list ./...); do \
		targets=$$(go test -list '^Fuzz' $$package); \
		for target in $$(grep '^Fuzz' <<<"$$targets" || true); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

.PHONY: chaos
chaos: bin/proof ## Have faults befall Picket for CHAOSTIME (1m) over three kinds of Redis, and check what is recorded; needs root
	bin/proof campaign -histories 3 -at-once 3 -time $(CHAOSTIME) -profiles mixed -seed $$RANDOM

.PHONY: proof
proof: bin/proof ## Do that PROOF_HISTORIES (300) times, with all kinds of faults: the tables of docs/proof.md (an hour and more); needs root
	bin/proof campaign -histories $(PROOF_HISTORIES) -at-once $(PROOF_AT_ONCE) -time $(CHAOSTIME)

.PHONY: mutations
mutations: bin/proof ## Take rules out of Picket, one at a time, until the proof misses each (an hour and more); needs root
	bin/proof mutations -time $(CHAOSTIME)

.PHONY: bin/proof
bin/proof: build
	go build -o bin/proof ./proof

.PHONY: models
models: ## Run the models of the protocols through every interleaving, and each rule left out (minutes, gigabytes)
	go run ./proof/models/claim
	go run ./proof/models/delivery
	go run ./proof/models/end
	go run ./proof/models/list
	go run ./proof/models/retry
	go run ./proof/models/sign
	go run ./proof/models/takeover

.PHONY: soak
soak: ## Do steady work for SOAKTIME (30m), after which nothing may have grown; see that leaks are seen; be hostile for HOSTILETIME (2m), as root
	PICKET_SOAK=$(SOAKTIME) go test -count=1 -timeout 0 -v ./proof/soak
	PICKET_SOAK=$(HOSTILETIME) go test -count=1 -timeout 0 -run '^TestSoak$$' -v ./daemon

.PHONY: pictures
pictures: ## Take the pictures in docs/img anew; needs chromium
	UPDATE_PICTURES=1 go test -count=1 -run '^TestPictures$$' ./agent/report

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin dist
