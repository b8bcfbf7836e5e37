"""Flow completion times over Ethernet beside those of htsim.

    study.py measure [FAMILY ...]   runs these families of cases, by default all: minutes of CPU time
    study.py page                   the tables and the figure of docs/ethernet-validation.md, from the stored
                                    results

Nothing is fitted. Random numbers differ between the simulators, so means over seeds are compared.

Exit code: 0; 2 if the arguments are wrong; 130 if it was interrupted.
"""

from __future__ import annotations

import csv
import json
import statistics
import sys
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
# study_tools, which all studies share.
sys.path.append(str(HERE.parent))

from matplotlib.figure import Figure  # noqa: E402
from study_tools import command, figures, passage  # noqa: E402
from study_tools.figures import Drawing  # noqa: E402
from study_tools.passage import Passage  # noqa: E402
from study_tools.table import Table  # noqa: E402

import odonata  # noqa: E402
from odonata.operations import Operation, irecv, isend, wait_all  # noqa: E402

DATA = HERE / "data"
STORED = DATA / "measured.json"
PASSAGE = Passage("ethernet-validation.md", "<!-- agreement: studies/htsim/study.py page -->", "<!-- end -->")

#: The families of cases, from the fastest.
FAMILIES = ("one", "two", "a2a", "incast", "perm", "noise", "oversub")
#: Their names in the figure.
FAMILY_NAMES = {
    "one": "single flow",
    "two": "two flows",
    "a2a": "all-to-all",
    "incast": "incast",
    "perm": "permutation",
    "noise": "permutation\nwith noise",
    "oversub": "permutation,\noversubscribed",
}
#: Protocols, and their names in the figure.
PROTOCOLS = {
    "uec-nscc": "Ultra Ethernet, NSCC",
    "uec-rccc": "Ultra Ethernet, RCCC",
    "uec-const": "Ultra Ethernet, constant window",
    "roce-pfc": "RoCE with PFC",
}
CONTROLS = {"uec-const": "constant", "uec-rccc": "rccc"}
#: Metrics: column of htsim's table, and the name on the page.
TIMES = {"fct_median_us": "median", "fct_p99_us": "p99", "fct_max_us": "last"}
COUNTS = {"trims": "trims"}
#: Agreement: within a tenth. Counts below this are not compared as ratios.
TENTH, FEW = 0.1, 30
#: Switches of a topology: children and parents per level, from the nodes up.
TREES: dict[str, tuple[list[int], list[int]]] = {
    "ft3/16": ([2, 2, 4], [1, 2, 2]),
    "ft3/128": ([4, 4, 8], [1, 4, 4]),
    "ft3/1024": ([8, 8, 16], [1, 8, 8]),
    "ft2_auto/128": ([8, 16], [1, 8]),
    "ls_128/128": ([16, 8], [1, 16]),
    "ls_128_4os/128": ([16, 8], [1, 4]),
    "ft3_128_tor4os/128": ([4, 4, 8], [1, 1, 4]),
}


class Case(NamedTuple):
    """Runs of htsim that differ in seed alone."""

    family: str
    case: str
    protocol: str
    balancing: str
    topology: str
    gbps: int

    @property
    def key(self) -> str:
        """Its name in the stored results."""
        return "/".join(map(str, self))


def reference() -> dict[Case, list[dict[str, str]]]:
    """The runs of htsim by case."""
    cases: dict[Case, list[dict[str, str]]] = {}
    with (DATA / "htsim.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            names = (
                row["family"],
                row["case"],
                row["protocol"],
                row["lb"],
                row["topo"],
                int(row["link_gbps"]),
            )
            cases.setdefault(Case(*names), []).append(row)
    return cases


def flows(row: dict[str, str]) -> list[tuple[int, int]]:
    """Source and target of each flow of a run."""
    nodes = int(row["nodes"])
    match row["family"]:
        case "one":
            return [(0, 1 if "intrator" in row["case"] else nodes - 1)]
        case "two":
            # Two senders to the last node; two receivers of the first node; receivers below one switch.
            shared = {"dst": [(0, 15), (4, 15)], "src": [(0, 15), (0, 8)], "dst_tor": [(0, 15), (4, 14)]}
            return shared[row["case"].removeprefix("two_16_share_").rpartition("_")[0]]
        case "incast":
            return [(source, 0) for source in range(1, int(row["flows"]) + 1)]
        case "a2a":
            return [(source, (source + step) % nodes) for step in range(1, nodes) for source in range(nodes)]
    number = "1" if row["family"] == "noise" else row["seed"]
    permutations = json.loads((DATA / "permutations.json").read_text(encoding="utf-8"))
    return list(enumerate(permutations[f"{nodes}/{number}"]))


def program(rank: int, ranks: int, *, pairs: list[list[int]], size: int) -> Iterator[Operation]:
    """All flows of a rank at once."""
    requests = 0
    for source, target in pairs:
        if target == rank:
            yield irecv(source, size, request=requests)
            requests += 1
    for source, target in pairs:
        if source == rank:
            yield isend(target, size, request=requests)
            requests += 1
    if requests:
        yield wait_all(0, requests)


def scenario(case: Case, row: dict[str, str]) -> dict[str, Any]:
    """The run of `row`: the same machine, messages and protocol."""
    nodes = int(row["nodes"])
    down, up = TREES[f"{case.topology}/{nodes}"]
    link = {"bandwidth": f"{case.gbps / 8} GB/s", "latency": "1 us"}
    roce = case.protocol == "roce-pfc"
    ethernet: dict[str, Any] = {"load_balancing": case.balancing, "record_flows": True}
    if roce:
        ethernet |= {"transport": "roce", "full_packets": True}
    elif case.protocol != "uec-nscc":
        ethernet["congestion_control"] = CONTROLS[case.protocol]
    return {
        "seed": int(row["seed"]),
        "machine": {"fat-tree": {"down": down, "up": up}},
        "network": {
            "fidelity": "ethernet",
            "ethernet": ethernet,
            "packet": "4000 B" if roce else "4086 B",
            "header": "64 B",
            "router_delay": "0 s",
            "links": {"terminal": link, "local": link, "global": link},
            "routing": {"up": "random"},
        },
        "nic": {"message_delay": "0 s"},
        "mpi": {
            "send_delay": "0 s",
            "send_overhead": "0 s",
            "recv_overhead": "0 s",
            "eager_threshold": "none",
        },
        "run": {"message_rows": 0},
        "jobs": [
            {
                "name": "flows",
                "ranks": nodes,
                "python": program,
                "args": {"pairs": flows(row), "size": int(row["bytes"])},
            }
        ],
    }


def quantile(ascending: list[float], share: float) -> float:
    """The order statistic that htsim's rows have."""
    return ascending[max(1, ceil(share * len(ascending))) - 1]


def run(case: Case, row: dict[str, str]) -> dict[str, float]:
    """Our values of a run's metrics."""
    results = odonata.run(scenario(case, row))
    times = sorted(flow["completion_s"] * 1e6 for flow in results.rows("ethernet_flows"))
    if len(times) != int(row["flows"]):
        raise RuntimeError(f"{case.key}: {len(times)} of {row['flows']} flows ended")
    (counters,) = results.rows("ethernet")
    links = results.rows("ethernet_links")
    return {
        "fct_median_us": round(quantile(times, 0.5), 3),
        "fct_p99_us": round(quantile(times, 0.99), 3),
        "fct_max_us": round(times[-1], 3),
        "trims": counters["trimmed_packets"],
        "drops": counters["dropped_packets"],
        "hops": sum(link["data_packets"] + link["control_packets"] for link in links),
        "cpu_s": round(results.run["cpu_s"], 2),
    }


def measure(families: list[str]) -> None:
    """Runs the families and stores the metrics."""
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    for case, rows in sorted(reference().items(), key=lambda item: FAMILIES.index(item[0].family)):
        if (families and case.family not in families) or f"{case.topology}/{rows[0]['nodes']}" not in TREES:
            continue
        if case.key in stored and not families:
            continue
        stored[case.key] = [run(case, row) for row in rows]
        print(f"{case.key}: {[one['fct_median_us'] for one in stored[case.key]]}", flush=True)
        STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


class Agreement(NamedTuple):
    """A metric of a case: means over seeds."""

    case: Case
    metric: str
    ours: float
    theirs: float

    @property
    def agrees(self) -> bool:
        """Whether it is within a tenth; small counts differ by fewer than `FEW`."""
        if self.metric in COUNTS and max(self.ours, self.theirs) < FEW:
            return True
        return abs(self.ours - self.theirs) <= TENTH * self.theirs


def agreements() -> list[Agreement]:
    """All metrics of all measured cases."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    found = []
    for case, rows in reference().items():
        if case.key not in stored:
            continue
        for metric in [*TIMES, *COUNTS]:
            ours = statistics.fmean(one[metric] for one in stored[case.key])
            theirs = statistics.fmean(float(row[metric]) for row in rows)
            found.append(Agreement(case, metric, ours, theirs))
    return found


def text() -> str:
    """The tables of the page."""
    found = agreements()
    names = {**TIMES, **COUNTS}
    families = []
    for family in FAMILIES:
        for protocol in PROTOCOLS:
            mine = [one for one in found if (one.case.family, one.case.protocol) == (family, protocol)]
            if not mine:
                continue
            cells = []
            for metric in names:
                of_metric = [one for one in mine if one.metric == metric]
                cells.append(f"{sum(one.agrees for one in of_metric)} of {len(of_metric)}")
            families.append([family, protocol, *cells])
    agree = sum(one.agrees for one in found)
    rows = []
    by_case: dict[Case, list[Agreement]] = {}
    for one in found:
        by_case.setdefault(one.case, []).append(one)
    for case, metrics in by_case.items():
        cells = [f"{one.ours:.0f} / {one.theirs:.0f}{'' if one.agrees else ' *'}" for one in metrics]
        rows.append([case.case, case.topology, case.protocol, case.balancing, str(case.gbps), *cells])
    shares = Table("", ["family", "protocol", *names.values()], families).markdown()
    heads = ["case", "topology", "protocol", "balancing", "Gb/s", *names.values()]
    return (
        f"{agree} of {len(found)} metrics are within 10% ({100 * agree / len(found):.0f}%).\n\n"
        f"{shares}\n"
        "Ours / htsim's, times in us, means over seeds; * is beyond 10%.\n\n"
        f"{Table('', heads, rows).markdown()}"
    )


def figure() -> Figure:
    """Ratios of median and p99 of each case, by family and protocol, with a band of a tenth."""
    found = agreements()
    picture, every = figures.panels(4.4, 2, sharex=True)
    titles = {"fct_median_us": "Median completion time", "fct_p99_us": "99th percentile of completion times"}
    for axes, (metric, title) in zip(every, titles.items(), strict=True):
        axes.axvspan(1 - TENTH, 1 + TENTH, color=figures.BAND)
        axes.axvline(1, color=figures.REFERENCE, linewidth=0.8)
        for turn, (protocol, label) in enumerate(PROTOCOLS.items()):
            xs, ys = [], []
            for place, family in enumerate(FAMILIES):
                ratios = [
                    one.ours / one.theirs
                    for one in found
                    if (one.case.family, one.case.protocol, one.metric) == (family, protocol, metric)
                ]
                xs += ratios
                ys += [place + 0.2 * (turn - 1.5)] * len(ratios)
            axes.plot(
                xs,
                ys,
                figures.MARKERS[turn],
                color=figures.COLORS[turn],
                fillstyle="none",
                markersize=4.5,
                label=label,
            )
        axes.set_title(title)
        axes.set_xlabel("ours / htsim's (shaded: within 10%)")
        figures.rows(axes, list(FAMILY_NAMES.values()))
    every[1].tick_params(labelleft=False)
    figures.legend(picture, every[0], 2)
    return picture


FIGURE = Drawing("htsim", figure)


def main() -> int:
    """See the top."""
    return passage.main(str(__doc__), ", ".join(FAMILIES), measure, PASSAGE, text, FIGURE)


if __name__ == "__main__":
    command.run(main)
