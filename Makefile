# Everything a contributor needs. `make help` lists the targets.
# Wanted on the machine: Rust (cargo) and Python >= 3.11 with venv. All else goes into .venv and target/.

# A failure within a pipe is a failure.
SHELL := bash
.SHELLFLAGS := -o pipefail -c

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

# pyo3 asks this interpreter which ABI to build for, and an extension must not bring a libpython of its own. The same for every
# build, so that cargo compiles nothing twice.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PYO3_BUILD_EXTENSION_MODULE := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-mpi test-slurm test-browser test-reference test-all lint check site digests digests-update wheel wheel-aarch64 c-library pgo-profile sdist check-concurrency format bench hop-costs fuzz hostile docs readme gallery validation study-mfnetsim study-mfnetsim-paper study-cluster2017 study-trinity2017 study-tpds2016 study-gpcnet study-theta study-real-machines study-amg study-advice study-batch clean FORCE
.DELETE_ON_ERROR:

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-21s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.dev ## Build the package into .venv, with what tests need (does nothing if nothing changed)

# Missing tools are reported before anything starts.
$(VENV)/.tools: pyproject.toml
	@packaging/setup.sh prerequisites $(PYTHON)
	@packaging/setup.sh tools $(PYTHON) $(VENV)
	@touch $@

# Written only when the choice changes, because mpi-sys does not notice a change of MPICC.
$(VENV)/.mpi: $(VENV)/.tools FORCE
	@echo '$(MPI)' | cmp -s - $@ || { cargo clean --quiet --release --package mpi-sys; echo '$(MPI)' > $@; }

$(VENV)/.installed: $(VENV)/.tools $(VENV)/.mpi $(RUST_SOURCES)
	@$(if $(MPI),command -v $(MPICC_OF_MPI) >/dev/null || { echo "$(MPICC_OF_MPI) is missing: see docs/mpi.md"; rm $(VENV)/.mpi; exit 1; })
	@echo "building the simulator$(if $(MPI), for MPI by $(MPICC_OF_MPI)): about 95 crates, three to five minutes the first time"
	@$(BUILD)
	@touch $@

# Packages for tests, lints and pictures. They are installed after the package, so the demo does not wait for them.
$(VENV)/.dev: pyproject.toml $(VENV)/.installed
	@[[ $@ -nt pyproject.toml ]] || { echo "installing what tests need"; $(BUILD); }
	@touch $@

BUILD = $(if $(MPI),MPICC=$(MPICC_OF_MPI)) packaging/setup.sh build $(VENV) $(EXTRAS) $(if $(MPI),--features mpi)
$(VENV)/.dev: private EXTRAS = --extras dev

demo: $(VENV)/.installed ## Build the package, run the example, show its results
	$(ODONATA) run examples/interference.toml -o results/interference --force

test: setup ## Set up and run the tests that need nothing else and do not take long, Rust and Python
	@$(BIN)/python tests/run.py

test-mpi: setup ## Run the tests of runs over several processes, for every MPI library of this machine
	tests/mpi/setup.sh
	@$(BIN)/python tests/run.py --only mpi

test-slurm: setup ## Run the tests of sweeps on Slurm (as root, on a machine with its daemons)
	tests/slurm/setup.sh
	@$(BIN)/python tests/run.py --only slurm

test-browser: setup ## Run the tests that open reports in Chromium
	tests/browser/setup.sh
	@$(BIN)/python tests/run.py --only browser

test-reference: setup ## Run the tests of real traces, which lie in the folder ODONATA_REFERENCE (tests/traces/README.md)
	@[[ -n "$$ODONATA_REFERENCE" ]] || { echo "ODONATA_REFERENCE names no folder of traces: see tests/traces/README.md"; exit 1; }
	@$(BIN)/python tests/run.py --only reference

test-all: setup ## Run every test, those that take long too, and those of Rust with debug assertions (more than an hour)
	tests/mpi/setup.sh
	tests/slurm/setup.sh
	tests/browser/setup.sh
	@$(BIN)/python tests/run.py --all

digests: setup ## Hold the results of 850 scenarios against those recorded (ARGS="mpi/", tests/digests)
	$(BIN)/python tests/digests/check.py $(ARGS)

digests-update: setup ## Record what they give now (ARGS="mpi/")
	$(BIN)/python tests/digests/check.py --update $(ARGS)

hop-costs: setup ## Instructions and cache misses per packet-hop, held against those recorded (needs valgrind; benches/README.md)
	tests/valgrind/setup.sh
	$(BIN)/python benches/hop_costs.py --check

lint: setup ## Format, lints, types, plain English
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets --locked --quiet -- -D warnings
	$(BIN)/ruff check python tests studies benches docs/site docs/figures
	$(BIN)/ruff format --check python tests studies benches docs/site docs/figures
	$(BIN)/mypy
	@for script in $(filter-out studies/fidelity/%, $(wildcard studies/*/study.py)); do $(BIN)/mypy --no-error-summary $$script || exit 1; done
	$(BIN)/python tests/prose.py

check: lint ## The same, generated docs, quick tests: run before a commit
	@$(BIN)/python tests/run.py --quick

# Needs a nightly toolchain with the components rust-src and miri.
NIGHTLY ?= nightly
HOST = $(shell rustc -vV | sed -n 's/^host: //p')

check-concurrency: ## Check what threads share: every interleaving (loom), an interpreter (Miri), a race detector
	@rustup component list --toolchain $(NIGHTLY) --installed 2>/dev/null | grep -q rust-src || { echo "missing: rustup toolchain install $(NIGHTLY) --component rust-src,miri"; exit 1; }
	RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom cargo test --release --locked -p odonata-engine --lib loom_
	CARGO_TARGET_DIR=target/miri MIRIFLAGS=-Zmiri-disable-isolation \
	  cargo +$(NIGHTLY) miri test --locked -p odonata-engine --test parallel a_few_rounds
	ODONATA_SLOW_TOOL=1 RUSTFLAGS=-Zsanitizer=thread CARGO_TARGET_DIR=target/tsan \
	  cargo +$(NIGHTLY) test --locked -Zbuild-std --target $(HOST) -p odonata-engine --test parallel

# Needs a nightly toolchain, and `cargo install cargo-fuzz --locked`. See fuzz/README.md.
MINUTES ?= 10
TARGETS ?= conceptual dumpi goal program

fuzz: ## Hand arbitrary bytes to every reader of foreign input, MINUTES=10 for each target (TARGETS="conceptual dumpi goal program")
	@cargo fuzz --version >/dev/null 2>&1 || { echo "missing: cargo install cargo-fuzz --locked"; exit 1; }
	@set -e; for target in $(TARGETS); do mkdir -p fuzz/grown/$$target; \
	  cargo +$(NIGHTLY) fuzz run $$target fuzz/grown/$$target fuzz/corpus/$$target -- -max_total_time=$$(($(MINUTES) * 60)) \
	    -timeout=10 -rss_limit_mb=2048 $$(test -f fuzz/$$target.dict && echo -dict=fuzz/$$target.dict); \
	done

# The time of all campaigns together, the seed of all choices, and the campaigns. See tests/hostile/README.md.
hostile: MINUTES = 3
SEED ?= 1
CAMPAIGNS ?=

hostile: setup ## Try random and hostile input, MINUTES=3 in all (SEED=1 CAMPAIGNS="scenarios digests"); finds are kept
	PYTHONPATH=tests $(BIN)/python -m hostile --minutes $(MINUTES) --seed $(SEED) $(CAMPAIGNS)

format: setup ## Format all sources
	cargo fmt --all
	$(BIN)/ruff format python tests studies benches docs/site docs/figures
	$(BIN)/ruff check --fix --quiet python tests studies benches docs/site docs/figures

bench: setup ## Measure packet-hops per CPU-second and memory per node (ARGS="--json --quick NAME")
	$(ODONATA) bench $(ARGS)

# The profile of a wheel, and the oldest glibc that it runs with, for which the linker of Zig builds.
WHEEL_PROFILE ?= wheel
WHEEL_PLATFORM ?= manylinux_2_28
# Profile-guided optimization with llvm-tools (rustup component add llvm-tools; `make wheel WHEEL_PGO=` does without): 7 to 10% less
# CPU time, and the wheel is built twice. The machine's own linker links the profiled build, because the linker of Zig does not support
# profiling. All other options equal those of the second build (--zig sets options that determine the names of functions), because a
# profile is found by the name of a function. Both builds have a folder of their own, because Cargo does not notice a changed profile.
LLVM_PROFDATA = $(firstword $(wildcard $(shell rustc --print sysroot)/lib/rustlib/*/bin/llvm-profdata))
# Flags of the compiler cannot name a folder with a space.
WHEEL_PGO ?= $(if $(LLVM_PROFDATA),$(if $(word 2,$(CURDIR)),,yes))
PGO = $(CURDIR)/target/pgo
HOST = $(shell rustc -vV | sed -n 's/^host: //p')

MATURIN = PATH="$(CURDIR)/$(BIN):$$PATH" VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin
WHEEL_OPTIONS = --profile $(WHEEL_PROFILE) --locked --quiet --strip $(if $(filter linux,$(WHEEL_PLATFORM)),,--zig) --compatibility $(WHEEL_PLATFORM)

$(VENV)/.wheel-tools: $(VENV)/.tools
	$(BIN)/pip install --quiet --disable-pip-version-check 'maturin[zig]>=1.9.4,<2' 'auditwheel>=6,<7'
	@touch $@

pgo-profile: $(VENV)/.wheel-tools
	rm -rf $(PGO)
	RUSTFLAGS="-Cprofile-generate=$(PGO)/raw -Clinker=cc" CARGO_TARGET_DIR=$(PGO)/build $(MATURIN) build --profile $(WHEEL_PROFILE) \
	  --locked --quiet --strip --zig --target $(HOST) --compatibility linux --out $(PGO)/wheel
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --target $(PGO)/site $(PGO)/wheel/*.whl
	PYTHONPATH=$(PGO)/site $(BIN)/python benches/pgo.py
	$(LLVM_PROFDATA) merge --output $(PGO)/merged.profdata $(PGO)/raw

wheel: $(VENV)/.wheel-tools $(if $(WHEEL_PGO),pgo-profile) ## Build a wheel for every Python from 3.11 on into dist/, install it into an empty venv, run the demo
	rm -f dist/*_$(shell uname -m).whl
	$(if $(WHEEL_PGO),RUSTFLAGS="-Cprofile-use=$(PGO)/merged.profdata" CARGO_TARGET_DIR=$(PGO)/build) $(MATURIN) build $(WHEEL_OPTIONS) \
	  $(if $(WHEEL_PGO),--target $(HOST)) --out dist
	$(BIN)/python tests/wheel.py dist/*_$(shell uname -m).whl $(WHEEL_PLATFORM)

wheel-aarch64: $(VENV)/.wheel-tools ## The same for 64-bit ARM, built on any machine (rustup target add aarch64-unknown-linux-gnu)
	rm -f dist/*_aarch64.whl
	$(MATURIN) build $(WHEEL_OPTIONS) --target aarch64-unknown-linux-gnu --out dist
	$(BIN)/python tests/wheel.py dist/*_aarch64.whl $(WHEEL_PLATFORM)

# The folder that the library for C is installed to, and the profile that it is built with: wheel is the fastest.
PREFIX ?= target/c-library
C_PROFILE ?= release

c-library: ## Build the library for C, install it with odonata.h (PREFIX=target/c-library; docs/network-backend.md)
	cargo build --profile $(C_PROFILE) --locked --package odonata-c
	packaging/c-library.sh target/$(C_PROFILE) $(PREFIX)

sdist: $(VENV)/.wheel-tools ## Make the source archive in dist/, and hold it to what it is to have
	rm -f dist/*.tar.gz
	$(MATURIN) sdist --out dist
	$(BIN)/python tests/sdist.py dist/*.tar.gz

docs: setup ## Write anew what is made from the types: reference pages, odonata.scenario, what commands print on pages
	$(ODONATA) schema --python > objects.py.new && mv objects.py.new python/odonata/scenario/objects.py
	$(ODONATA) schema --markdown > docs/scenario.md.new && mv docs/scenario.md.new docs/scenario.md
	$(ODONATA) schema --tables --markdown > docs/results.md.new && mv docs/results.md.new docs/results.md
	$(BIN)/python docs/site/reference.py
	$(BIN)/python tests/python/console_blocks.py
	$(BIN)/python docs/figures/concepts.py

readme: setup ## Run the commands of README.md once, and write its blocks of output whole from these runs
	$(BIN)/python tests/python/console_blocks.py --fresh README.md

$(VENV)/.site-tools: pyproject.toml $(VENV)/.tools
	$(BIN)/pip install --quiet --disable-pip-version-check $$($(BIN)/python -c \
	  'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"])')
	@touch $@

site: $(VENV)/.site-tools ## Build the documentation as a site into site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@$(BIN)/python tests/site.py site

gallery: setup ## Draw the pictures of docs/gallery.md anew, by its commands
	tests/browser/setup.sh
	$(BIN)/python docs/figures/make.py

validation: setup ## Hold storage devices against measured ones, latency-load curves against BookSim 2 (SWEEPS="torus2d_dor_uniform ...")
	ODONATA_UPDATE_DOCS=1 cargo test --locked --quiet -p odonata-device --test table_one
	$(BIN)/python studies/booksim/validate.py $(SWEEPS)

study-mfnetsim: setup ## Run the MFNetSim case study beside its stored values (RUNS="cont-min-wkld2 ...")
	$(BIN)/python studies/mfnetsim/compare.py $(RUNS)

study-mfnetsim-paper: setup ## Hold the MFNetSim case study against its paper's claims (RUNS="rand-min-wkld2 ...")
	$(BIN)/python studies/mfnetsim/paper.py $(RUNS)

study-cluster2017: WHAT = quick

study-cluster2017: setup ## Hold checkpoints beside background traffic on a machine like Cori against their paper (WHAT="full --store")
	$(BIN)/python studies/cluster2017/study.py $(WHAT)

study-trinity2017: WHAT = phase2

study-trinity2017: setup ## Hold IOR on Trinity's burst buffers against its text (WHAT=quick, "merged --store")
	$(BIN)/python studies/trinity2017/study.py $(WHAT)

study-tpds2016: WHAT = quick

study-tpds2016: setup ## Hold three programs on dragonflies and tori, BookSim and Blue Gene against their paper (WHAT="full --store", multigrid-full)
	$(BIN)/python studies/tpds2016/study.py $(WHAT)

study-gpcnet: WHAT = quick

study-gpcnet: setup ## Hold GPCNeT's canaries beside congestors against measured machines (WHAT="full --store")
	$(BIN)/python studies/gpcnet/study.py $(WHAT)

study-theta: WHAT = quick

study-theta: setup ## Ping-pong and bisection pairing on a machine like Theta, beside what is public of it (WHAT="full --store")
	$(BIN)/python studies/theta/study.py $(WHAT)

study-real-machines: WHAT = quick

study-real-machines: setup ## Ping-pongs on presets, and docs/real-machines.md (WHAT=page)
	$(BIN)/python studies/real_machines/study.py $(WHAT)

study-amg: setup ## Replay the AMG trace of 27 ranks under three routings (ARGS="--placement contiguous --repeat 10", ARGS=--stored: the stored results)
	$(BIN)/python studies/amg/routings.py $(ARGS)

study-advice: setup ## Ask for advice on twelve scenarios, and check it with other seeds (ARGS=--stored: the stored answers)
	$(BIN)/python studies/advice/held_out.py $(ARGS)

study-batch: setup ## Print and draw how far slowdowns by rates are off from packets, at the stored moments of four job lists
	$(BIN)/python studies/batch/accuracy.py

clean: ## Remove .venv, target/, dist/, site/ and results/
	rm -rf $(VENV) target dist site results
