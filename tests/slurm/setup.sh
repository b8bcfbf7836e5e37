#!/usr/bin/env bash
# Looks for what tests/python/test_sweep_slurm.py starts: the daemons of Slurm and munge, which the test runs on the loopback
# interface with a configuration of its own, and ends.
#
# With ODONATA_SLURM_INSTALL=1, and if it may, it first installs what is missing from Debian. Nothing is started here.
set -euo pipefail
source "$(dirname "$0")/../debian.sh"

programs=(slurmctld slurmd sbatch sinfo squeue munged)
present() { for program in "${programs[@]}"; do PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || return 1; done; }

if [[ ${ODONATA_SLURM_INSTALL:-} == 1 ]] && ! present; then
    install_from_debian Slurm slurmctld slurmd slurm-client munge
fi
present || echo "WARNING: no Slurm on this machine: the test that needs it is skipped"
