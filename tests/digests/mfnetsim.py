"""The MFNetSim case study: the start of its 24 runs, and four complete ones."""

from __future__ import annotations

from collections.abc import Iterator

from case import ROOT, Case

#: Simulated time until all jobs send, and until many packets wait. Runs that compute for 100 ms before they
#: write begin then.
START_MS, FIRST_MS, BEFORE_WRITES_MS = 0.2, 5, 100

#: Complete runs, on request.
WHOLE = ("cont-min-checkpoint", "rand-min-cosmo", "cont-par-nekbone", "rand-par-wkld2")

#: An optimistic run of some millions of packets takes ten times as long as a sequential one.
WITHOUT_OPTIMISTIC = ("sequential", "conservative")


def cases() -> Iterator[Case]:
    """All cases of this file."""
    for path in sorted((ROOT / "studies/mfnetsim/scenarios").glob("*.toml")):
        before = BEFORE_WRITES_MS if path.stem.endswith("checkpoint") else 0
        start, first = ({"run.time_limit": f"{before + ms} ms"} for ms in (START_MS, FIRST_MS))
        yield Case(f"mfnetsim-start/{path.stem}", path, start, parts=8)
        yield Case(f"mfnetsim/{path.stem}", path, first, parts=8, schedulers=WITHOUT_OPTIMISTIC, long=True)
        if path.stem in WHOLE:
            yield Case(
                f"mfnetsim-whole/{path.stem}", path, parts=8, schedulers=WITHOUT_OPTIMISTIC, whole=True
            )
