"""What real machines were measured to do, beside what presets that stand for them give.

`pingpong` runs pairs of nodes at several distances; `entries` names every published number and where ours
comes from; `table` writes it for docs/validation.md.
"""

import sys
from pathlib import Path

STUDIES = Path(__file__).parents[2]
# study_tools, which all studies share, and the studies whose results are read here.
sys.path += [str(STUDIES), *(str(STUDIES / name) for name in ("tpds2016", "gpcnet", "theta"))]
