"""Helpers of every other package: wording, quantities, tables for people, files and folders.

Files are written whole or not at all: `output_file` for one, `folder` for a result folder. `foreign` reads
files from outside, `json_types` checks JSON, `optional_packages` imports packages that may be missing.

It imports `odonata.errors` and nothing else of the package.
"""
