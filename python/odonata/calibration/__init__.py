"""Parameters from measurements: of a machine from ping-pongs (`machine`), of storage devices (`devices`).

It imports `running` and the packages below, and must not import the API or the command line.
"""
