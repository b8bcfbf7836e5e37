"""Machines whose measured times come with Odonata: hosts, measured points, distance of simulated times.

It imports `running` and the packages below, and must not import the API or the command line.
"""
