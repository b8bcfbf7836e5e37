"""The validation of CODES' dragonfly against Theta (IEEE Cluster 2017), with the public numbers of Theta.

`machine` has the preset and its changes, `runs` the tests, `published` every number for comparison; `rules`
measures and grades, `claims` has the sentences; `figures` draws, `page` writes README.md.
"""

import sys
from pathlib import Path

# study_tools, which all studies share, lies beside them.
sys.path.append(str(Path(__file__).parents[2]))
