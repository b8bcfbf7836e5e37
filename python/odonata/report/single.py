"""The report of one run: its sections and their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from odonata.report import (
    jobs,
    latency,
    limits,
    lost,
    machine,
    network,
    origin,
    slowdowns,
    storage,
    verdict,
    waits,
)
from odonata.report.blocks import Section, duration
from odonata.report.contents import Contents
from odonata.report.page import page

if TYPE_CHECKING:
    from odonata.results.results import Results

#: In the order of the page. An empty section is left out.
SECTIONS: tuple[Callable[[Contents], Section | None], ...] = (
    verdict.section,
    slowdowns.section,
    waits.section,
    lost.section,
    jobs.section,
    latency.section,
    network.section,
    machine.section,
    storage.section,
    limits.section,
    origin.section,
)


def html(results: Results) -> str:
    """The report of `results`.

    Raises:
        InputError: A table is damaged.
    """
    contents = Contents(results)
    sections = [made for make in SECTIONS if (made := make(contents)) is not None]
    name = results.run["scenario"].get("name") or "run"
    count = len(contents.names)
    subtitle = (
        f"{count} job{'s' if count != 1 else ''} on {results.run['nodes']:,} nodes, "
        f"{duration(contents.simulated_s)} simulated: {results.outcome}"
    )
    return page(name, subtitle, sections)
