"""The MFNetSim case study: runs of Odonata compared with those that its authors published.

`stored` reads the published runs, `ours` result folders of Odonata; both give a `data.RunData`, in seconds
and bytes. `exact` compares values that must be equal, `close` values that should be near, `report` shows
both, `runs` runs the scenarios.
"""

import sys
from pathlib import Path

# study_tools, which all studies share, lies beside them.
sys.path.append(str(Path(__file__).parents[2]))
