"""Runs of a scenario: one run to its end, its baselines beside it, snapshots, several processes by MPI.

`runner` advances the core, `execute` adds baselines and makes results, `unfinished` resumes. `tiers` and
`extrapolation` run one scenario several times.

It imports `results` and the packages below, and must not import sweeps, the API or the command line.
"""
