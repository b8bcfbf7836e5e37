"""The study of IEEE TPDS 28(1) (dragonfly and torus networks under large traces), claim by claim.

`measures` makes tables of sweeps, a row per run and the distributions of its figures; `bluegene` runs
ping-pongs
on Blue Gene/P and /Q; `cost` runs one program on every scheduler; `claims_dragonfly`, `claims_torus` and
`claims_machines` hold the paper's sentences against them; `figures` draws; `page` writes README.md.
"""

import sys
from pathlib import Path

# study_tools, which all studies share, lies beside them.
sys.path.append(str(Path(__file__).parents[2]))
