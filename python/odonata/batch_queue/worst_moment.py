"""The moment of a batch queue with the largest error, as a scenario that `odonata run` takes.

The file in the result folder has the jobs of the moment with blame, lost time, timeline and baselines, so
that the usual results show what rates do not know. The program of its ranks lies beside it.
"""

from __future__ import annotations

import copy
import os
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata import _core
from odonata.base import toml_text
from odonata.base.output_file import FILE_KEYS, whole_file
from odonata.base.wording import duration, factor
from odonata.batch_queue import rank_program
from odonata.batch_queue.run import BatchResult, label_of

if TYPE_CHECKING:
    from odonata.answers.batch import ComparedMoment
    from odonata.running.runner import Task

#: The scenario, and the program of its ranks.
FILE, PROGRAM = "worst-moment.toml", "worst-moment.py"
#: What the result records beside that of the comparison.
RECORDED = {
    "baselines": True, "blame": True, "lost_time": True, "timeline": {}, "series_interval": "100 us",
}  # fmt: skip


def write(
    result: BatchResult, task: Task, running: list[int], moment: ComparedMoment, folder: Path
) -> list[str]:
    """Writes the scenario and the program of its ranks to `folder`; returns the settings that it lacks.

    `task` is the packet scenario of the moment, and `running` has the numbers of its jobs.
    """
    text, settings = scenario(result, task, running, moment, folder)
    for name, content in ((PROGRAM, Path(rank_program.__file__).read_bytes()), (FILE, text.encode())):
        with whole_file(folder / name) as file:
            file.write(content)
    return settings


def scenario(
    result: BatchResult, task: Task, running: list[int], moment: ComparedMoment, folder: Path
) -> tuple[str, list[str]]:
    """The text of the scenario in `folder`, and the settings that it cannot have in its tables.

    A setting of the batch file may replace tables of its machine, such as one storage device by another. The
    core knows which ones; then all settings stay apart.
    """
    machine = _moved(tomllib.loads(task.text), Path(task.path).parent, folder)
    jobs = machine.pop("jobs")
    compared = {one["job"]: one for one in moment["jobs"]}
    lines = [
        f"# The moment at {duration(moment['time_s'])} of the batch queue with the largest error of rates.",
        "# Slowdown by rates, then by packets while all jobs run:",
    ]
    for number, written in zip(running, jobs, strict=True):
        job = result.jobs[number]
        written["name"] = f"{job.id} ({label_of(job, result.spec)})"
        written["python"] = f"{PROGRAM}:traffic"
        found = compared[job.id]
        lines.append(f"# {written['name']}: {factor(found['rates'])}, {factor(found['packets'])}")
    own = {"name": f"{result.spec.name}-worst-moment", "seed": result.spec.seed, "run": RECORDED}
    with_settings = copy.deepcopy(machine)
    try:
        for text in result.spec.overrides:
            _merge(with_settings, tomllib.loads(text))
        _core.batch_nodes(toml_text.document(with_settings), str(folder / FILE), [])
        machine, settings = with_settings, []
    except (tomllib.TOMLDecodeError, _core.InputError):
        settings = list(result.spec.overrides)
    _merge(machine, own)
    # Jobs come last, each in a section of its own.
    return "\n".join(lines) + "\n\n" + toml_text.pages(machine | {"jobs": jobs}), settings


def command(folder: Path, settings: Sequence[str]) -> str:
    """The command that runs the scenario in `folder`.

    >>> command(Path("results/day"), ["storage.nodes={ list = [3] }"])
    "odonata run results/day/worst-moment.toml --set 'storage.nodes={ list = [3] }'"
    """
    return shlex.join(
        ["odonata", "run", str(folder / FILE), *(word for one in settings for word in ("--set", one))]
    )


def _merge(values: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Puts `more` into nested tables.

    >>> values = {"a": {"b": 1, "c": 2}}
    >>> _merge(values, {"a": {"b": 3}})
    >>> values
    {'a': {'b': 3, 'c': 2}}
    """
    for key, value in more.items():
        inner = values.get(key)
        if isinstance(inner, dict) and isinstance(value, Mapping):
            _merge(inner, value)
        else:
            values[key] = dict(value) if isinstance(value, Mapping) else value


def _moved(values: Any, before: Path, after: Path) -> Any:
    """The values of a scenario in the folder `before` for one in `after`: file names stay right."""
    if isinstance(values, list):
        return [_moved(one, before, after) for one in values]
    if not isinstance(values, dict):
        return values
    return {
        key: os.path.relpath(before / value, after)
        if key in FILE_KEYS and isinstance(value, str)
        else _moved(value, before, after)
        for key, value in values.items()
    }
