"""The answers of `odonata presets`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from odonata.base.json_types import Count, declared


@declared
class PresetMachine(TypedDict):
    """The machine of a preset."""

    kind: str
    """Family of the network."""
    nodes: Count
    """Number of nodes, including storage servers and service nodes."""
    routers: Count
    """Number of routers."""
    groups: Count
    """Number of groups."""


class _PresetName(TypedDict):
    name: Annotated[str, Field(description="Name of the preset.")]
    about: Annotated[str, Field(description="Description in a few words.")]
    machine: Annotated[PresetMachine | None, Field(description="Its machine; null if it has none:")]


@declared
class PresetSummary(_PresetName):
    """A preset in the list of all presets."""


@declared
class PresetKey(TypedDict):
    """A key of a preset."""

    key: str
    """Dotted key."""
    value: Any
    """Its value."""
    source: str | None
    """The source of the value: the comment above the key, or above its table; null without a comment."""


@declared
class Preset(_PresetName):
    """The answer of `odonata presets PRESET`."""

    description: str
    """The description, with its sources."""
    keys: list[PresetKey]
    """The keys, in the order of the file:"""
    toml: str
    """The whole file."""
