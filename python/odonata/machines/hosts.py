"""Nodes of machines by the names of their hosts."""

from __future__ import annotations

from odonata import _core
from odonata.errors import InputError


def node(preset: str, host: str) -> int:
    """The node of `host` on the machine of `preset`: lumi, leonardo, marenostrum5, alps, aurora, cori or
    theta-full.

    >>> node("lumi", "x1302c0s3b0n0") == node("lumi", "nid006742")
    True

    Raises:
        InputError: The preset has no names of hosts, or no such host.
    """
    number, expected = _core.host_node(preset, host)
    if number is None:
        raise InputError(f"there is no host {host!r} in {preset!r}", value=repr(host), expected=expected)
    return number
