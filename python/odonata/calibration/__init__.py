"""Parameters from measurements: of a machine from ping-pongs (`machine`), of storage devices (`devices`).

It imports `running` and what is below it, and must not import the API or the command line.
"""
