"""The validation of CODES' dragonfly against Theta (IEEE Cluster 2017), with what is public of Theta.

`machine` has the preset and what is changed of it, `runs` the tests, `published` every number that is held
against them; `rules` measures and grades, `claims` has the sentences; `figures` draws, `page` writes
README.md.
"""

import sys
from pathlib import Path

# study_tools, which all studies share, lies beside them.
sys.path.append(str(Path(__file__).parents[2]))
