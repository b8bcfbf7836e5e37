"""GPCNeT's canaries beside its congestors, and the Slingshot paper's aggressor-victim map, claim by claim.

`patterns` has the programs of ranks, `machines` the two machines, `cells` the pairs of victim and aggressor.
`measures` runs cells and makes a row of each, `published` has measurements of machines, and `claims` compares
the two. `figures` draws; `page` writes README.md.
"""

import sys
from pathlib import Path

# study_tools, which all studies share, lies beside them.
sys.path.append(str(Path(__file__).parents[2]))
