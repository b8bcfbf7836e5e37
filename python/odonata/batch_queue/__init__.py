"""Days of a machine: a job list, a batch queue, and the contention of the jobs that run together.

`job_list` is the list that all others use, `readers` make it from foreign files, `profiles` and `rules` give
every job its traffic. `settings` reads a batch file, `run` drives the core, `confirm` repeats moments with
packets. `page` and `report` show the results.
"""

from __future__ import annotations
