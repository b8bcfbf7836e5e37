"""What every other package uses: words and quantities, tables for people, files and folders.

Files are written whole or not at all: `output_file` for one, `folder` for a result folder. `foreign` reads
files that others wrote, `json_types` checks JSON, `optional_packages` imports what may be missing.

It imports `odonata.errors` and nothing else of the package.
"""
