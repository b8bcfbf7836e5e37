"""The study of I/O and communication interference of IEEE Cluster 2017, claim by claim.

`measures` turns a sweep into a table, a row per configuration. `claims_background` and `claims_io` compare it
with the paper's sentences, `figures` draws it like the paper, `page` writes README.md.
"""

import sys
from pathlib import Path

# study_tools, which all studies share, lies beside them.
sys.path.append(str(Path(__file__).parents[2]))
