"""Latency-load curves: `request` specifies the points, `curve` measures them, `load_sweep` holds the result.

It imports `running` and the packages below, and must not import `sweeps`, `plot`, the API or the command
line.
"""
