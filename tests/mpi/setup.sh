#!/usr/bin/env bash
# Builds what the tests in this folder start, once for every MPI library of this machine: the example programs of
# odonata-mpi-transport, and the Python package with an extension that speaks MPI. All goes to target/mpi/NAME, beside the
# package that `make setup` builds, which stays as it is.
#
# With ODONATA_MPI_INSTALL=1, and if it may, it first installs what is missing of the two MPI libraries and libclang from Debian.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/debian.sh

if [[ ${ODONATA_MPI_INSTALL:-} == 1 ]]; then
    install_from_debian "MPI libraries" mpich libmpich-dev openmpi-bin libopenmpi-dev libclang-dev
fi
# With ODONATA_INSTALL_ONLY=1, nothing is built: the gate installs while it still builds something else.
[[ ${ODONATA_INSTALL_ONLY:-} != 1 ]] || exit 0

# The library's name here, its compiler wrapper, its mpirun.
libraries=()
for name in mpich openmpi; do
    if command -v "mpicc.$name" >/dev/null && command -v "mpirun.$name" >/dev/null; then
        libraries+=("$name mpicc.$name mpirun.$name")
    fi
done
if [[ ${#libraries[@]} == 0 ]] && command -v mpicc >/dev/null && command -v mpirun >/dev/null; then
    libraries=("default mpicc mpirun")
fi
if [[ ${#libraries[@]} == 0 ]]; then
    rm -rf target/mpi
    echo "WARNING: no MPI library (mpicc, mpirun) on this machine: the tests that need one are skipped"
    exit 0
fi

if [[ -z ${PYO3_PYTHON:-} ]]; then
    PYO3_PYTHON=$(pwd)/.venv/bin/python
    [[ -x $PYO3_PYTHON ]] || PYO3_PYTHON=$(command -v python3)
fi
export PYO3_PYTHON
# What maturin sets: the extension must not bring a libpython of its own.
export PYO3_BUILD_EXTENSION_MODULE=1

for library in "${libraries[@]}"; do
    read -r name mpicc mpirun <<<"$library"
    folder=target/mpi/$name
    if [[ -e $folder/built && -z $(find Cargo.lock Cargo.toml crates -newer "$folder/built" -print -quit) ]]; then
        continue
    fi
    echo "building for $name"
    # mpi-sys does not notice that MPICC has changed.
    cargo clean --quiet --release --package mpi-sys
    # The profile of the package and its tests, so that all but the bridge is compiled once for all.
    MPICC=$mpicc cargo build --quiet --locked --release --workspace --lib --examples \
        --features odonata-py/mpi,odonata-mpi-transport/mpi
    rm -rf "$folder"
    mkdir -p "$folder/site/odonata"
    cp target/release/examples/{transport,toy,latency} "$folder"
    for source in python/odonata/*; do
        [[ $source == *.so || $source == *__pycache__ ]] || ln -s "$(pwd)/$source" "$folder/site/odonata"
    done
    cp target/release/lib_core.so "$folder/site/odonata/_core.abi3.so"
    echo "$mpirun" >"$folder/built"
done
