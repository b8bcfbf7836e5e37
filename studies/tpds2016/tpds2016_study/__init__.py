"""The study of IEEE TPDS 28(1) (dragonfly and torus networks under large traces), claim by claim.

`measures` turns sweeps into tables, a row per run, and the distributions of its figures. `bluegene` runs
ping-pongs on Blue Gene/P and /Q; `cost` runs one program on every scheduler. `claims_dragonfly`,
`claims_torus` and `claims_machines` compare them with the paper's sentences; `figures` draws; `page` writes
README.md.
"""

import sys
from pathlib import Path

# study_tools, which all studies share, lies beside them.
sys.path.append(str(Path(__file__).parents[2]))
