# Everything a contributor needs. `make help` lists the targets.
# Wanted on the machine: Rust (cargo) and Python >= 3.11 with venv. All else goes into .venv and target/.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ODONATA := $(BIN)/odonata

# What the compiled package depends on. Python sources do not count: they are installed as links.
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name '*.toml')

# Runs over several processes: `make setup MPI=mpich`, MPI=openmpi or MPI=WRAPPER, an MPI library's C compiler wrapper
# (docs/mpi.md). Remembered by later calls until it is changed; `make setup MPI=` is without, as at the start.
MPI ?= $(shell cat $(VENV)/.mpi 2>/dev/null)
MPICC_OF_MPI := $(if $(filter mpich openmpi,$(MPI)),mpicc.$(MPI),$(MPI))

# pyo3 asks this interpreter which ABI to build for; the same one everywhere, so that cargo does not rebuild.
export PYO3_PYTHON := $(abspath $(BIN)/python)

# Tests in as many processes as there are cores; those of runs over several processes take all cores themselves.
SIDE_BY_SIDE := --numprocesses auto --dist loadfile --ignore-glob='*/test_mpi*.py'

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-mpi check check-concurrency format bench fuzz docs validation study-mfnetsim study-mfnetsim-paper study-amg clean FORCE
.DELETE_ON_ERROR:

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-21s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.installed ## Build the package into .venv (does nothing if nothing changed)

$(VENV)/.tools: pyproject.toml
	@command -v cargo >/dev/null || { echo "cargo is missing: install Rust 1.88 or newer"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check 'maturin>=1.9.4,<2'
	@touch $@

# Written when the choice changes only. mpi-sys would not notice that MPICC has.
$(VENV)/.mpi: $(VENV)/.tools FORCE
	@echo '$(MPI)' | cmp -s - $@ || { cargo clean --quiet --release --package mpi-sys; echo '$(MPI)' > $@; }

$(VENV)/.installed: $(VENV)/.tools $(VENV)/.mpi $(RUST_SOURCES)
	@$(if $(MPI),command -v $(MPICC_OF_MPI) >/dev/null || { echo "$(MPICC_OF_MPI) is missing: see docs/mpi.md"; rm $(VENV)/.mpi; exit 1; })
	@echo "building the simulator$(if $(MPI), for MPI by $(MPICC_OF_MPI)); the first time takes a few minutes"
	PIP_QUIET=1 VIRTUAL_ENV=$(abspath $(VENV)) $(if $(MPI),MPICC=$(MPICC_OF_MPI)) \
	  $(BIN)/maturin develop --release --locked --quiet --extras dev $(if $(MPI),--features mpi)
	@touch $@

demo: setup ## Set up, run the example, show its results
	$(ODONATA) run examples/interference.toml -o results/interference --force

test: setup ## Set up and run all tests, Rust and Python
	cargo test --workspace --locked
	tests/mpi/setup.sh
	$(BIN)/python -m pytest $(SIDE_BY_SIDE)
	$(BIN)/python -m pytest tests/python/test_mpi*.py

test-mpi: setup ## Run the tests of runs over several processes, for every MPI library of this machine
	tests/mpi/setup.sh
	$(BIN)/python -m pytest tests/python/test_mpi*.py

check: setup ## Format, lints, generated docs, quick tests: run before a commit
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	$(BIN)/ruff check python tests studies benches
	$(BIN)/ruff format --check python tests studies benches
	$(BIN)/mypy
	cargo test --workspace --lib --locked --quiet
	$(BIN)/python -m pytest -q $(SIDE_BY_SIDE) -m 'not slow'

# Needs what the other targets do not: a nightly toolchain with the components rust-src and miri.
NIGHTLY ?= nightly
HOST = $(shell rustc -vV | sed -n 's/^host: //p')

check-concurrency: ## Check what threads share: every interleaving (loom), an interpreter (Miri), a race detector
	@rustup component list --toolchain $(NIGHTLY) --installed 2>/dev/null | grep -q rust-src || { echo "missing: rustup toolchain install $(NIGHTLY) --component rust-src,miri"; exit 1; }
	RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom cargo test --release --locked -p odonata-engine --lib loom_
	CARGO_TARGET_DIR=target/miri MIRIFLAGS=-Zmiri-disable-isolation \
	  cargo +$(NIGHTLY) miri test --locked -p odonata-engine --test parallel a_few_rounds
	ODONATA_SLOW_TOOL=1 RUSTFLAGS=-Zsanitizer=thread CARGO_TARGET_DIR=target/tsan \
	  cargo +$(NIGHTLY) test --locked -Zbuild-std --target $(HOST) -p odonata-engine --test parallel

# Needs what the other targets do not: a nightly toolchain, and `cargo install cargo-fuzz --locked`. See fuzz/README.md.
MINUTES ?= 10
TARGETS ?= conceptual dumpi program

fuzz: ## Hand arbitrary bytes to every reader of foreign input, MINUTES=10 for each target (TARGETS="conceptual dumpi program")
	@cargo fuzz --version >/dev/null 2>&1 || { echo "missing: cargo install cargo-fuzz --locked"; exit 1; }
	@set -e; for target in $(TARGETS); do mkdir -p fuzz/grown/$$target; \
	  cargo +$(NIGHTLY) fuzz run $$target fuzz/grown/$$target fuzz/corpus/$$target -- -max_total_time=$$(($(MINUTES) * 60)) \
	    -timeout=10 -rss_limit_mb=2048 $$(test -f fuzz/$$target.dict && echo -dict=fuzz/$$target.dict); \
	done

format: setup ## Format all sources
	cargo fmt --all
	$(BIN)/ruff format python tests studies benches
	$(BIN)/ruff check --fix --quiet python tests studies benches

bench: setup ## Measure packet-hops per CPU-second and memory per node (ARGS="--json --quick NAME")
	$(ODONATA) bench $(ARGS)

docs: setup ## Regenerate docs/scenario.md and docs/results.md from the types
	$(ODONATA) schema --markdown > docs/scenario.md.new && mv docs/scenario.md.new docs/scenario.md
	$(ODONATA) schema --tables --markdown > docs/results.md.new && mv docs/results.md.new docs/results.md

validation: setup ## Hold latency-load curves against BookSim 2 (SWEEPS="torus2d_dor_uniform ...")
	$(BIN)/python studies/booksim/validate.py $(SWEEPS)

study-mfnetsim: setup ## Run the MFNetSim case study beside its stored values (RUNS="cont-min-wkld2 ...")
	$(BIN)/python studies/mfnetsim/compare.py $(RUNS)

study-mfnetsim-paper: setup ## Hold the MFNetSim case study against its paper's claims (RUNS="rand-min-wkld2 ...")
	$(BIN)/python studies/mfnetsim/paper.py $(RUNS)

study-amg: setup ## Replay the AMG trace of 27 ranks under three routings (ARGS="--placement contiguous --repeat 10")
	$(BIN)/python studies/amg/routings.py $(ARGS)

clean: ## Remove .venv, target/ and results/
	rm -rf $(VENV) target results
