"""OTF2 archives (Score-P and others): the MPI calls of a program, as a trace of events.

```
 NAME.otf2 ── reader ──> worker: a process of its own, the only one with the package otf2
              worker ──> tables ──> Archive
 Archive ─┬─ format ──> what `odonata trace info --json` prints
          └─ calls ───> events of each rank ── program ──> operations, a program in files
```

An archive is what the Open Trace Format 2 library writes (https://www.vi-hps.org/projects/score-p): an anchor
file, definitions, and a file of events for each location. It is read by the package `otf2`, an extra of this
one, which has that library in it.
"""

from __future__ import annotations
