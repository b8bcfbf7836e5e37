"""What the simulator itself costs: packet-hops per CPU second (`bench`), speedup of threads (`parallel`).

It imports `running` and what is below it, and must not import the API or the command line.
"""
