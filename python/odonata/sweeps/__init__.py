"""Parameter sweeps: a scenario at many points of its keys, with several seeds each, and confidence intervals.

Read in this order: `spec` (what is asked for), `points` (which runs that is), `work` (one run, and its key in
the cache), `scheduler` (runs them with an `executor`, and keeps what comes back in the `store`), `table` and
`statistics` (what is written at the end), `result` (what the user gets).

It imports `running`, `report` and what is below them, and must not import `load_curves`, the API or the
command line.
"""
