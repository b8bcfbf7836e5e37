"""The study of I/O and communication interference of IEEE Cluster 2017, claim by claim.

`measures` makes a table of a sweep, a row per configuration; `claims_background` and `claims_io` hold the
paper's sentences against it, `figures` draws it as the paper does, `page` writes README.md.
"""

import sys
from pathlib import Path

# study_tools, which all studies share, lies beside them.
sys.path.append(str(Path(__file__).parents[2]))
