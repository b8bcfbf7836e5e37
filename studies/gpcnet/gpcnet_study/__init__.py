"""GPCNeT's canaries beside its congestors, and the Slingshot paper's aggressor-victim map, claim by claim.

`patterns` has the programs of ranks, `machines` the two machines, `cells` who runs beside whom;
`measures` runs
cells and makes a row of each; `published` has what machines were measured to do; `claims` holds one
against the
other; `figures` draws; `page` writes README.md.
"""

import sys
from pathlib import Path

# study_tools, which all studies share, lies beside them.
sys.path.append(str(Path(__file__).parents[2]))
