"""Odonata simulates a supercomputer's network and storage, packet by packet, and the jobs that share them.

>>> import odonata
>>> results = odonata.run("examples/interference.toml")  # doctest: +SKIP
>>> results.run["outcome"]  # doctest: +SKIP
'completed'
>>> results.table("jobs").to_pandas()  # doctest: +SKIP

`run` simulates, `check` says what can be known before, `load` opens the folder that `odonata run` wrote.
All times are simulated seconds, all sizes bytes; the unit is in the name of every column.
"""

from odonata._core import __version__
from odonata.api import check, load, run
from odonata.errors import InputError, RunFailed
from odonata.results import Results

__all__ = ["InputError", "Results", "RunFailed", "__version__", "check", "load", "run"]
