"""Darshan logs: what an application's I/O was, as counters or as a list of its accesses.

```
 LOG.darshan ── header ──> sizes of its regions (are they there?)
             ── reader ──> worker: a process of its own, the only one with PyDarshan ──> tables ──> Log
 Log ─┬─ statistics ──> what `odonata trace info --json` prints
      ├─ findings ────> what is wrong or missing
      └─ accesses ────> opens, reads and writes of each rank ── program ──> a program in files
                        (exact by DXT, else by `reconstruction`)
```

A log is what Darshan 3.x writes (https://www.mcs.anl.gov/research/projects/darshan/): versions 3.00 to 3.41
of the format. It is read by the package `darshan` (PyDarshan), an extra of this one.
"""

from __future__ import annotations
