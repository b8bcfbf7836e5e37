"""OTF2 archives (Score-P and others): the MPI calls of a program, as a trace of events.

```
 NAME.otf2 ── reader ──> worker: a process of its own, the only one with the package otf2
              worker ──> tables ──> Archive
 Archive ─┬─ format ──> the output of `odonata trace info --json`
          └─ calls ───> events of each rank ── program ──> operations, a program in files
```

The Open Trace Format 2 library writes archives (https://www.vi-hps.org/projects/score-p): an anchor file,
definitions, and a file of events for each location. The package `otf2`, an extra of this one, contains that
library and reads them.
"""

from __future__ import annotations
