"""Standard benchmark cases: speed and memory of the simulator on this computer."""

from __future__ import annotations

import json
import os
import platform
import sys
from typing import Any

from odonata import _core
from odonata.base.terminal import console, show_table, table
from odonata.base.wording import digits, duration, rate, size
from odonata.errors import InputError, input_errors, option


def measure(names: list[str], *, quick: bool, announce: bool) -> dict[str, Any]:
    """Runs the cases `names` (all, if empty), one after the other; returns figures, machine and version."""
    known = _core.bench_names()
    for name in names:
        if name not in known:
            raise InputError(
                "no such benchmark case",
                key=option("name", "NAME"),
                value=name,
                expected="one of " + ", ".join(known),
            )
    cases = []
    for name in names or known:
        if announce:
            print(f"measuring {name} ...", file=sys.stderr)
        with input_errors():
            cases.append(json.loads(_core.bench_case(name, quick)))
    return {"cases": cases, "quick": quick, "machine": machine(), "version": _core.__version__}


def machine() -> dict[str, Any]:
    """The computer of the measurement."""
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
    }


def show(report: dict[str, Any]) -> None:
    """Prints `report` as a table."""
    page = table("case", "packet-hops/CPU-s", "events per hop", "memory per node", "CPU time")
    for case in report["cases"]:
        page.add_row(
            case["name"],
            rate(case["packet_hops_per_cpu_s"]),
            digits(case["events_per_hop"]),
            size(case["bytes_per_node"]),
            duration(case["cpu_s"]),
        )
    out = console()
    show_table(out, page)
    host = report["machine"]
    out.print(f"on {host['cpu']}, {host['cores']} cores; odonata {report['version']}", soft_wrap=True)


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:  # not Linux
        pass
    return platform.processor() or platform.machine()
