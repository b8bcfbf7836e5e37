"""Machines: measured times, their distance from simulated ones, and prices of networks.

It imports `running` and the packages below, and must not import the API or the command line.
"""
