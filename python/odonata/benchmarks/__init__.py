"""The cost of the simulator itself: packet-hops per CPU second (`bench`), speedup of threads (`parallel`).

It imports `running` and the packages below, and must not import the API or the command line.
"""
