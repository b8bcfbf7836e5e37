"""Analyses of the tables of a run: slowdown, blame, lost time, the summary, a comparison of two results.

`run_record` reads run.json and `parquet` the tables; both check what they read. A module named `..._page`
prints the findings of the module of the same name. `reference` documents tables and answers.

It imports `base`, `scenario` and `odonata.answers`, and must not import `odonata.results` or runs.
"""
