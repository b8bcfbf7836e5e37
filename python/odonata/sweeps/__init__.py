"""Parameter sweeps: a scenario at many points of its keys, with several seeds each, and confidence intervals.

Read in this order:

- `spec`: the request;
- `points`: its runs;
- `work`: one run, and its key in the cache;
- `scheduler`: executes runs with an `executor`, and keeps their results in the `store`;
- `table` and `statistics`: the tables;
- `result`: the object for the user.

It imports `running`, `report` and the packages below, and must not import `load_curves`, the API or the
command line.
"""
