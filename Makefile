# One verb, one target. `make help` lists them.
# Needs Rust, Python 3.11 or later (with venv) and a C compiler; everything else goes into .venv and target.

PYTHON ?= python3
BIN := .venv/bin
RESULTS ?= results
REPORTS ?= reports
SITE ?= site
WHEELS ?= target/wheels
TARGETS := x86_64-unknown-linux-gnu:manylinux2014 aarch64-unknown-linux-gnu:manylinux2014 \
	x86_64-unknown-linux-musl:musllinux_1_2 aarch64-unknown-linux-musl:musllinux_1_2

# What `make profile` has measured, for the compiler it was made with; where there is none, the build does without.
PROFILE := target/longfat-$(shell rustc --version 2>/dev/null | cut -d ' ' -f 2).profdata
PROFILED = $(if $(wildcard $(PROFILE)),RUSTFLAGS="$$RUSTFLAGS -Cprofile-use=$(CURDIR)/$(PROFILE)")

# The controls for the kernel (crates/bpf) are built where clang and libelf are; where not, `longfat cc` says what is missing. A wheel with
# them needs this machine's libelf, and is tagged as such; those of a release are without.
HAS_BPF := $(shell [ "$$(uname)" = Linux ] && clang --version > /dev/null 2>&1 && \
	cc -E -include libelf.h -include zlib.h -x c /dev/null > /dev/null 2>&1 && echo yes)
BPF = $(if $(HAS_BPF),--features bpf)
BPF_OF_WORKSPACE = $(if $(HAS_BPF),--features longfat-bpf/bpf)

# One worker runs a file: what the tests of a file share is made once. Dear files are begun first (tests/conftest.py).
PYTEST := $(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

# Crates that run anywhere, in a browser as well.
PURE := $(addprefix -p longfat-,core tcp model record experiment sim gym)

.DEFAULT_GOAL := help
.PHONY: help build dev profile run validation test test-quick test-papers fuzz wasm web torture lint format docs-reference bench bench-record bench-plot docs wheel wheels sbom audit system-packages clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: .venv/requirements ## Build longfat into .venv (release)
	PIP_QUIET=1 $(PROFILED) $(BIN)/maturin develop --release --quiet $(BPF)

dev: .venv/requirements ## Build longfat into .venv while changing it (optimized, but compiled again in seconds)
	PIP_QUIET=1 $(BIN)/maturin develop --profile quick --quiet $(BPF)

profile: .venv/requirements ## Build for speed: with a profile of longfat's own runs (minutes; needs rustup)
	rustup component add llvm-tools
	rm -rf target/profile
	PIP_QUIET=1 RUSTFLAGS="$$RUSTFLAGS -Cprofile-generate=$(CURDIR)/target/profile/raw" \
		$(BIN)/maturin develop --release --quiet --target-dir target/profile/build
	$(BIN)/longfat run slac --quick --jobs 1 --results target/profile/results > /dev/null
	"$$(rustc --print sysroot)"/lib/rustlib/*/bin/llvm-profdata merge --output $(PROFILE) target/profile/raw
	rm -rf target/profile
	$(MAKE) build

run: build ## Reproduce ANSNET 1994 with one seed: run it, print the comparison, write the report
	$(BIN)/longfat run ansnet --quick --results $(RESULTS)
	$(BIN)/longfat report ansnet --quick --figures --results $(RESULTS) --out $(REPORTS)

validation: build ## Run the controls beside their theory, check, and draw docs/validation (CPU: an hour)
	$(BIN)/longfat run validation --results $(RESULTS)
	$(BIN)/longfat compare validation --results $(RESULTS) --strict > /dev/null
	$(BIN)/longfat report validation --figures --results $(RESULTS) --out $(REPORTS)
	cp $(REPORTS)/validation/figures/*.svg docs/validation/

test: build target/s3s/bin/s3s-fs ## Run every test, Rust and Python, but those of test-papers
	cargo test --workspace --quiet $(BPF_OF_WORKSPACE)
	$(PYTEST) -m "not alone and not papers"
	$(BIN)/pytest -m alone

test-papers: build ## Run the tests that need the runs of a whole paper or family of experiments: a minute
	$(PYTEST) -m papers

test-quick: build ## Run the tests that take little time: what to run after each edit
	cargo test --workspace --quiet --tests $(BPF_OF_WORKSPACE)
	$(PYTEST) -m "not slow and not alone"

fuzz: ## Try each property of the Rust crates on CASES new random cases (2000); a failure is kept in proptest-regressions
	PROPTEST_CASES=$(or $(CASES),2000) PROPTEST_MAX_GLOBAL_REJECTS=1000000 cargo test --workspace --quiet --lib --no-fail-fast

wasm: ## Build the crates that know no system for WebAssembly (needs rustup)
	rustup target add wasm32-unknown-unknown
	cargo clippy --quiet --target wasm32-unknown-unknown $(PURE) -- -D warnings

web: ## Build the lab's page, target/web/lab.html, which opens without a server (needs rustup, and Node.js with npm)
	rustup target add wasm32-unknown-unknown
	cargo build --quiet --target wasm32-unknown-unknown -p longfat-web --profile web
	mkdir -p target/web
	cp target/wasm32-unknown-unknown/web/longfat_web.wasm target/web/longfat.wasm
	npm ci --prefix crates/web/page --silent --no-audit --no-fund
	crates/web/page/node_modules/.bin/tsc -p crates/web/page
	node crates/web/page/build.mjs target/web/longfat.wasm target/web

torture: build ## Attack longfat for TIME seconds (60), with SEED; ONLY one attack or case (ONLY=damage:7)
	$(BIN)/python tests/torture --time $(or $(TIME),60) $(if $(SEED),--seed $(SEED)) --only "$(ONLY)"

lint: .venv/requirements ## Check formatting, lints, types and links of the documentation; changes nothing
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet $(BPF_OF_WORKSPACE) -- -D warnings
	RUSTDOCFLAGS="-D rustdoc::broken_intra_doc_links -A rustdoc::private_intra_doc_links" cargo doc --workspace --no-deps --document-private-items --quiet $(BPF_OF_WORKSPACE)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright

format: .venv/requirements ## Format all code
	cargo fmt --all
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format

docs-reference: .venv/requirements ## Write what an extension changes in generated files: reference and error messages
	UPDATE_DOCS=1 INSTA_UPDATE=always cargo test --quiet -p longfat-experiment -p longfat-record --lib -- tests::reference tests::bad_files --test-threads=1
	git diff --stat

bench: build ## Measure the simulator, `longfat trace`, the store, what a run of a sweep costs and holds, and a fit; prints, and writes bench.json
	$(PROFILED) cargo run --release --quiet -p longfat-bench
	$(BIN)/python bench/trace.py
	$(BIN)/python bench/store.py 20000
	$(BIN)/python bench/gather.py 10000
	$(BIN)/python bench/memory.py 1000 4000
	$(BIN)/python bench/million.py 20000
	$(BIN)/python bench/overhead.py 2000
	$(BIN)/python bench/overhead.py 400 60
	$(BIN)/python bench/gym.py
	$(BIN)/python bench/web.py
	$(BIN)/python bench/fit/cost.py "20 Mbit/s"

bench-record: build bench ## Measure, and add a line to bench/history.jsonl
	$(BIN)/python bench/history.py record bench.json

bench-plot: build ## Draw bench/history.jsonl: bench/*.svg, bench/*.png
	$(BIN)/python bench/history.py plot

docs: build ## Make the documentation site; site/index.html opens without a server (minutes: the gallery is run and drawn)
	$(BIN)/python docs/site/build.py $(SITE)

wheel: .venv/requirements ## Build the wheel of this machine into WHEELS (target/wheels), from what `make build` has compiled
	$(PROFILED) $(BIN)/maturin build --release --quiet $(BPF) $(if $(HAS_BPF),--compatibility linux) --interpreter $(BIN)/python --out $(WHEELS)
	$(PYTHON) .ci/ship.py $(WHEELS)

wheels: .venv/release ## Build all wheels and the sdist for a release into WHEELS (a quarter of an hour; needs rustup)
	rustup target add $(foreach target,$(TARGETS),$(firstword $(subst :, ,$(target))))
	for target in $(TARGETS); do \
		PATH="$(CURDIR)/$(BIN):$$PATH" $(PROFILED) maturin build --release --strip --zig --out $(WHEELS) \
			--target $${target%:*} --compatibility $${target#*:} || exit 1; \
	done
	$(BIN)/maturin sdist --out $(WHEELS)
	$(PYTHON) .ci/ship.py $(WHEELS)

sbom: .venv/release ## Write what the wheel of `make wheels` is made of, and what it stands on, as CycloneDX into WHEELS
	rm -rf target/sbom
	$(PYTHON) -m venv --without-pip target/sbom
	$(BIN)/pip --python target/sbom/bin/python install --quiet --disable-pip-version-check --find-links $(WHEELS) 'longfat[report]'
	cp target/sbom/lib/python*/site-packages/longfat-*.dist-info/sboms/*.json $(WHEELS)
	$(BIN)/cyclonedx-py environment target/sbom --output-file $(WHEELS)/longfat-python.cyclonedx.json

audit: .venv/requirements ## Ask for known vulnerabilities of all dependencies, and say what could not be asked (that fails with COMPLETE=1)
	$(BIN)/python .ci/audit.py $(if $(COMPLETE),--complete)

system-packages: ## Install what the kernel's controls are built with, and what tests judge by: a browser, tshark, Slurm, ns-2, iperf3, ping (Debian, Ubuntu; as root)
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium chromium-driver tshark slurmctld slurmd slurm-client munge ns2 \
		clang libelf-dev zlib1g-dev pkg-config iperf3 iputils-ping iputils-tracepath
	command -v npm >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends nodejs npm

clean: ## Remove what was built; results and reports stay
	rm -rf .venv target
	find python tests papers -name __pycache__ -prune -exec rm -rf {} +
	rm -f python/longfat/*.so

# The environment is made anew when its requirements change.
.venv/requirements: requirements-dev.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "longfat needs Python 3.11 or later; say which with: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	touch $@

# An S3 server for the tests of results at a URL. It keeps its objects in a folder, so that it can be killed and started again.
target/s3s/bin/s3s-fs:
	cargo install --quiet --locked --debug --root target/s3s --features binary --version 0.14.1 s3s-fs

.venv/release: requirements-release.txt .venv/requirements
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements-release.txt
	touch $@
