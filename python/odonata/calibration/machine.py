"""Calibration: parameters of a machine whose simulated ping-pong matches a measured one.

The fit compares half round-trip times by message size, in relative terms. The model is the simulation itself:
two ranks on two nodes of the machine. The fit varies a few keys of the scenario by a least-squares search
(`scipy.optimize.least_squares`) in their logarithms. An eager threshold is a step without a derivative: it is
tried between any two sizes.

A parameter is reported only if the measurements determine it. The Jacobian J at the solution gives the
covariance (J^T J)^-1 s^2, with s^2 the mean square of the residuals (W. Press et al., Numerical Recipes,
15.6). If the standard error of a logarithm exceeds `UNDETERMINED`, another combination of parameters fits as
well, and the fit is refused.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata.base import foreign
from odonata.base.optional_packages import require
from odonata.calibration import ping_pong_output
from odonata.calibration.ping_pong import ping_pong
from odonata.errors import InputError, option
from odonata.running.execute import in_memory

if TYPE_CHECKING:
    from odonata.tool_answers import Calibration

#: Bytes of a file of measurements.
LONGEST_FILE = 1 << 20
#: Bytes of the largest message.
MOST_BYTES = 1 << 40
#: Standard error of a parameter's logarithm from which on it counts as undetermined: a factor of about 1.3.
UNDETERMINED = 0.25
#: Smallest credible residual in relative terms: clocks and means of measurements are no better.
NOISE = 0.005
#: A threshold adds a parameter, so it must reduce the sum of squares by this factor.
SEEN = 0.5
#: Round trips for each size.
ROUNDS = 4

COLUMNS = ("bytes", "latency", "from", "to")
_TIME = re.compile(r"([0-9.eE+-]+)\s*(ns|us|ms|s)")
_SIZE = re.compile(r"([0-9.]+)\s*(B|KB|MB|GB|KiB|MiB|GiB)?")
_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_SIZES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


@dataclass(frozen=True)
class Parameter:
    """A parameter of the fit."""

    #: The key of the scenario.
    key: str
    #: Formats a value in s, s/B or B/s for TOML.
    text: Callable[[float], str]
    #: Bounds of the search, and its start.
    least: float
    most: float
    first: float
    #: The measurements that determine it.
    needs: str


PARAMETERS = {
    "software": Parameter(
        "mpi.send_delay", lambda x: f"{x * 1e9:.4f} ns", 1e-12, 1e-2, 1e-6, "small messages"
    ),
    "per-byte": Parameter(
        "mpi.send_per_byte",
        lambda x: f"{x * 1e12:.4f} ps/B",
        1e-15,
        1e-6,
        1e-11,
        "messages below and above the eager threshold, and mpi.rendezvous_zero_copy = true; "
        "otherwise it equals bandwidth",
    ),
    "bandwidth": Parameter(
        "network.links.terminal.bandwidth", lambda x: f"{x:.0f} B/s", 1e6, 1e13, 1e10, "large messages"
    ),
    "hop": Parameter(
        "network.router_delay",
        lambda x: f"{x * 1e9:.4f} ns",
        1e-12,
        1e-3,
        1e-7,
        ("pairs of nodes with different numbers of routers between them; otherwise it equals software"),
    ),
}
#: The parameter that is a step.
EAGER = "eager"
NAMES = (*PARAMETERS, EAGER)
DEFAULT = ("software", "bandwidth")


@dataclass(frozen=True)
class Measurement:
    """Half the round-trip time of messages of one size between two nodes."""

    bytes: int
    latency_s: float
    pair: tuple[int, int]
    #: The file and line that name the nodes; None: the nodes come from `--nodes`.
    named: tuple[str, int] | None = field(default=None, compare=False)


def read(path: Path, pair: tuple[int, int] = (0, 1)) -> list[Measurement]:
    """Reads measurements: the output of `osu_latency` or of IMB's PingPong, or a CSV file with the columns
    `bytes` and `latency`, and optionally `from` and `to`.

    `pair` are the nodes of rows without nodes. Raises `InputError` with the line of an invalid row.
    """
    try:
        data = foreign.read_bytes(path, LONGEST_FILE)
        text = data.decode("utf-8-sig")
    except OSError as error:
        reason = error.strerror
        raise InputError(
            f"cannot be read: {reason}", file=str(path), expected="measurements in CSV"
        ) from None
    except UnicodeDecodeError:
        raise InputError("not text in UTF-8", file=str(path), expected="measurements in CSV") from None
    if len(data) > LONGEST_FILE:
        raise InputError(f"more than {LONGEST_FILE} bytes", file=str(path), expected="measurements in CSV")
    if (printed := _printed(path, text, pair)) is not None:
        return printed
    reader = csv.DictReader(io.StringIO(text), skipinitialspace=True, strict=True)
    found: list[Measurement] = []

    def wrong(problem: str, key: str | None, value: object, expected: str) -> InputError:
        line = max(reader.line_num, 1)
        return InputError(problem, file=str(path), line=line, key=key, value=repr(value), expected=expected)

    try:
        names = reader.fieldnames or []
        for name in names:
            if name not in COLUMNS:
                raise wrong("unknown column", None, name, f"columns among {', '.join(COLUMNS)}")
        for name in COLUMNS[:2]:
            if name not in names:
                raise wrong("a column is missing", None, ", ".join(names), f"the column {name}")
        for row in reader:
            cells = {name: (cell or "").strip() for name, cell in row.items() if name is not None}
            if None in row:
                raise wrong("more cells than columns", None, row[None], "a cell for each column")
            if not any(cells.values()):
                continue
            size = _SIZE.fullmatch(cells["bytes"])
            if size is None or size[1].count(".") > 1 or size[1] == ".":
                raise wrong("not a size", "bytes", cells["bytes"], "such as 8, or 64 KiB")
            time = _TIME.fullmatch(cells["latency"])
            try:
                latency = float(time[1]) * _TIMES[time[2]] if time else math.nan
            except ValueError:
                latency = math.nan
            if not 0 < latency < 1e3:
                raise wrong("not a time", "latency", cells["latency"], 'half a round trip, such as "1.3 us"')
            ends = []
            for name, node in zip(("from", "to"), pair, strict=True):
                if not re.fullmatch(r"[0-9]{0,9}", cells.get(name, "")):
                    raise wrong("not a node", name, cells[name], "its number")
                ends.append(int(cells.get(name) or node))
            bytes = round(float(size[1]) * _SIZES[size[2] or "B"])
            if bytes > MOST_BYTES:
                raise wrong("size out of range", "bytes", cells["bytes"], "at most 1024 GiB")
            named = (str(path), reader.line_num) if cells.get("from") or cells.get("to") else None
            found.append(Measurement(bytes, latency, (ends[0], ends[1]), named))
    except csv.Error as error:
        raise wrong(f"not CSV: {error}", None, "", "cells between commas") from None
    if not found:
        raise wrong("no measurements", None, "", f"a line with {', '.join(COLUMNS)}, and rows")
    return found


def _printed(path: Path, text: str, pair: tuple[int, int]) -> list[Measurement] | None:
    """The measurements in the output of a benchmark; None for other text."""

    def wrong(problem: str, line: int, value: str, expected: str, key: str | None = None) -> InputError:
        return InputError(problem, file=str(path), line=line, key=key, value=value, expected=expected)

    rows = ping_pong_output.rows(text, wrong)
    if rows is None:
        return None
    found = []
    for line, bytes, microseconds in rows:
        try:
            latency = float(microseconds) / 1e6
        except ValueError:
            latency = math.nan
        if not 0 < latency < 1e3:
            raise wrong("not a time", line, microseconds, "half a round trip in microseconds", "latency")
        if len(bytes) > 13 or int(bytes) > MOST_BYTES:
            raise wrong("size out of range", line, bytes, "at most 1024 GiB", "bytes")
        found.append(Measurement(int(bytes), latency, pair))
    return found


class Machine:
    """The machine of a scenario, on which ping-pongs are simulated."""

    def __init__(self, scenario: Path, measured: Sequence[Measurement]) -> None:
        try:
            tables: dict[str, Any] = tomllib.loads(foreign.read_bytes(scenario).decode())
        except OSError as error:
            raise InputError(
                f"cannot be read: {error.strerror}", file=str(scenario), expected="a scenario"
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"not TOML: {error}", file=str(scenario), expected="a scenario") from None
        graph = tables.get("machine", {}).get("graph", {})
        if isinstance(graph.get("file"), str):
            graph["file"] = os.path.join(scenario.resolve().parent, graph["file"])
        # Other jobs and their records are irrelevant.
        for key in ("jobs", "run", "name"):
            tables.pop(key, None)
        self.tables = tables
        self.path = scenario
        self.measured = measured
        #: The links that the last run used, by class, and the bandwidths of all classes.
        self.taken: set[str] = set()
        self.bandwidths: dict[str, str] = {}
        self.pairs = sorted({one.pair for one in measured})
        self.sizes = {
            pair: sorted({one.bytes for one in measured if one.pair == pair}) for pair in self.pairs
        }
        self.runs = 0

    def latencies(self, values: dict[str, str]) -> list[float]:
        """Half round-trip times, one for each measurement, with keys of the scenario replaced."""
        self.runs += 1
        found = {}
        for pair in self.pairs:
            sizes = self.sizes[pair]
            job = {
                "name": "ping-pong",
                "python": ping_pong,
                "ranks": 2,
                "placement": {"nodes": list(pair)},
                "args": {"sizes": sizes, "rounds": ROUNDS},
            }
            # A run for each pair: two jobs share no node.
            try:
                results = in_memory({**self.tables, "jobs": [job]}, values)
            except InputError as error:
                raise self._wrong(error, pair) from None
            self.taken |= {row["class"] for row in results.rows("links") if row["bytes"]}
            links = results.run["scenario"]["network"]["links"]
            self.bandwidths = {name: link["bandwidth"] for name, link in links.items()}
            ends: dict[int, float] = {row["iteration"]: row["last_s"] for row in results.rows("iterations")}
            for place, size in enumerate(sizes, 1):
                found[pair, size] = (ends[place] - ends[place - 1]) / (2 * ROUNDS)
        return [found[one.pair, one.bytes] for one in self.measured]

    def _wrong(self, error: InputError, pair: tuple[int, int]) -> InputError:
        """Translates an error in the generated ping-pong scenario to the words of the input."""
        place = re.fullmatch(r"jobs\.0\.placement\.nodes(?:\.([01]))?", error.key or "")
        if place is None:
            return InputError(
                error.message, file=str(self.path), key=error.key, value=error.value,
                expected=error.expected, hint=error.hint,
            )  # fmt: skip
        named = next((one.named for one in self.measured if one.pair == pair), None)
        shown = ",".join(map(str, pair)) if place[1] is None else str(pair[int(place[1])])
        if named is None:
            return InputError(error.message, key=option("nodes"), value=shown, expected=error.expected)
        column = {None: "from, to", "0": "from", "1": "to"}[place[1]]
        return InputError(
            error.message, file=named[0], line=named[1], key=column, value=shown, expected=error.expected
        )


@dataclass
class Fit:
    """Fitted parameters, and their quality."""

    #: Values by name, in s, s/B, B/s or bytes.
    values: dict[str, float]
    #: The keys of the scenario, as TOML.
    settings: dict[str, str]
    #: Standard errors of their logarithms.
    errors: dict[str, float]
    simulated_s: list[float]
    #: Root mean square of (simulated - measured) / measured.
    residual: float
    runs: int


def answer(measured: Sequence[Measurement], found: Fit) -> Calibration:
    """The answer of `odonata calibrate --json`."""
    rows: list[Any] = [
        {
            "bytes": one.bytes,
            "from": one.pair[0],
            "to": one.pair[1],
            "measured_s": one.latency_s,
            "simulated_s": simulated,
            "residual": simulated / one.latency_s - 1,
        }
        for one, simulated in zip(measured, found.simulated_s, strict=True)
    ]
    return {
        "settings": found.settings,
        "values": found.values,
        "standard_errors": found.errors,
        "residual": found.residual,
        "runs": found.runs,
        "sizes": rows,
    }


def fit(
    scenario: Path,
    measured: Sequence[Measurement],
    names: Sequence[str] = DEFAULT,
    progress: Callable[[int, float], None] | None = None,
) -> Fit:
    """Fits parameters, of `NAMES`, of the machine of a scenario to measurements.

    Raises:
        InputError: A name is unknown, the scenario is invalid, or the measurements do not determine a
            parameter.
    """
    for name in names:
        if name not in NAMES:
            raise InputError(
                "no such parameter",
                key=option("fit"),
                value=repr(name),
                expected=f"among {', '.join(NAMES)}",
            )
    smooth = [name for name in names if name != EAGER]
    points = len({(one.pair, one.bytes) for one in measured})
    if points <= len(names):
        raise InputError(
            f"{points} measurements do not determine {len(names)} parameters",
            key=option("fit"),
            value=", ".join(names),
            expected="more sizes than parameters",
        )
    machine = Machine(scenario, measured)
    if EAGER not in names:
        return _smooth(machine, smooth, {}, progress)
    sizes = sorted({one.bytes for one in measured})
    tried = []
    for threshold in [None, *sizes[:-1]]:
        fixed = {"mpi.eager_threshold": "none" if threshold is None else f"{threshold} B"}
        tried.append((_smooth(machine, smooth, fixed, progress, strict=False), threshold))
    without, best = tried[0][0], min(tried[1:], key=lambda one: one[0].residual)
    if max(best[0].residual, NOISE) ** 2 > SEEN * max(without.residual, NOISE) ** 2:
        raise InputError(
            "the measurements show no step of a rendezvous between two sizes: residual "
            f"{100 * without.residual:.2f}% without a threshold, {100 * best[0].residual:.2f}% "
            "with one",
            key=option("fit"),
            value=EAGER,
            expected="parameters without eager, or sizes on both sides of the threshold",
        )
    threshold = best[1]
    assert threshold is not None
    fixed = {"mpi.eager_threshold": f"{threshold} B"}
    found = _smooth(machine, smooth, fixed, progress)
    found.values[EAGER] = float(threshold)
    found.settings = {**found.settings, **fixed}
    return found


def _smooth(
    machine: Machine,
    names: Sequence[str],
    fixed: dict[str, str],
    progress: Callable[[int, float], None] | None,
    *,
    strict: bool = True,
) -> Fit:
    """Fits parameters on which times depend smoothly; `strict` refuses undetermined ones."""
    import numpy as np

    least_squares = require("scipy.optimize", "the search for parameters").least_squares
    parameters = [PARAMETERS[name] for name in names]
    measured = np.array([one.latency_s for one in machine.measured])

    def settings(logs: Sequence[float]) -> dict[str, str]:
        pairs = zip(parameters, logs, strict=True)
        return {one.key: one.text(math.exp(value)) for one, value in pairs} | fixed

    def residuals(logs: Sequence[float]) -> Any:
        found = (np.array(machine.latencies(settings(logs))) - measured) / measured
        if progress is not None:
            progress(machine.runs, float(np.sqrt(np.mean(found**2))))
        return found

    if not parameters:
        found = residuals([])
        simulated = (measured * (1 + found)).tolist()
        return Fit({}, dict(fixed), {}, simulated, float(np.sqrt(np.mean(found**2))), machine.runs)
    first = np.log([one.first for one in parameters])
    bounds = np.log([one.least for one in parameters]), np.log([one.most for one in parameters])
    # Times are whole picoseconds: a step must change many of them.
    done = least_squares(residuals, first, bounds=bounds, diff_step=1e-3, xtol=1e-5, ftol=1e-5, max_nfev=60)
    residual = float(np.sqrt(np.mean(done.fun**2)))
    values = {name: math.exp(value) for name, value in zip(names, done.x, strict=True)}
    jacobian = done.jac
    errors = _errors(jacobian, max(residual, NOISE))
    found_errors = dict(zip(names, errors, strict=True))
    if strict:
        for name, value, one in zip(names, done.x, parameters, strict=True):
            if value < math.log(one.least) + 0.01 and name != "bandwidth":
                raise InputError(
                    f"the machine is slower than the measurements even without {name}",
                    key=option("fit"),
                    value=name,
                    expected="lower values of the other delays of the scenario",
                )
        bad = [name for name in names if not found_errors[name] < UNDETERMINED]
        if "bandwidth" in bad:
            _check_other_links(machine, settings(done.x))
        if bad:
            raise InputError(
                f"the measurements do not determine {' and '.join(bad)}: other values fit equally well",
                key=option("fit"),
                value=", ".join(names),
                expected="; ".join(f"for {name}: {PARAMETERS[name].needs}" for name in bad),
            )
    simulated = (measured * (1 + done.fun)).tolist()
    return Fit(values, settings(done.x), found_errors, simulated, residual, machine.runs)


def _check_other_links(machine: Machine, settings: dict[str, str]) -> None:
    """Refuses measurements that are slower than terminal links of any bandwidth explain.

    The bandwidth of the terminal links then has no influence, whatever the measurements.
    """
    bandwidth = PARAMETERS["bandwidth"]
    simulated = machine.latencies({**settings, bandwidth.key: bandwidth.text(bandwidth.most)})
    largest = max(range(len(simulated)), key=lambda number: machine.measured[number].bytes)
    measured = machine.measured[largest]
    if simulated[largest] < measured.latency_s * (1 + NOISE):
        return
    others = [
        f"network.links.{name}.bandwidth is {machine.bandwidths[name]}"
        for name in sorted(machine.taken - {"terminal"})
        if name in machine.bandwidths
    ]
    rate = measured.bytes / measured.latency_s
    raise InputError(
        f"terminal links have no influence: {measured.bytes} B take {measured.latency_s * 1e6:.4g}"
        f" us measured, and {simulated[largest] * 1e6:.4g} us with terminal links of "
        "any bandwidth",
        file=str(machine.path),
        key=bandwidth.key,
        value="; ".join(others) or None,
        expected=f"faster links on the path than the measured {rate / 1e9:.3g} GB/s",
    )


def _errors(jacobian: Any, residual: float) -> list[float]:
    """Standard errors of the parameters; infinite where the Jacobian does not separate them."""
    import numpy as np

    left, sizes, right = np.linalg.svd(jacobian, full_matrices=False)
    del left
    weak = sizes <= 1e-6 * max(float(sizes[0]), 1e-30)
    inverse = np.where(weak, np.inf, 1 / np.where(weak, 1, sizes) ** 2)
    errors = []
    for column in right.T:
        # An unobserved direction affects only the parameters in it.
        parts = np.where(column**2 < 1e-9, 0.0, column**2)
        total = sum(part * size for part, size in zip(parts, inverse, strict=True) if part > 0)
        errors.append(residual * math.sqrt(total) if math.isfinite(total) else math.inf)
    return errors
