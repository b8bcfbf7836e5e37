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
    """Family of its network."""
    nodes: Count
    """Its nodes, storage servers and service nodes among them."""
    routers: Count
    """Its routers."""
    groups: Count
    """Its groups."""


class _PresetName(TypedDict):
    name: Annotated[str, Field(description="Name of the preset.")]
    about: Annotated[str, Field(description="What it is, in a few words.")]
    machine: Annotated[PresetMachine | None, Field(description="Its machine; null if it has none:")]


@declared
class PresetSummary(_PresetName):
    """A preset in the list of all."""


@declared
class PresetKey(TypedDict):
    """A key of a preset."""

    key: str
    """Key, with dots."""
    value: Any
    """Its value."""
    source: str | None
    """Where the value is from: what stands above the key, or else above its table; null if nothing does."""


@declared
class Preset(_PresetName):
    """What `odonata presets PRESET` answers."""

    description: str
    """What it is, with what it is from."""
    keys: list[PresetKey]
    """Its keys, in the order of the file:"""
    toml: str
    """The whole file."""
