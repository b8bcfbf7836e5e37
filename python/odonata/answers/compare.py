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
    """Result folder."""
    name: str | None
    """Name of the scenario."""
    outcome: str
    """Outcome."""
    seed: Count
    """Seed."""
    version: str
    """Version of odonata."""
    digest: str
    """Hash over all results."""


@declared
class Setting(TypedDict):
    """A setting that differs."""

    key: str
    """Dotted key; jobs by name."""
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
    """The name of the job."""

    job: Annotated[str, Field(description="A job that both have; columns of the table jobs that differ:")]


@declared
class JobChange(JobName, Change):
    """A column of a job that differs."""


#: The class of the links.
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
    """The place of a wait."""

    where: Annotated[
        str, Field(description="network (packet-seconds in routers) or servers (request-seconds).")
    ]


@declared
class BlameChange(Waiting, WaitingPlace, Pair):
    """Waits that differ."""


@declared
class Comparison(TypedDict):
    """The answer of `odonata compare`."""

    a: Side
    """The first result:"""
    b: Side
    """The second result:"""
    equal_digests: bool
    """Whether the results are equal."""
    scenario: list[Setting]
    jobs_in_both: list[str]
    """Jobs of the same name, which are compared."""
    jobs: list[JobChange]
    links: list[LinkChange]
    servers: list[Change]
    """Sums of columns of the table servers that differ:"""
    blame: list[BlameChange] | None
    """Differences between waits of the common jobs, the largest first; null unless both runs measured
    blame:"""
