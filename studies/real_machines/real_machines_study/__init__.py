"""Measurements of real machines, beside results of the presets that represent them.

`pingpong` runs pairs of nodes at several distances; `entries` lists every published number and the source of
Odonata's; `table` writes the table of docs/real-machines.md.
"""

import sys
from pathlib import Path

STUDIES = Path(__file__).parents[2]
# study_tools, which all studies share, and the studies whose results are used here.
sys.path += [str(STUDIES), *(str(STUDIES / name) for name in ("tpds2016", "gpcnet", "theta"))]
