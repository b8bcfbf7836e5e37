"""Odonata simulates a supercomputer's network and storage, packet by packet, and the jobs that share them.

>>> import odonata
>>> results = odonata.run("examples/interference.toml")  # doctest: +SKIP
>>> results.run["outcome"]  # doctest: +SKIP
'completed'
>>> results.frame("jobs")  # doctest: +SKIP

`run` simulates, `check` says what can be known before, `load` opens the folder that `odonata run` wrote,
`compare` says what differs between two of them. docs/python.md is a short guide.
All times are simulated seconds, all sizes bytes; the unit is in the name of every column.
"""

from odonata._core import __version__
from odonata.api import check, compare, load, run
from odonata.errors import InputError, RunFailed, RunSuspended
from odonata.results import Results
from odonata.runner import Progress
from odonata.slowdown import Slowdown

__all__ = [
    "InputError",
    "Progress",
    "Results",
    "RunFailed",
    "RunSuspended",
    "Slowdown",
    "__version__",
    "check",
    "compare",
    "load",
    "run",
]
