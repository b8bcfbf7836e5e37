#!/usr/bin/env bash
# Sets up the virtual environment, after checking what the build needs. Whatever is missing is one line on standard error.
#
#   packaging/setup.sh prerequisites PYTHON   checks Python, Rust, the C linker, disk space and write access
#   packaging/setup.sh tools PYTHON VENV      makes VENV with maturin; downloads the crates
#   packaging/setup.sh build VENV [--extras NAME] OPTION...
#                                             compiles the package and installs it into VENV with the packages that it needs;
#                                             OPTIONs are those of maturin
set -uo pipefail
cd "$(dirname "$0")/.."

# Megabytes that a build, its virtual environment and the crates take, rounded up.
needed_mb=1500

fail() { echo "make: $*" >&2; exit 1; }

free_mb() { df -Pm . | awk 'NR == 2 { print $4 }'; }

# Is version $1 at least $2?
at_least() { [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

# Runs a command in silence; if it fails, shows the last line that names an error, behind the words given first.
quietly() {
    local words=$1 log
    shift
    log=$("$@" 2>&1) && return 0
    disk_full "$log"
    fail "$words: $(grep -iE 'error|caused|could not|failed|no module' <<<"$log" | tail -n 1 | cut -c 1-300)"
}

disk_full() {
    if grep -q "No space left on device" <<<"$1" || (($(free_mb) < 50)); then
        fail "the disk is full: $(free_mb) MB are free in $(pwd), a build takes $needed_mb MB"
    fi
}

prerequisites() {
    local python=$1 found rust wanted
    [[ -w . ]] || fail "$(pwd) cannot be written: the build puts .venv/ and target/ there; clone the repository into a folder of yours"
    command -v "$python" >/dev/null || fail "$python is missing: install Python 3.11 or newer, or name one: make PYTHON=python3.12"
    found=$("$python" -c 'import platform; print(platform.python_version())' 2>/dev/null) || fail "$python does not run"
    if ! at_least "$found" 3.11; then
        for other in python3.14 python3.13 python3.12 python3.11; do
            if "$other" -c '' 2>/dev/null; then
                fail "$python is Python $found, Odonata needs 3.11 or newer; this machine has $other: make PYTHON=$other"
            fi
        done
        fail "$python is Python $found, Odonata needs 3.11 or newer: install one and name it: make PYTHON=python3.12"
    fi
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        fail "$python has no venv: install it (Debian, Ubuntu: apt install python3-venv)"
    command -v cargo >/dev/null || fail "cargo is missing: install Rust $(rust_version) or newer (https://rustup.rs)"
    rust=$(rustc --version 2>/dev/null | cut -d ' ' -f 2) && [[ -n $rust ]] ||
        fail "rustc does not run: install a toolchain (rustup toolchain install stable)"
    wanted=$(rust_version)
    at_least "${rust%%-*}" "$wanted" || fail "Rust $rust is too old, Odonata needs $wanted or newer: rustup update stable"
    command -v "${CC:-cc}" >/dev/null || fail "${CC:-cc} is missing: Rust links with a C compiler (Debian, Ubuntu: apt install gcc libc6-dev)"
    if (($(free_mb) < needed_mb)) && [[ ! -e target/release ]]; then
        fail "the disk is full: $(free_mb) MB are free in $(pwd), a build takes $needed_mb MB"
    fi
}

rust_version() { sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml; }

tools() {
    local python=$1 venv=$2
    echo "making $venv"
    quietly "$python cannot make $venv" "$python" -m venv "$venv"
    install "$venv" 'maturin>=1.9.4,<2'
    echo "downloading crates"
    quietly "cargo cannot download what Odonata needs (is the network there?)" cargo fetch --locked --target "$(host)"
}

# Modules are compiled when they are imported first: most never are.
install() {
    local venv=$1
    shift
    quietly "pip cannot install what Odonata needs (is the network there?)" \
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --retries 2 "$@"
}

# What the package needs, or, with --extras NAME, the packages of that extra as well.
dependencies() {
    "$1/bin/python" -c '
import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = project["optional-dependencies"]
print(*project["dependencies"], *(name for extra in sys.argv[1:] for name in extras[extra]), sep="\n")' "${@:2}"
}

host() { rustc -vV | sed -n 's/^host: //p'; }

build() {
    local venv=$1 extras=() packages installing
    shift
    if [[ ${1:-} == --extras ]]; then
        extras=("$2")
        shift 2
    fi
    mapfile -t packages < <(dependencies "$venv" "${extras[@]}")
    # While the compiler runs.
    install "$venv" "${packages[@]}" &
    installing=$!
    if ! maturin "$venv" develop --release --locked --skip-install "$@"; then
        kill "$installing" 2>/dev/null
        disk_full ""
        fail "the build failed, the reason stands above"
    fi
    wait "$installing" || exit 1
    quietly "the package cannot be installed into $venv" maturin "$venv" develop --release --locked --quiet "$@"
}

maturin() {
    local venv=$1
    shift
    VIRTUAL_ENV=$(pwd)/$venv PATH="$(pwd)/$venv/bin:$PATH" PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
        "$venv/bin/maturin" "$@"
}

"$@"
