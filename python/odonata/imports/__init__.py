"""Configurations of other simulators as scenarios: CODES and MFNetSim, BookSim 2.

What a configuration says becomes a key with a comment that names where it is from; what it leaves to its
simulator is that simulator's default, said so; and what has no counterpart is listed. Nothing is made up:
where a table would have to be guessed, it is left out, or the file is refused.

It imports `base` alone.
"""

from __future__ import annotations
