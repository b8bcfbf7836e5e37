"""Commands, which are functions of the package, each declared once: name, options, function, what it shows.

`declared` says how. The command line makes its commands of the declarations; the package takes the functions.

The command line must not be imported here.
"""
