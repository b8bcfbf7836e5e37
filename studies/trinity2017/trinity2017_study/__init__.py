"""The study of Trinity's burst buffers under IOR, claim by claim.

`measures` makes a table of sweeps, a row per run; `claims` holds the text's sentences against it; `page`
writes README.md.
"""

import sys
from pathlib import Path

# study_tools, which all studies share, lies beside them.
sys.path.append(str(Path(__file__).parents[2]))
