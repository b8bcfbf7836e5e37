"""Configurations of other simulators (CODES and MFNetSim, BookSim 2) and job lists, as scenarios and batch
files.

A setting of the configuration becomes a key with a comment on its origin. A missing setting gets the default
of its simulator, with a comment. A setting without a counterpart is listed. If a table would have to be
guessed, it is left out, or the file is refused.

Configurations need `base` alone, job lists also `batch_queue`.
"""

from __future__ import annotations
