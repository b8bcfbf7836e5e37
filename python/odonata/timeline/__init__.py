"""Timelines: recorded events of a run as a trace for Perfetto (https://perfetto.dev).

`recorded` reads the tables of a run with `run.timeline`. `selection` restricts them to the request, and
`sampling` to the size limit. `ranks`, `servers` and `links` make tracks and events, which `trace` writes as
protobuf in Perfetto's schema. `write` combines them. `totals` reads a trace back and compares it with the
tables.

It imports `analysis` and the packages below, and must not import modules that run scenarios.
"""
