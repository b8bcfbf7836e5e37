"""Timelines: what a run has recorded one by one, as a trace for Perfetto (https://perfetto.dev).

`recorded` reads the tables that a run with `run.timeline` leaves behind, `selection` says what of it is
wanted and `sampling` what fits; `ranks`, `servers` and `links` make tracks and events of it, which `trace`
writes as protobuf by Perfetto's own schema. `write` puts them together. `totals` reads a trace back and holds
it against the tables of the results.

It imports `analysis` and what is below it, and must not import what runs scenarios.
"""
