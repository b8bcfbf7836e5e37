"""Darshan logs: the I/O of an application, as counters or as a list of accesses.

```
 LOG.darshan ── header ──> sizes of its regions (is the file complete?)
             ── reader ──> worker: a process of its own, the only one with PyDarshan ──> tables ──> Log
 Log ─┬─ statistics ──> the output of `odonata trace info --json`
      ├─ findings ────> errors and gaps
      └─ accesses ────> opens, reads and writes of each rank ── program ──> a program in files
                        (exact by DXT, else by `reconstruction`)
```

Darshan 3.x writes such logs (https://www.mcs.anl.gov/research/projects/darshan/): versions 3.00 to 3.41 of
the format. The package `darshan` (PyDarshan), an extra of this one, reads them.
"""

from __future__ import annotations
