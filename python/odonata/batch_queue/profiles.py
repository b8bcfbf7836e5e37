"""Application profiles: the traffic of a job per node, in phases.

A profile is a list of phases that repeat until the run time of the job is over. In a phase every node sends
`intensity` bytes per second on average, in the pattern, and spends the fraction `share` of the time in
communication; so it sends intensity / share while it communicates. Reads and writes of storage work the same
way with `io_share`. These are values without contention.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import InvalidOperation
from typing import Any

from odonata.base import quantities
from odonata.sweeps.reader import Table

PATTERNS = ("halo", "all-reduce", "all-to-all", "training", "none")
_PHASE_KEYS = ("pattern", "intensity", "share", "read", "write", "io_share", "access", "lasts", "class")
#: Most phases of a profile.
MOST_PHASES = 64
#: Fraction of the time in communication, and in I/O of phases that compute too.
DEFAULT_SHARE, DEFAULT_IO_SHARE = 0.2, 0.1
#: Bytes of a call that reads or writes: default and bounds.
DEFAULT_ACCESS = 65_536.0
LEAST_ACCESS, MOST_ACCESS = 512.0, float(1 << 30)


@dataclass(frozen=True)
class Phase:
    """A phase of a profile."""

    pattern: str = "none"
    #: Bytes per second that a node sends on average.
    intensity: float = 0.0
    #: Fraction of the time in communication.
    share: float = DEFAULT_SHARE
    #: Bytes per second that a node reads and writes on average.
    read: float = 0.0
    write: float = 0.0
    #: Fraction of the time in I/O.
    io_share: float = DEFAULT_IO_SHARE
    #: Bytes of a call that reads or writes.
    access: float = DEFAULT_ACCESS
    #: Duration without contention, seconds; None: until the job ends.
    lasts_s: float | None = None
    #: Traffic class, of `network.traffic_classes`; empty: the first one.
    traffic_class: str = ""


Profile = tuple[Phase, ...]

_MB = 1e6
#: Profiles with these names need no definition. Their numbers are assumptions, not measurements.
BUILT_IN: dict[str, Profile] = {
    "none": (Phase(),),
    "halo": (Phase("halo", 200 * _MB, 0.2),),
    "all-reduce": (Phase("all-reduce", 100 * _MB, 0.15),),
    "all-to-all": (Phase("all-to-all", 400 * _MB, 0.3),),
    "training": (Phase("training", 1000 * _MB, 0.3, read=20 * _MB, io_share=0.05),),
    "checkpoint": (
        Phase("halo", 100 * _MB, 0.1, lasts_s=1740.0),
        Phase(write=200 * _MB, io_share=1.0, lasts_s=60.0),
    ),
}


def read(table: Table | None) -> dict[str, Profile]:
    """The profiles of a table, beside the built-in ones."""
    found = dict(BUILT_IN)
    for name in {} if table is None else table.values:
        assert table is not None
        inner = table.table(name)
        assert inner is not None
        phases = inner.get("phases", list, "a list of tables")
        if phases is None:
            inner.refuse_others(_PHASE_KEYS)
            found[name] = (_phase(inner),)
            continue
        inner.refuse_others(("phases",))
        if not 1 <= len(phases) <= MOST_PHASES or not all(isinstance(one, dict) for one in phases):
            raise inner.error("not a list of phases", "phases", len(phases), f"1 to {MOST_PHASES} tables")
        tables = [Table(one, inner.source, inner.key(f"phases.{place}")) for place, one in enumerate(phases)]
        for one in tables:
            one.refuse_others(_PHASE_KEYS)
        found[name] = tuple(_phase(one) for one in tables)
        for one, phase in zip(tables[:-1], found[name], strict=False):
            if phase.lasts_s is None:
                raise one.error("a phase without an end", "lasts", None, "a time in all phases but the last")
    return found


def _phase(table: Table) -> Phase:
    """The phase of a table."""
    lasts = quantity(table, "lasts", quantities.TIMES, "a time such as `30 min`")
    if lasts is not None and lasts < 1.0:
        raise table.error("a phase is too short", "lasts", table.values["lasts"], "at least 1 s")
    access = quantity(table, "access", quantities.SIZES, "a size such as `64 KiB`")
    if access is not None and not LEAST_ACCESS <= access <= MOST_ACCESS:
        raise table.error("a size out of range", "access", table.values["access"], "512 B to 1 GiB")
    phase = Phase(
        pattern=table.one_of("pattern", PATTERNS, "none"),
        intensity=rate(table, "intensity"),
        share=_share(table, "share", DEFAULT_SHARE),
        read=rate(table, "read"),
        write=rate(table, "write"),
        io_share=_share(table, "io_share", DEFAULT_IO_SHARE),
        access=DEFAULT_ACCESS if access is None else access,
        lasts_s=lasts,
        traffic_class=table.get("class", str, "the name of a traffic class") or "",
    )
    if phase.intensity and phase.pattern == "none":
        raise table.error(
            "an intensity without a pattern", "intensity", table.values["intensity"], "a pattern"
        )
    shares = (phase.share if phase.intensity else 0) + (phase.io_share if phase.read or phase.write else 0)
    if shares > 1 + 1e-9:
        raise table.error("more than all of the time", "share", phase.share, "share + io_share of at most 1")
    return phase


def _share(table: Table, name: str, default: float) -> float:
    """A fraction above 0, up to 1."""
    value = table.get(name, (int, float), "a number above 0, up to 1")
    if value is None:
        return default
    if not 0 < value <= 1:
        raise table.error("a number out of range", name, value, "a number above 0, up to 1")
    return float(value)


def rate(table: Table, name: str) -> float:
    """A rate in bytes per second; 0 if absent."""
    value = quantity(table, name, quantities.SIZES, "a rate such as `200 MB/s`", "/s")
    return 0.0 if value is None else value


def quantity(table: Table, name: str, units: dict[str, Any], words: str, suffix: str = "") -> float | None:
    """A number with a unit; None if absent."""
    text = table.get(name, str, words)
    if text is None:
        return None
    number, _, unit = text.strip().removesuffix(suffix).rpartition(" ")
    try:
        if (suffix and not text.endswith(suffix)) or len(number) > 40:
            raise ValueError
        value = float(number) * float(units[unit])
        if not 0 <= value <= 1e18:
            raise ValueError
    except (ValueError, KeyError, InvalidOperation):
        raise table.error("not a quantity", name, text, words) from None
    return value


def with_counters(
    profile: Profile, run_s: float, nodes: int, sent: float | None, moved: tuple[float, float]
) -> Profile:
    """The profile with the mean rates that counters state, in bytes of the job: sent, and (read, written).

    Phases keep their proportions. A counter of something that no phase has makes a steady demand in all of
    them; bytes sent without a pattern are halo exchanges.
    """
    periods = [run_s if phase.lasts_s is None else phase.lasts_s for phase in profile]
    whole = sum(periods)

    def scaled(phases: Profile, name: str, wanted: float) -> Profile:
        mean = sum(getattr(phase, name) * lasts for phase, lasts in zip(phases, periods, strict=True)) / whole
        made = []
        for phase in phases:
            values: dict[str, Any] = {name: getattr(phase, name) * wanted / mean if mean > 0 else wanted}
            made.append(replace(phase, **values))
        return tuple(made)

    per_node = run_s * nodes
    if sent is not None:
        if sent > 0 and not any(phase.intensity for phase in profile):
            profile = tuple(replace(phase, pattern="halo") for phase in profile)
        profile = scaled(profile, "intensity", sent / per_node)
    for name, value in (("read", moved[0]), ("write", moved[1])):
        if value >= 0:
            profile = scaled(profile, name, value / per_node)
    return profile
