"""Commands, which are functions of the package, each declared once: name, options, function, what it shows.

`declared` says how. `device`, `trace` and `workload` hold the commands of these groups. The commands of the
functions in `runs` and `tools` are written out in `odonata.cli`.

The command line must not be imported here.
"""
