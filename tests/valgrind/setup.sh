#!/usr/bin/env bash
# Sees to Valgrind, whose Cachegrind counts what a packet-hop takes (benches/hop_costs.py).
#
# With ODONATA_VALGRIND_INSTALL=1, and if it may, it first installs Debian's if there is none.
set -euo pipefail
source "$(dirname "$0")/../debian.sh"

present() { command -v valgrind; }

if [[ ${ODONATA_VALGRIND_INSTALL:-} == 1 ]] && ! present >/dev/null; then
    install_from_debian Valgrind valgrind
fi
present >/dev/null || echo "WARNING: no Valgrind on this machine: the costs of a hop cannot be counted"
