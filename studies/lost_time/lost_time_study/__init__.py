"""Accuracy of lost time as a prediction of a job's time alone: each case is run together and job by job.

`cases` are the scenarios, `measure` runs them, `table` writes docs/lost-time-accuracy.md, `figure`
draws its figure.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parents[1]
STUDIES = HERE.parent
# study_tools, which all studies share.
sys.path.append(str(STUDIES))
