"""The answer of `odonata compare`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from odonata.answers.waits import Waiting
from odonata.base.json_types import Count, Number, declared


@declared
class Side(TypedDict):
    """One of two results."""

    results: str | None
    """Its folder."""
    name: str | None
    """Name of its scenario."""
    outcome: str
    """How it ended."""
    seed: Count
    """Its seed."""
    version: str
    """The version of odonata that ran it."""
    digest: str
    """Hash over everything that it measured."""


@declared
class Setting(TypedDict):
    """A setting that differs."""

    key: str
    """A setting that differs, by dotted key; jobs go by name."""
    change: str
    """changed, added (only B has it) or removed (only A has it)."""
    a: Any
    """The setting in A, null if it has none."""
    b: Any
    """The setting in B."""


class Pair(TypedDict):
    """A value in A and in B."""

    a: Annotated[Number | None, Field(description="Value in A; null where it does not apply.")]
    b: Annotated[Number | None, Field(description="Value in B.")]
    ratio: Annotated[Number | None, Field(description="B / A; null where it does not apply.")]


class Metric(TypedDict):
    """A column of a table."""

    metric: Annotated[str, Field(description="The column.")]
    unit: Annotated[str, Field(description="Its unit: s, bytes, bytes/s, routers or nothing.")]


@declared
class Change(Metric, Pair):
    """A column, or the sum of one, that differs."""


class JobName(TypedDict):
    """Which job it is."""

    job: Annotated[str, Field(description="A job that both have; columns of the table jobs that differ:")]


@declared
class JobChange(JobName, Change):
    """A column of a job that differs."""


#: Which class of links it is.
ClassName = TypedDict(
    "ClassName",
    {
        "class": Annotated[
            str,
            Field(
                description="terminal, local, column or global; sums of columns of the table links that "
                "differ:"
            ),
        ]
    },
)


@declared
class LinkChange(ClassName, Change):
    """A sum over the links of a class that differs."""


class WaitingPlace(TypedDict):
    """Where it waited."""

    where: Annotated[
        str, Field(description="network (packet-seconds in routers) or servers (request-seconds).")
    ]


@declared
class BlameChange(Waiting, WaitingPlace, Pair):
    """Waits that differ."""


@declared
class Comparison(TypedDict):
    """What `odonata compare` answers."""

    a: Side
    """The first result:"""
    b: Side
    """The second result:"""
    equal_digests: bool
    """Whether both measured the same."""
    scenario: list[Setting]
    jobs_in_both: list[str]
    """Jobs of one name, which alone are compared."""
    jobs: list[JobChange]
    links: list[LinkChange]
    servers: list[Change]
    """Sums of columns of the table servers that differ:"""
    blame: list[BlameChange] | None
    """null unless both measured blame; else waits of the common jobs that differ, the largest difference
    first:"""
