# Everything a contributor needs. `make help` lists the targets.
# Wanted on the machine: Rust (cargo) and Python >= 3.11 with venv. All else goes into .venv and target/.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ODONATA := $(BIN)/odonata

# What the compiled package depends on. Python sources do not count: they are installed as links.
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name '*.toml')

# pyo3 asks this interpreter which ABI to build for; the same one everywhere, so that cargo does not rebuild.
export PYO3_PYTHON := $(abspath $(BIN)/python)

.DEFAULT_GOAL := help
.PHONY: help setup demo test check format bench docs study-mfnetsim study-mfnetsim-paper clean
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

$(VENV)/.installed: $(VENV)/.tools $(RUST_SOURCES)
	@echo "building the simulator; the first time takes a few minutes"
	PIP_QUIET=1 VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --locked --quiet --extras dev
	@touch $@

demo: setup ## Set up, run the example, show its results
	$(ODONATA) run examples/interference.toml -o results/interference --force

test: setup ## Set up and run all tests, Rust and Python
	cargo test --workspace --locked
	$(BIN)/python -m pytest

check: setup ## Format, lints, generated docs, quick tests: run before a commit
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	$(BIN)/ruff check python tests studies benches
	$(BIN)/ruff format --check python tests studies benches
	$(BIN)/mypy
	cargo test --workspace --lib --locked --quiet
	$(BIN)/python -m pytest -q -m 'not slow'

format: setup ## Format all sources
	cargo fmt --all
	$(BIN)/ruff format python tests studies benches
	$(BIN)/ruff check --fix --quiet python tests studies benches

bench: setup ## Measure packet-hops per CPU-second and memory per node (ARGS="--json --quick NAME")
	$(ODONATA) bench $(ARGS)

docs: setup ## Regenerate docs/scenario.md and docs/results.md from the types
	$(ODONATA) schema --markdown > docs/scenario.md.new && mv docs/scenario.md.new docs/scenario.md
	$(ODONATA) schema --tables --markdown > docs/results.md.new && mv docs/results.md.new docs/results.md

study-mfnetsim: setup ## Run the MFNetSim case study beside its stored values (RUNS="cont-min-wkld2 ...")
	$(BIN)/python studies/mfnetsim/compare.py $(RUNS)

study-mfnetsim-paper: setup ## Hold the MFNetSim case study against its paper's claims (RUNS="rand-min-wkld2 ...")
	$(BIN)/python studies/mfnetsim/paper.py $(RUNS)

clean: ## Remove .venv, target/ and results/
	rm -rf $(VENV) target results
