"""The chain of waits that ends a job, with culprits, places and times, from the table `lost_time_path`.

The chain is followed backwards from the end of a rank. The loss at a wait arose there, or was inherited from
an earlier wait: of this rank, or of the rank whose message it waited for. Slack on the way reduces all
earlier losses by the same share, so that the parts add up to the total.

Losses to other jobs and to the job itself are followed side by side. Of several ranks, the last one
determines the loss to other jobs. The rank that would have been last alone determines the loss to the job
itself, and need not be on the chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from odonata.analysis import lost_time
from odonata.analysis.lost_time import Part, of_traffic
from odonata.analysis.measured import needed, offers
from odonata.base.nearest import did_you_mean, nearest
from odonata.base.wording import duration
from odonata.errors import InputError, Phrase, Text, option

if TYPE_CHECKING:
    from odonata.answers.explain import Chain, ExplainAnswer
    from odonata.results.results import Results

#: Name of the table.
NAME = "lost_time_path"

#: Columns of the table.
COLUMNS = (
    *("job", "rank", "wait", "call", "number", "begin_s", "end_s", "from_rank", "from_wait"),
    *("culprit", "culprit_class", "kind", "place", "link", "name", "server", "lost_s"),
)

_INHERITED = "inherited"

#: Smallest part of the total loss for which a place is named.
LEAST = 0.01

#: What is waited for, by kind of wait.
_AWAITED = {
    "link": "a link",
    "buffer": "buffer space",
    "memory": "memory of a server",
    "space": "space at a server",
    "device": "a device",
    "metadata": "a metadata server",
    "lock": "a file lock",
}


@dataclass(frozen=True)
class Share:
    """The loss to one job at one place."""

    #: The job that held the resource; empty: several jobs, or unknown.
    culprit: str
    #: Class of its traffic: mpi or io.
    culprit_class: str
    #: The resource, as in the table lost_time; elsewhere: further places.
    kind: str
    #: link, server or metadata; empty: further places.
    place: str
    #: Number of the link or server; -1: none.
    number: int
    #: Name of the link.
    name: str
    #: Delay of the end because of it.
    lost_s: float

    @property
    def where(self) -> str:
        """The place, in words."""
        if self.place == "link":
            return f"link {self.name or self.number}"
        if self.place == "server":
            return f"storage server {self.number}"
        if self.place == "metadata":
            return f"metadata server {self.number}"
        return "other places"

    def whose(self, job: str) -> str:
        """The culprit, from the view of `job`."""
        if not self.culprit:
            return "several jobs"
        owner = "its own" if self.culprit == job else f"{self.culprit}'s"
        return f"{owner} {of_traffic(self.culprit_class) if self.culprit_class else 'traffic'}"


@dataclass(frozen=True)
class Wait:
    """A wait on the chain."""

    #: The rank that waited.
    rank: int
    #: The number of the wait within the rank.
    wait: int
    #: The call, and its number in the program.
    call: str
    number: int
    #: Start and end of the call.
    begin_s: float
    end_s: float
    #: The rank whose message it waited for; the same rank: for another resource. -1: none.
    from_rank: int
    #: The wait of that rank up to which the earlier loss counts.
    from_wait: int
    #: Loss by its end.
    lost_s: float
    #: The part of lost_s that the rank's own job caused.
    own_s: float
    #: The inherited part of lost_s, and the part of it that the own job caused.
    inherited_s: float
    inherited_own_s: float
    #: Additions to the delay of the end, by culprit, kind and place.
    shares: tuple[Share, ...]

    @property
    def others_s(self) -> float:
        """Loss to other jobs by its end."""
        return self.lost_s - self.own_s

    @property
    def added_s(self) -> float:
        """Delay of the end because of the losses at this wait."""
        return sum(share.lost_s for share in self.shares)

    def words(self, job: str, least_s: float = 0.0) -> str:
        """The wait as a sentence; places with a loss below `least_s` are not named."""
        call = {"end": "at its end", "iteration": f"at the end of iteration {self.number}"}
        what = call.get(self.call, f"in {self.call} (call {self.number})")
        others = self.from_rank not in (self.rank, -1)
        waited = f" waited for rank {self.from_rank}" if others else ""
        behind = {"buffer": "the buffer behind "}
        sums: dict[str, float] = {}
        for one in self.shares:
            cause = f"to {one.whose(job)} at {behind.get(one.kind, '')}{one.where}"
            sums[cause] = sums.get(cause, 0.0) + one.lost_s
        named = {cause: lost_s for cause, lost_s in sums.items() if lost_s >= least_s}
        largest_first = sorted(named.items(), key=lambda of_cause: -of_cause[1])
        parts = [f"{duration(lost_s)} {cause}" for cause, lost_s in largest_first]
        rest_s = self.added_s - sum(named.values())
        if rest_s > 0 and rest_s >= least_s:
            parts.append(f"{duration(rest_s)} at {'other' if named else 'many'} places")
        shares = ", ".join(parts)
        text = f"{duration(self.end_s)}: rank {self.rank}, {what},{waited}"
        return f"{text.rstrip(',')}; lost {shares}" if shares else text.rstrip(",")


@dataclass(frozen=True)
class Cause:
    """The loss to one culprit in one kind of wait."""

    #: Delay of the end because of it.
    lost_s: float
    #: The traffic that held the resource, or a remark if that is unknown.
    to: str
    #: The resource, in words; empty: several.
    awaited: str
    #: Where, the largest loss first.
    places: tuple[str, ...]

    @property
    def most_at(self) -> str:
        """The place with the largest loss, and the number of others."""
        if not self.places:
            return ""
        more = f" and {len(self.places) - 1} more" if len(self.places) > 1 else ""
        return f"{self.places[0]}{more}"

    def words(self) -> str:
        """The loss as part of a sentence."""
        if not self.places:
            return f"{duration(self.lost_s)} in {self.to}"
        awaited = f"waiting for {self.awaited}, " if self.awaited else ""
        most = "most " if len(self.places) > 1 else ""
        return f"{duration(self.lost_s)} to {self.to} ({awaited}{most}at {self.most_at})"


@dataclass(frozen=True)
class Explanation:
    """The reasons for the end of a job, a rank or an iteration."""

    #: The job.
    job: str
    #: The rank that the chain follows: the last one, unless the caller chose another.
    rank: int
    #: The iteration; None: the end of the job.
    iteration: int | None
    #: The time of the end.
    end_s: float
    #: Delay relative to a run without waits: less than the loss of its rank if another rank would have been
    #: last.
    lost_s: float
    #: The part of lost_s from before the first wait of the chain: before the iteration, or before the
    #: recorded waits.
    earlier_s: float
    #: By culprit, kind and place, the largest first; with earlier_s they add up to lost_s.
    shares: tuple[Share, ...]
    #: The chain, in time order.
    waits: tuple[Wait, ...]
    #: Delay of the job's start, by culprit; not for an iteration.
    before: tuple[Part, ...] = ()

    @property
    def least_s(self) -> float:
        """Smallest loss for which a place is named."""
        return LEAST * self.lost_s

    def heading(self) -> str:
        """The end and the total loss, without a final period."""
        subject = self.job if self.iteration is None else f"{self.job}'s iteration {self.iteration}"
        lost = f"it lost {duration(self.lost_s)}" if self.lost_s > 0 else "it lost nothing"
        return f"{subject} ended at {duration(self.end_s)} with rank {self.rank}; {lost}"

    def causes(self) -> list[Cause]:
        """The losses by culprit and kind of wait; small ones and those from before the chain are last."""
        if self.lost_s <= 0:
            return []
        groups = _groups(self.job, self.shares)
        causes = [group for group in groups if group.lost_s >= self.least_s]
        rest_s = sum(group.lost_s for group in groups if group.lost_s < self.least_s)
        if rest_s > 0:
            causes.append(Cause(rest_s, "smaller losses", "", ()))
        if self.earlier_s > 0:
            since = "the recorded waits" if self.iteration is None else "this iteration"
            causes.append(Cause(self.earlier_s, f"losses before {since}", "", ()))
        return causes

    def notes(self) -> list[str]:
        """Sentences below the losses."""
        notes = []
        if any(share.kind == "device" and share.place == "link" for share in self.shares if self.lost_s > 0):
            notes.append(
                "A device with a link as its place: packets waited there behind packets of their own job, "
                "which the device had delayed."
            )
        if self.before:
            started = lost_time.started_later(self.before)
            notes.append(f"{started[0].upper()}{started[1:]}.")
        return notes

    def words(self) -> list[str]:
        """The losses and their places, the sentence with the total first."""
        causes = ", ".join(cause.words() for cause in self.causes())
        return [f"{self.heading()}{': ' if causes else ''}{causes}.", *self.notes()]

    def chain_words(self, most: int) -> list[str]:
        """The waits of the chain in time order; beyond `most`, the longest ones and the last."""
        order = sorted(range(len(self.waits)), key=lambda at: (-self.waits[at].added_s, at))
        kept = {*order[:most], *range(len(self.waits))[-1:]}
        lines = [self.waits[at].words(self.job, self.least_s) for at in sorted(kept)]
        left = len(self.waits) - len(kept)
        if left > 0:
            rest_s = sum(wait.added_s for wait in self.waits) - sum(self.waits[at].added_s for at in kept)
            lines.append(f"and {left} more waits, {duration(max(rest_s, 0.0))} in all")
        return lines

    def as_dict(self) -> Chain:
        """All fields, for JSON."""
        waits = [_plain(wait) | {"words": wait.words(self.job, self.least_s)} for wait in self.waits]
        return cast("Chain", _plain(self) | {"waits": waits, "words": " ".join(self.words())})


def _plain(item: Wait | Explanation) -> dict[str, Any]:
    """The fields of an object; the shares as dictionaries."""
    lists = {
        name: [asdict(one) for one in vars(item)[name]] for name in ("shares", "before") if name in vars(item)
    }
    return vars(item) | lists


def _groups(job: str, shares: Sequence[Share]) -> list[Cause]:
    """The shares by culprit and kind; others before the job itself, the largest first."""
    found: dict[tuple[bool, str, str], dict[str, float]] = {}
    for share in shares:
        group = (share.culprit == job, share.whose(job), _AWAITED.get(share.kind, ""))
        places = found.setdefault(group, {})
        places[share.where] = places.get(share.where, 0.0) + share.lost_s
    groups = {
        group: Cause(
            sum(places.values()), *group[1:], tuple(sorted(places, key=lambda place: -places[place]))
        )
        for group, places in found.items()
    }
    return [groups[group] for group in sorted(groups, key=lambda group: (group[0], -groups[group].lost_s))]


def measured(results: Results) -> bool:
    """Whether the run recorded the waits that a chain needs."""
    run = results.run.get("scenario", {}).get("run", {})
    return bool(run.get("lost_time_path")) and offers(results, NAME)


def collect(
    results: Results, *, job: str | None = None, rank: int | None = None, iteration: int | None = None
) -> ExplainAnswer:
    """The chains of all jobs, or of one, as `odonata explain --json` prints them."""
    found = of_jobs(results, job=job, rank=rank, iteration=iteration)
    return {"chains": [chain.as_dict() for chain in found]}


def of_jobs(
    results: Results, *, job: str | None = None, rank: int | None = None, iteration: int | None = None
) -> list[Explanation]:
    """Explains the end of each job, or of the named one; or of its `rank`, or of its iteration.

    Raises:
        InputError: The run recorded no waits, or none of that job, rank or iteration.
    """
    if not measured(results):
        raise InputError(
            "the run recorded no waits",
            key="run.lost_time_path",
            value="0",
            expected="a run with run.lost_time = true and, for example, run.lost_time_path = 1000",
            hint=Text(
                Phrase(
                    'overrides={"run.lost_time": True, "run.lost_time_path": 1000}',
                    "odonata run SCENARIO --set run.lost_time=true --set run.lost_time_path=1000",
                )
            ),
        )
    jobs: list[str] = needed(results, "jobs", ("job",))["job"].to_pylist()
    if job is not None and job not in jobs:
        raise InputError(
            "no such job",
            key=option("job"),
            value=job,
            expected=", ".join(jobs),
            hint=did_you_mean(nearest(job, jobs), '"'),
        )
    table = needed(results, NAME, COLUMNS)
    chosen = [job] if job is not None else jobs
    of_each = _by_job(table.select(list(COLUMNS)).to_pylist())
    before = {lost.job: lost.before for lost in lost_time.of_jobs(results) or []}
    found = []
    for name in chosen:
        # Without a name: all jobs that have such an end.
        if job is None and not _has_end(of_each.get(name, {}), rank, iteration):
            continue
        if name not in of_each:
            raise _missing(name, rank, iteration)
        explanation = _explain(name, of_each[name], rank, iteration)
        found.append(
            explanation if iteration is not None else replace(explanation, before=before.get(name, ()))
        )
    if not found:
        raise _missing(job or "any job", rank, iteration)
    return found


def _missing(job: str, rank: int | None, iteration: int | None) -> InputError:
    """The error for an end that was not recorded."""
    if iteration is not None:
        return InputError(
            f"no recorded wait of {job} at the end of that iteration",
            key=option("iteration"),
            value=str(iteration),
            expected="an iteration that the program marks, with run.lost_time_path large enough",
        )
    if rank is not None:
        return InputError(
            f"no recorded wait of that rank of {job}", key=option("rank"), value=str(rank), expected="a rank"
        )
    return InputError(
        f"no recorded wait of {job}", key=option("job"), value=job, expected="a job with a program"
    )


_Waits = dict[tuple[int, int], Wait]


def _by_job(rows: Sequence[dict[str, Any]]) -> dict[str, _Waits]:
    """The waits of each job, by rank and number."""
    found: dict[str, dict[tuple[int, int], list[dict[str, Any]]]] = {}
    for row in rows:
        found.setdefault(row["job"], {}).setdefault((row["rank"], row["wait"]), []).append(row)
    return {job: {at: _wait(shares) for at, shares in waits.items()} for job, waits in found.items()}


def _wait(rows: Sequence[dict[str, Any]]) -> Wait:
    first = rows[0]
    shares = tuple(_share(row) for row in rows if row["kind"] != _INHERITED)
    inherited = [(row["culprit"], row["lost_s"]) for row in rows if row["kind"] == _INHERITED]
    inherited_s = sum(lost_s for _, lost_s in inherited)
    # The culprit of an inherited loss is recorded only for the own job.
    inherited_own_s = sum(lost_s for culprit, lost_s in inherited if culprit)
    own_s = inherited_own_s + sum(share.lost_s for share in shares if share.culprit == first["job"])
    lost_s = inherited_s + sum(share.lost_s for share in shares)
    sums = {
        "lost_s": lost_s,
        "own_s": own_s,
        "inherited_s": inherited_s,
        "inherited_own_s": inherited_own_s,
    }
    named = {name: first[name] for name in ("rank", "wait", "call", "number", "begin_s", "end_s")}
    origin = {name: first[name] for name in ("from_rank", "from_wait")}
    return Wait(**named, **origin, **sums, shares=shares)


def _share(row: dict[str, Any]) -> Share:
    number = row["link"] if row["place"] == "link" else row["server"]
    named = {name: row[name] for name in ("culprit", "culprit_class", "kind", "place", "name", "lost_s")}
    return Share(**named, number=number)


def _ends(waits: _Waits, rank: int | None, iteration: int | None) -> Iterator[Wait]:
    """The waits with which ranks, or the iteration, end."""
    for wait in waits.values():
        last = (
            wait.call == "end" if iteration is None else (wait.call, wait.number) == ("iteration", iteration)
        )
        if last and rank in (None, wait.rank):
            yield wait


def _has_end(waits: _Waits, rank: int | None, iteration: int | None) -> bool:
    return next(_ends(waits, rank, iteration), None) is not None


def _explain(job: str, waits: _Waits, rank: int | None, iteration: int | None) -> Explanation:
    ends = list(_ends(waits, rank, iteration))
    if not ends:
        raise _missing(job, rank, iteration)
    # The last one; of several at the same instant the one with the smallest loss, as in the table lost_time.
    end = min(ends, key=lambda wait: (-wait.end_s, wait.others_s, wait.rank))
    begin_s = _begin(waits, iteration)
    # The rank that would have been last alone determines the loss to other jobs; the rank that would have
    # been last without waits determines the total loss.
    others_s = min(end.others_s, end.end_s - max(wait.end_s - wait.others_s for wait in ends))
    lost_s = max(others_s, end.end_s - max(wait.end_s - wait.lost_s for wait in ends))
    chain: list[Wait] = []
    left_s = lost_s
    at, others = end, _share_of(others_s, end.others_s)
    own, elsewhere_s = _own(1.0, lost_s - others_s, end)
    while at.end_s > begin_s:
        share_of = {True: own, False: others}
        parts = tuple(
            replace(part, lost_s=share_of[part.culprit == job] * part.lost_s)
            for part in at.shares
            if part.lost_s > 0
        )
        chain.append(replace(at, shares=parts))
        inherited_s = at.inherited_s - at.inherited_own_s
        left_s = others * inherited_s + own * at.inherited_own_s
        before = waits.get((at.from_rank, at.from_wait)) if left_s > 0 else None
        if before is None or before.lost_s <= 0:
            break
        others *= _share_of(inherited_s, before.others_s)
        own, more_s = _own(own, at.inherited_own_s, before)
        elsewhere_s += more_s
        at = before
    chain.reverse()
    shares = _added(part for wait in chain for part in wait.shares)
    if elsewhere_s > 0:
        shares = (*shares, Share(job, "", "elsewhere", "", -1, "", elsewhere_s))
    return Explanation(job, end.rank, iteration, end.end_s, lost_s, left_s, shares, tuple(chain))


def _share_of(part_s: float, whole_s: float) -> float:
    return min(part_s / whole_s, 1.0) if whole_s > 0 else 0.0


def _own(share: float, needed_s: float, wait: Wait) -> tuple[float, float]:
    """The part of `needed_s` of the loss of `wait` to its own job, by the given share; and the rest."""
    if needed_s <= wait.own_s:
        return share * _share_of(needed_s, wait.own_s), 0.0
    return share, share * (needed_s - wait.own_s)


def _begin(waits: _Waits, iteration: int | None) -> float:
    """The start of the iteration, which is the end of the previous one."""
    if iteration is None:
        return float("-inf")
    return max((wait.end_s for wait in _ends(waits, None, iteration - 1)), default=float("-inf"))


def _added(shares: Iterator[Share]) -> tuple[Share, ...]:
    """The shares by culprit, kind and place, the largest first."""
    sums: dict[Share, float] = {}
    for share in shares:
        name = replace(share, lost_s=0.0)
        sums[name] = sums.get(name, 0.0) + share.lost_s
    found = [replace(name, lost_s=lost_s) for name, lost_s in sums.items()]
    return tuple(sorted(found, key=lambda share: -share.lost_s))
