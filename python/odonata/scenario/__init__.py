"""Scenarios: as classes, one for every table (`odonata.scenario.Machine`), as files, and as presets.

`objects` has the classes, which `model_source` generates from the core's JSON Schema; they are imported on
demand. `reading` reads files, `starter` writes them, `preset_list` has the presets. `reference` is the page
of all keys.

>>> from odonata.scenario import Stencil
>>> Stencil(message="64 KiB").message
'64 KiB'

It imports `base` and `programs`, and must not import runs or results.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odonata.scenario.objects import *  # noqa: F403
    from odonata.scenario.objects import __all__ as __all__


def __getattr__(name: str) -> object:
    # Names of modules start with a small letter: importing one must not import the classes.
    if name[:1].isupper() or name == "__all__":
        objects = importlib.import_module(f"{__name__}.objects")
        globals().update({one: getattr(objects, one) for one in ("__all__", *objects.__all__)})
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
