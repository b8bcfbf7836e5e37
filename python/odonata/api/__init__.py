"""The functions of the package: `runs` has those of scenarios and results, `tools` those of other commands.

The command line must not be imported here.
"""
