"""The name that was probably meant by an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: Characters of a name that are compared: the time grows with their product.
_COMPARED = 200


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most similar to `name` in any case; `None` if none is similar.

    >>> nearest("Stencl", ["allreduce", "stencil"]), nearest("x", ["stencil"])
    ('stencil', None)
    """
    names = {one[:_COMPARED].lower(): one for one in known}
    found = difflib.get_close_matches(name[:_COMPARED].lower(), names, n=1)
    return names[found[0]] if found else None


def did_you_mean(name: str | None, quote: str = "") -> str | None:
    """The hint that names the nearest known name.

    >>> did_you_mean("stencil"), did_you_mean("halo", '"'), did_you_mean(None)
    ('did you mean stencil?', 'did you mean "halo"?', None)
    """
    return None if name is None else f"did you mean {quote}{name}{quote}?"
