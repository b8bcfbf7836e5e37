"""The study of Trinity's burst buffers under IOR, claim by claim.

`measures` turns sweeps into a table, a row per run; `claims` compares it with the text's sentences; `page`
writes README.md.
"""

import sys
from pathlib import Path

# study_tools, which all studies share, lies beside them.
sys.path.append(str(Path(__file__).parents[2]))
