"""CPU time of the present build beside that of an earlier commit, in pairs.

    .venv/bin/python benches/against.py 008cefd
    .venv/bin/python benches/against.py 008cefd --rounds 7 uniform-minimal-0.3 interference
    .venv/bin/python benches/against.py 008cefd --own-profile --json

The commit is copied to `target/against/COMMIT`, and its Python package is built there once. It is built with
the current settings of the profile `release`, so that the programs differ by their sources only, or with its
own settings (`--own-profile`). In each round both programs run each case, one after the other, in alternating
order. The result is CPU time per packet-hop. A ratio above 1 means that the present build is faster. Other
load affects both sides of a pair, so ratios are reliable where times are not.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
CACHE = ROOT / "target/against"

#: Coverage of a median's interval, given enough rounds.
COVERAGE = 0.95

#: Settings that keep a run on one thread.
ONE_THREAD = {"run.scheduler": "sequential", "run.threads": "1"}

#: Scenarios: file, and settings. Each commit runs its own copy of an example, if it has one.
SCENARIOS: dict[str, tuple[str, dict[str, str]]] = {
    "interference": ("examples/interference.toml", {}),
    "interference, no blame": ("examples/interference.toml", {"run.blame": "false"}),
    "storage": ("benches/hop_costs/storage.toml", {"jobs.0.workload.checkpoint.total": "480 MB"}),
    "mpi": ("benches/hop_costs/mpi.toml", {"jobs.0.workload.nekbone.cg_iterations": "4"}),
}

#: Runs a case of `odonata bench`, or lists the cases.
BENCH = """
import json, sys
from odonata import _core
if len(sys.argv) == 1:
    print(json.dumps(_core.bench_names()))
else:
    print(_core.bench_case(sys.argv[1], sys.argv[2] == "quick"))
"""


class CannotRun(Exception):
    """A commit that cannot run a case; the message is the reason."""


@dataclass(frozen=True)
class Cost:
    """The cost of a run."""

    cpu_s: float
    packet_hops: int

    @property
    def per_hop(self) -> float:
        """CPU seconds per packet-hop."""
        return self.cpu_s / self.packet_hops


@dataclass
class Program:
    """A build of the Python package."""

    name: str
    #: The folder of its sources, and of the scenarios that it runs.
    sources: Path
    #: The folder of the Python packages that it needs beside those of the present build.
    packages: Path | None = None
    #: Settings that it does not know.
    unknown: set[str] = field(default_factory=set)

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs Python with this package, outside of every folder that has one."""
        places = [self.sources / "python", *([self.packages] if self.packages else [])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places))}
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=CACHE,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def bench_names(self) -> list[str]:
        """Its cases of `odonata bench`."""
        done = self.python("-c", BENCH)
        return list(json.loads(done.stdout)) if done.returncode == 0 else []

    def cost(self, case: str, *, quick: bool) -> Cost:
        """Runs `case` once."""
        if case in SCENARIOS:
            return self._scenario(*SCENARIOS[case])
        done = self.python("-c", BENCH, case, "quick" if quick else "whole")
        if done.returncode:
            raise CannotRun(last_line(done.stderr))
        found = json.loads(done.stdout)
        return Cost(found["cpu_s"], found["packet_hops"])

    def _scenario(self, file: str, settings: dict[str, str]) -> Cost:
        own = self.sources / file
        text = (own if own.exists() else ROOT / file).read_text(encoding="utf-8")
        text, of_file = without_run(text)
        wanted = of_file | ONE_THREAD | settings
        while True:
            words = [f"--set={key}={value}" for key, value in wanted.items() if key not in self.unknown]
            with tempfile.TemporaryDirectory(dir=CACHE) as folder:
                (Path(folder) / "scenario.toml").write_text(text, encoding="utf-8")
                names = [f"{folder}/scenario.toml", "-o", f"{folder}/out"]
                done = self.python("-m", "odonata", "run", *names, "--quiet", *words)
                if done.returncode == 0:
                    run = json.loads((Path(folder) / "out/run.json").read_text(encoding="utf-8"))
                    return Cost(run["cpu_s"], run["packet_hops"])
            reason = last_line(done.stderr)
            found = re.search(r'unknown key ["`](?:run\.)?(\w+)["`]', reason)
            if found is None or f"run.{found[1]}" not in wanted or f"run.{found[1]}" in self.unknown:
                raise CannotRun(reason)
            # A build without a feature has no key for it.
            self.unknown.add(f"run.{found[1]}")


def without_run(text: str) -> tuple[str, dict[str, str]]:
    """A scenario without its table `run`, and the keys of that table as settings.

    >>> without_run('seed = 1\\n[run]\\nblame = true  # yes\\nlimit = "1 s"\\n\\n[nic]\\na = 1\\n')
    ('seed = 1\\n[nic]\\na = 1\\n', {'run.blame': 'true', 'run.limit': '1 s'})
    """
    run = tomllib.loads(text).get("run", {})
    settings = {
        f"run.{key}": value if isinstance(value, str) else json.dumps(value) for key, value in run.items()
    }
    return re.sub(r"^\[run\]\n.*?(?=^\[|\Z)", "", text, count=1, flags=re.MULTILINE | re.DOTALL), settings


def last_line(text: str) -> str:
    """The reason for a failure: the line with `error:`, or the last one.

    >>> last_line("Traceback\\nValueError: no")
    'ValueError: no'
    >>> last_line("error: unknown key\\n  hint: none")
    'error: unknown key'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next(
        (line for line in lines if line.startswith("error:")), lines[-1] if lines else "no reason given"
    )


def interval(ratios: list[float]) -> tuple[float, float, float]:
    """An interval of the median, by order statistics, and its coverage.

    The k-th smallest and the k-th largest of n ratios enclose the median with probability 1 - 2 sum(i < k)
    C(n, i) / 2^n. k is the largest value that gives `COVERAGE`, else 1.

    >>> interval([1.0, 3.0, 2.0])
    (1.0, 3.0, 0.75)
    >>> interval([float(n) for n in range(1, 10)])
    (2.0, 8.0, 0.9609375)
    """
    ordered, count = sorted(ratios), len(ratios)

    def coverage(place: int) -> float:
        return 1.0 - 2.0 * sum(math.comb(count, i) for i in range(place)) / 2.0**count

    place = max((k for k in range(1, count // 2 + 1) if coverage(k) >= COVERAGE), default=1)
    return ordered[place - 1], ordered[-place], max(0.0, coverage(place))


def compare(then: Program, now: Program, case: str, *, rounds: int, quick: bool) -> dict[str, Any]:
    """Runs a case in pairs; a row of the table."""
    pairs: list[tuple[Cost, Cost]] = []
    for number in range(rounds):
        order = (then, now) if number % 2 == 0 else (now, then)
        try:
            costs = {program.name: program.cost(case, quick=quick) for program in order}
        except CannotRun as reason:
            return {"case": case, "cannot_run": str(reason)}
        pairs.append((costs[then.name], costs[now.name]))
    ratios = [before.per_hop / after.per_hop for before, after in pairs]
    least, most, coverage = interval(ratios)
    return {
        "case": case,
        "without": sorted(then.unknown) if case in SCENARIOS else [],
        "then": median_cost([pair[0] for pair in pairs]),
        "now": median_cost([pair[1] for pair in pairs]),
        "ratio": statistics.median(ratios),
        "interval": [least, most],
        "coverage": coverage,
        "ratios": ratios,
    }


def median_cost(costs: list[Cost]) -> dict[str, float]:
    """CPU time, hops and CPU time per hop of several runs of a case."""
    return {
        "cpu_s": statistics.median(cost.cpu_s for cost in costs),
        "packet_hops": costs[0].packet_hops,
        "cpu_ns_per_hop": 1e9 * statistics.median(cost.per_hop for cost in costs),
    }


def lines_of(rows: list[dict[str, Any]], commit: str) -> list[str]:
    """The table, as Markdown.

    >>> cost = {"cpu_s": 2.0, "packet_hops": 4_000_000, "cpu_ns_per_hop": 500.0}
    >>> row = {"case": "a", "then": cost, "now": cost, "ratio": 1.0, "interval": [0.9, 1.2], "coverage": 0.75}
    >>> row["without"] = ["run.blame"]
    >>> print(*lines_of([row, {"case": "b", "cannot_run": "error: unknown key"}], "abc")[2:], sep="\\n")
    | a | 2.00 s, 4.00 M, 500 ns (without run.blame) | 2.00 s, 4.00 M, 500 ns | 1.00 | 0.90 to 1.20 (75%) |
    | b | error: unknown key | | | |
    """
    lines = [
        f"| case | {commit}: CPU time, hops, per hop | now | then / now | interval |",
        "|---|---|---|---:|---|",
    ]
    for row in rows:
        if "cannot_run" in row:
            lines.append(f"| {row['case']} | {row['cannot_run']} | | | |")
            continue
        sides = [
            f"{one['cpu_s']:.2f} s, {one['packet_hops'] / 1e6:.2f} M, {one['cpu_ns_per_hop']:.0f} ns"
            for one in (row["then"], row["now"])
        ]
        if row["without"]:
            sides[0] += f" (without {', '.join(row['without'])})"
        least, most = row["interval"]
        span = f"{least:.2f} to {most:.2f} ({row['coverage']:.0%})"
        lines.append(f"| {row['case']} | {sides[0]} | {sides[1]} | {row['ratio']:.2f} | {span} |")
    return lines


def present_profile() -> dict[str, str]:
    """The settings of the profile `release`, as variables of Cargo."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    profile = manifest["profile"]["release"]
    names = ("opt-level", "lto", "codegen-units", "panic", "debug")
    return {
        f"CARGO_PROFILE_RELEASE_{name.upper().replace('-', '_')}": json.dumps(profile[name]).strip('"')
        for name in names
        if name in profile
    }


def built(commit: str, *, own_profile: bool) -> Program:
    """The package of `commit`, built on first use."""
    full = output("git", "rev-parse", "--verify", f"{commit}^{{commit}}").strip()
    place = CACHE / (full[:9] + ("-own-profile" if own_profile else ""))
    sources, library = place / "sources", place / "sources/python/odonata/_core.abi3.so"
    packages = place / "packages"
    if library.exists() and packages.exists():
        return Program(commit, sources, packages)
    shutil.rmtree(sources, ignore_errors=True)
    sources.mkdir(parents=True)
    # A plain copy: a worktree would leave an entry in .git when target/ is removed.
    archive = subprocess.Popen(["git", "archive", full], cwd=ROOT, stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", sources], stdin=archive.stdout, check=True)
    if archive.wait():
        sys.exit(f"git cannot read {commit}")
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(place / "target"),
        "PYO3_PYTHON": sys.executable,
        "PYO3_BUILD_EXTENSION_MODULE": "1",
    }
    if not own_profile:
        environment |= present_profile()
    print(f"building {commit} in {place.relative_to(ROOT)}: some minutes", file=sys.stderr)
    command = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "odonata-py"]
    if subprocess.run(command, cwd=sources, env=environment, check=False).returncode:
        sys.exit(f"{commit} cannot be built, the reason stands above")
    shutil.copy(place / "target/release/lib_core.so", library)
    project = tomllib.loads((sources / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    shutil.rmtree(packages, ignore_errors=True)
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run(
        [*install, "--target", str(packages), *project["dependencies"]], check=False
    ).returncode:
        sys.exit(f"what {commit} needs cannot be installed, the reason stands above")
    return Program(commit, sources, packages)


def output(*command: str) -> str:
    """What a command prints."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.strip())
    return done.stdout


def main() -> int:
    """Builds, measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit", metavar="COMMIT", help="what the present build is held against")
    parser.add_argument(
        "cases", nargs="*", metavar="CASE", help="cases of `odonata bench`, " + ", ".join(SCENARIOS)
    )
    parser.add_argument("--rounds", type=int, default=5, help="pairs of each case (default: 5)")
    parser.add_argument("--quick", action="store_true", help="a tenth of each case of `odonata bench`")
    parser.add_argument("--own-profile", action="store_true", help="build the commit under its own profile")
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    chosen = parser.parse_intermixed_args()
    if chosen.rounds < 1:
        parser.error("--rounds is at least 1")
    CACHE.mkdir(parents=True, exist_ok=True)
    now, then = Program("now", ROOT), built(chosen.commit, own_profile=chosen.own_profile)
    names = now.bench_names()
    if not names:
        sys.exit("the package is not built here: make setup")
    if unknown := [case for case in chosen.cases if case not in (*names, *SCENARIOS)]:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join((*names, *SCENARIOS))}")
    old = then.bench_names()
    cases = chosen.cases or [*(name for name in names if name in old), *SCENARIOS]
    rows = []
    for case in cases:
        print(f"measuring {case} ...", file=sys.stderr)
        rows.append(compare(then, now, case, rounds=chosen.rounds, quick=chosen.quick))
    here = output("git", "rev-parse", "--short=9", "HEAD").strip()
    if chosen.json:
        report = {"commit": chosen.commit, "now": here, "own_profile": chosen.own_profile, "rows": rows}
        print(json.dumps(report, indent=2))
    else:
        print(*lines_of(rows, chosen.commit), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
