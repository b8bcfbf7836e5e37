"""Latency-load curves: `request` says which points, `curve` measures them, `load_sweep` is their result.

It imports `running` and what is below it, and must not import `sweeps`, `plot`, the API or the command line.
"""
