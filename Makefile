# The front door. `make` alone lists what can be asked.

SHELL := /bin/bash
CACHE := $(or $(CARREL_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/carrel)
TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
NODE = $(shell node -e 'process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)' 2>/dev/null && echo yes)
NEXTEST = $(shell command -v cargo-nextest)
PAGE := web/dist/index.html
PAGE_SOURCES := $(shell find web/src web/public web/index.html web/vite.config.ts web/package-lock.json -type f 2>/dev/null)
# For `make run`: arguments of `carrel serve`, such as ARGS="--listen 127.0.0.1:8080".
ARGS ?=

.PHONY: help
help: ## lists what can be asked
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /make \1\t/' | expand -t 16

.PHONY: run
run: build ## builds and starts Carrel on http://127.0.0.1:7070; ARGS="…" is passed on
	@exec "$(TARGET)/release/carrel" serve $(ARGS)

.PHONY: build
build: setup-run web ## builds the release binary, with the page in it when Node is there
	cargo build --release

.PHONY: web
web: ## builds the page when its sources changed
	@$(if $(NODE),$(MAKE) --no-print-directory $(PAGE),echo "without Node 20 the page is left as it is")

$(PAGE): $(PAGE_SOURCES)
	cd web && npm run --silent build
	@touch $@

.PHONY: test
test: setup-test web ## runs every test: Rust on SQLite and PostgreSQL, the page, the browser, E2B's SDKs
	scripts/with-postgres cargo $(if $(NEXTEST),nextest run,test) --workspace
	cargo $(if $(NEXTEST),nextest run,test) --package carrel-envd --features daemon
	cd web && npm test --silent
	cargo build
	cd web && CARREL_BIN="$(TARGET)/debug/carrel" ../scripts/again npm run --silent e2e
	CARREL_BIN="$(TARGET)/debug/carrel" CARREL_CACHE="$(CACHE)" scripts/again tests/sdk/run

.PHONY: matrix
matrix: setup-test web ## runs the declared versions of E2B's SDKs, each in a fresh folder from the registries
	cargo build
	CARREL_BIN="$(TARGET)/debug/carrel" CARREL_CACHE="$(CACHE)" tests/sdk/run matrix

.PHONY: agents
agents: ## runs real agent programs (1 GB from npm) against a scripted model
	CARREL_CACHE="$(CACHE)" tests/agents/run

# For `make kills`: how many runs, and the seed of a story that is to be told again.
RUNS ?= 200
SEED ?= $(shell date +%s)

.PHONY: kills
kills: ## kills server, agent, sandbox, database and upstream at every step of a task; RUNS=200 SEED=…
	CARREL_KILL_RUNS=$$(($(RUNS) / 2)) CARREL_KILL_SEED=$(SEED) scripts/with-postgres \
		cargo test --workspace --test program -- --nocapture kills::

# For `make soak`: how many faults, and how many minutes at most.
FAULTS ?= 1000
MINUTES ?= 60

.PHONY: soak
soak: ## the fault campaign, which goes on where it was interrupted; FAULTS=1000 MINUTES=60 SEED=1 (as root)
	CARREL_CACHE="$(CACHE)" CARREL_SOAK_FAULTS=$(FAULTS) CARREL_SOAK_SECONDS=$$(($(MINUTES) * 60)) \
		CARREL_KILL_SEED=$(if $(filter file,$(origin SEED)),1,$(SEED)) scripts/soak

# For `make fuzz`: how many seconds for each target.
TIME ?= 20

.PHONY: fuzz
fuzz: ## throws bytes at every reader of outside bytes, guided by coverage; TIME=20 seconds each
	CARREL_CACHE="$(CACHE)" scripts/fuzz $(TIME)

# For `make kernel`: which tests, as cargo test has them. The quotas of btrfs that one of them needs are Linux 6.7's.
TESTS ?= abuse:: contract:: desk:: lives:: --skip a_full_disk_is_told_inside

.PHONY: kernel
kernel: ## the jail on Debian's own kernel with cgroup v2 alone, emulated, below systemd and as a plain user; TESTS="…" (as root)
	CARREL_CACHE="$(CACHE)" tests/kernel/all $(TESTS)

.PHONY: spans
spans: ## builds with OpenTelemetry and sends spans to a collector
	cargo nextest run --workspace --features carrel/otel --test program -E 'test(spans::)'

.PHONY: api-check
api-check: ## holds a server to its own description, as every role (Schemathesis)
	cargo build
	CARREL_BIN="$(TARGET)/debug/carrel" CARREL_CACHE="$(CACHE)" tests/api/run

.PHONY: check
check: setup-check web ## looks at format, lints, licences, dependencies, the page and the API's description
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --features carrel/otel -- -D warnings
	cargo clippy --package carrel-envd --all-targets --features daemon -- -D warnings
	scripts/check-dependencies
	cd web && npm run --silent check
	scripts/check-openapi
	CARREL_CACHE="$(CACHE)" tests/release/run

.PHONY: release-check
release-check: ## looks at everything that people install Carrel with; as root also in a clean Debian
	cargo build
	CARREL_BIN="$(TARGET)/debug/carrel" CARREL_CACHE="$(CACHE)" tests/release/run $(if $(filter 0,$(shell id -u)),--root)
	scripts/book

.PHONY: types
types: ## writes web/openapi.json and the page's types anew
	scripts/check-openapi --write
	cd web && npm run --silent types

.PHONY: bench
bench: web ## measures; every number stands beside its peer from the same run
	cargo build --release
	@exec "$(TARGET)/release/carrel" bench $(ARGS)

.PHONY: fmt
fmt: ## formats everything
	cargo fmt --all
	cd web && npm run --silent format

.PHONY: book
book: ## builds the documentation as a site, into target/book/VERSION, and follows its links
	scripts/book

.PHONY: clean
clean: ## removes what was built here, and leaves the shared caches
	rm -rf target web/dist web/node_modules

.PHONY: setup-run setup-check setup-test
setup-run setup-check setup-test:
	@CARREL_CACHE="$(CACHE)" scripts/setup $(@:setup-%=%)
