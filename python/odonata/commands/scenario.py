"""Scenarios to start from: `odonata init`, `odonata presets`, `odonata import`."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from odonata import _core
from odonata.base.html_page import Answer as Page
from odonata.base.output_file import OutputFile
from odonata.base.wording import counted
from odonata.batch_queue import readers
from odonata.commands.declared import Shown, argument, command, option, switch
from odonata.errors import InputError, given, in_terminal, input_errors
from odonata.errors import option as named
from odonata.imports import files as imports
from odonata.imports import job_lists
from odonata.scenario import preset_list, starter
from odonata.scenario.starter import Starter

if TYPE_CHECKING:
    from odonata.answers.presets import Preset, PresetSummary
    from odonata.commands.declared import PathLike
    from odonata.imports.draft import Draft
    from odonata.tool_answers import Imported

Answer = TypeVar("Answer")


def presets() -> list[PresetSummary]:
    """Returns all presets with a summary and the size of the machine.

    >>> import odonata
    >>> [one["machine"]["nodes"] for one in odonata.presets() if one["name"] == "theta"]
    [3456]
    """
    return preset_list.presets()


def _presets(name: str | None, *, as_json: bool) -> Shown:
    """One preset, or all."""
    if name is None:
        every = preset_list.presets()
        return Shown(every, lambda: preset_list.show_list(every))
    one = preset_list.preset(name)
    return Shown(one, lambda: preset_list.show(one))


@command(
    "presets",
    """
    Each number of a preset has its source. Most presets are machines without jobs. The key `preset` of a
    scenario names one; keys of the scenario replace its keys one by one.
    """,
    terminal=_presets,
    name=argument("[PRESET]", "Show this preset. [default: list all]", str, default=None),
)
def preset(name: str) -> Preset:
    """Returns one preset: its summary, its keys with values and sources, and its text (TOML).

    A notebook shows it as a page.

    Raises:
        InputError: There is no such preset.

    >>> import odonata
    >>> odonata.preset("theta")["keys"][0]["key"]
    'machine.dragonfly-2d.groups'
    """
    found = cast("dict[str, Any]", preset_list.preset(name))
    return cast("Preset", Page(found, preset_list.show))


def _init(
    file: Path | None,
    machine: str | None,
    preset: str | None,
    *,
    jobs: list[str] | None,
    storage: bool | None,
    sweep: bool,
    as_json: bool,
) -> Shown:
    asked = machine is None and preset is None and not jobs and storage is None and not sweep
    if asked and sys.stdin.isatty():
        file, wanted, sweep = _ask(file)
    else:
        family = None
        if machine is not None:
            family, named_preset = starter.parse_machine(machine)
            if named_preset is not None and preset is not None:
                raise InputError("two presets", key=named("machine"), value=machine, expected="one of them")
            preset = preset or named_preset
        elif preset is None:
            family = starter.DEFAULT_MACHINE
        wanted = Starter(family, preset, storage=storage)
        if jobs:
            wanted = replace(wanted, jobs=[starter.parse_job(text) for text in jobs])
    target = file or Path("scenario.toml")
    wanted = replace(wanted, name=target.stem)
    beside = target.with_name(f"{target.stem}-sweep.toml")
    outputs = []
    for place, key in [(target, named("file", "FILE")), *([(beside, named("sweep"))] if sweep else [])]:
        if os.path.lexists(place):
            raise InputError("the file exists", key=key, value=str(place), expected="an unused name")
        outputs.append(OutputFile(place, key=key))
    texts = [starter.scenario(wanted, str(target))]
    if sweep:
        texts.append(starter.sweep(wanted.jobs, target.name, str(beside)))
    for output, text in zip(outputs, texts, strict=True):
        output.write(text)

    def show() -> None:
        print(f"wrote {' and '.join(str(output.target) for output in outputs)}; next:")
        print(f"  odonata check {target}")
        print(f"  odonata sweep {beside}" if sweep else f"  odonata run {target}")

    return Shown(None, show)


def _ask(file: Path | None) -> tuple[Path, Starter, bool]:
    """Asks each question until it has a valid answer."""
    if file is None:
        file = Path(click.prompt("File", default="scenario.toml", err=True))
    click.echo(f"Families: {', '.join(starter.families())}; presets: `odonata presets`", err=True)
    family, preset = _until_right("Machine", starter.DEFAULT_MACHINE, starter.parse_machine)
    if preset is not None and not starter.has_machine(preset):
        family, _ = _until_right(f"{preset} has none; family", starter.DEFAULT_MACHINE, starter.parse_machine)
    click.echo(f"Workloads: {', '.join(starter.workloads())}", err=True)
    jobs = _until_right(
        "Jobs, as WORKLOAD or WORKLOAD:RANKS",
        ",".join(starter.DEFAULT_JOBS),
        lambda text: [starter.parse_job(part) for part in text.split(",")],
    )
    needed = any(job.workload in starter.WITH_STORAGE for job in jobs)
    storage = needed or click.confirm("Storage servers", default=False, err=True)
    sweep = click.confirm("Also a sweep over placements and seeds", default=False, err=True)
    return file, starter.Starter(family, preset, jobs, storage), sweep


def _until_right(question: str, default: str, read: Callable[[str], Answer]) -> Answer:
    while True:
        try:
            return read(click.prompt(question, default=default, err=True))
        except InputError as error:
            click.echo(str(in_terminal(error)), err=True)


@command(
    "init",
    """
    On a terminal, without options, it asks for machine, jobs and storage. The file is valid, and runs in
    seconds on machines other than presets. Existing files are never replaced.
    """,
    terminal=_init,
    writes=True,
    has_json=False,
    file=argument("[FILE]", "File to write.", default=None),
    machine=option("Network family, such as torus, or preset, such as theta.", metavar="NAME"),
    preset=option("Preset; `odonata presets` lists them.", metavar="NAME"),
    jobs=option(
        "Job, such as stencil:64; repeatable.",
        "--job",
        metavar="WORKLOAD[:RANKS]",
        type=list[str],
        default=None,
    ),
    storage=option(
        "Storage servers. [default: if a job does I/O]", "--storage/--no-storage", type=bool, default=None
    ),
    sweep=switch("Also write a sweep, to NAME-sweep.toml."),
)
def init(
    file: PathLike = "scenario.toml",
    *,
    machine: str | None = None,
    preset: str | None = None,
    jobs: Sequence[str] | None = None,
    storage: bool | None = None,
) -> Path:
    """Writes a commented scenario to start from. Existing files are never replaced.

    Args:
        file: File to write.
        machine: A family of networks, such as "torus".
        preset: A preset to start from, such as "theta". Without `machine` and this, a small dragonfly.
        jobs: Workloads, such as ["stencil:64", "checkpoint"].
        storage: Whether the scenario has storage servers. Default: if a job does I/O.

    Returns:
        The file.

    Raises:
        InputError: A name is unknown; the file exists or cannot be written.

    >>> import odonata
    >>> odonata.check(odonata.init("mine.toml", jobs=["stencil:16"]))  # doctest: +SKIP
    """
    target = Path(file)
    if os.path.lexists(target):
        raise InputError("the file exists", key="file", value=str(target), expected="an unused name")
    family = None
    if machine is not None:
        family, named = starter.parse_machine(machine)
        if named is not None:
            raise InputError("a preset", key="machine", value=machine, expected=f'preset="{machine}"')
    elif preset is None:
        family = starter.DEFAULT_MACHINE
    wanted = starter.Starter(family, preset, storage=storage, name=target.stem)
    if jobs is not None:
        named_jobs = [starter.parse_job(job) for job in jobs]
        wanted = starter.Starter(family, preset, named_jobs, storage, target.stem)
    output = OutputFile(target, key="file")
    output.write(starter.scenario(wanted, str(target)))
    return target


def _import(
    files: list[Path],
    out: Path | None,
    *,
    machine: str | None,
    rules: Path | None,
    processors_per_node: int | None,
    hosts: Path | None,
    seed: int | None,
    force: bool,
    as_json: bool,
) -> Shown:
    if force and out is None:
        raise InputError("there is nothing to replace", key=named("force"), expected=given("out", "FILE"))
    options = _job_options(machine, rules, processors_per_node, hosts, seed)
    if _is_job_list(files, options):
        return _import_jobs(files[0], out, options, force=force)
    target = None if out is None else OutputFile(out, key=named("out"), replace=force, inputs=files)
    draft = imports.load(files)
    beside = None
    if draft.beside is not None and out is not None:
        beside = OutputFile(
            out.with_suffix(draft.beside.suffix), key=named("out"), replace=force, inputs=files
        )
    elif draft.beside is not None and not as_json:
        raise InputError(
            "the network becomes a file beside the scenario",
            key=named("out"),
            expected=given("out", "FILE.toml"),
        )
    try:
        answer = _imported(draft, str(out or "imported.toml"))
    except InputError as error:
        raise draft.wrong(error) from None
    text = answer["scenario"]
    if beside is not None:
        beside.write(answer["beside"].encode())
    if target is not None:
        target.write(text.encode())

    def show() -> None:
        if out is None:
            print(text, end="")
        elif draft.beside is not None:
            print(f"{out}, {out.with_suffix(draft.beside.suffix)}: next: odonata describe {out}")
        else:
            jobs, left = counted(len(draft.jobs), "job"), counted(len(draft.left), "setting")
            print(f"{out}: {jobs}; {left} without a counterpart")

    return Shown(answer, show, [f"not imported: {one}" for one in draft.left], place=out)


def _job_options(
    machine: PathLike | None,
    rules: PathLike | None,
    processors_per_node: int | None,
    hosts: PathLike | None,
    seed: int | None,
) -> dict[str, Any]:
    """The options of job lists that were given."""
    options = {
        "machine": machine, "rules": rules, "processors_per_node": processors_per_node, "hosts": hosts,
        "seed": seed,
    }  # fmt: skip
    return {name: value for name, value in options.items() if value is not None}


def _is_job_list(files: Sequence[Path], options: dict[str, Any]) -> bool:
    """Whether the files are a job list; raises `InputError` for options that do not fit."""
    if len(files) == 1 and readers.kind_of(files[0]) is not None:
        if "machine" not in options:
            raise InputError(
                "a job list needs a machine", key=named("machine"), expected="a preset or a scenario file"
            )
        return True
    for name in options:
        if len(files) > 1:
            raise InputError(
                "a job list stands alone", key=named(name), value=str(len(files)), expected="one file"
            )
        # The reader says why it is no job list.
        readers.read(files[0])
    return False


def _jobs_of(file: Path, beside: Path, options: dict[str, Any]) -> job_lists.JobImport:
    """The batch file `beside` of a job list."""
    rules, hosts = (None if options.get(name) is None else Path(options[name]) for name in ("rules", "hosts"))
    return job_lists.load(
        file,
        os.fspath(options["machine"]),
        beside=beside,
        rules_file=rules,
        processors_per_node=options.get("processors_per_node"),
        hosts_file=hosts,
        seed=options.get("seed", 1),
    )


def _answer_of(made: job_lists.JobImport) -> Imported:
    return cast(
        "Imported",
        {"scenario": made.text, "not_taken_over": [], "jobs": made.csv, "assumptions": made.notes},
    )


def _import_jobs(file: Path, out: Path | None, options: dict[str, Any], *, force: bool) -> Shown:
    """The import of a job list: the batch file, and the list with profiles beside it."""
    if out is None:
        raise InputError("a job list becomes two files", key=named("out"), expected=given("out", "FILE.toml"))
    listed = out.with_suffix(".csv")
    if listed == out:
        raise InputError("the batch file is TOML", key=named("out"), value=str(out), expected="FILE.toml")
    inputs = [file, *(Path(options[name]) for name in ("rules", "hosts") if name in options)]
    targets = [OutputFile(one, key=named("out"), replace=force, inputs=inputs) for one in (out, listed)]
    made = _jobs_of(file, out, options)
    for target, text in zip(targets, (made.text, made.csv), strict=True):
        target.write(text.encode())

    def show() -> None:
        print(f"{out}, {listed}: {counted(len(made.found.jobs), 'job')}; next: odonata batch {out}")

    return Shown(_answer_of(made), show, made.notes, place=out)


def _imported(draft: Draft, name: str) -> Imported:
    """The answer; `InputError` if the core refuses the scenario."""
    look = _core.resolve if draft.jobs else _core.describe
    left = [{"key": one.key, "value": one.value, "reason": one.reason} for one in draft.left]
    if draft.beside is None:
        text = draft.text()
        with input_errors():
            look(text, name)
        return cast("Imported", {"scenario": text, "not_taken_over": left})
    file = Path(name).with_suffix(draft.beside.suffix).name
    draft.name_beside(file)
    text = draft.text()
    with tempfile.TemporaryDirectory() as folder, input_errors():
        (Path(folder) / file).write_text(draft.beside.text, encoding="utf-8")
        look(text, str(Path(folder) / Path(name).name))
    return cast("Imported", {"scenario": text, "beside": draft.beside.text, "not_taken_over": left})


@command(
    "import",
    """
    docs/imports.md lists the supported settings. Every key states its source. Settings without a counterpart
    are listed in the scenario and on standard error. A job list (SWF, `sacct --parsable2`, CSV) becomes a
    file for `odonata batch`, and the list with an application profile for every job beside it.
    """,
    terminal=_import,
    writes="out",
    files=argument(
        "FILE...",
        "Configuration of BookSim 2, or of CODES with its workload and allocation files; a topology of ns-3, "
        "SimAI, htsim, BookSim's anynet or GraphML; or a job list.",
        list[Path],
    ),
    machine=option("Job lists: the machine, a preset or a scenario file.", metavar="PRESET|FILE"),
    rules=option("Job lists: rules that give jobs profiles (TOML).", metavar="FILE", type=Path, default=None),
    processors_per_node=option(
        "SWF: processors of a node. [default: as in its header]", metavar="N", type=int, least=1, default=None
    ),
    hosts=option(
        "Host names (sacct, CSV) in the order of the machine's compute nodes, one a line.",
        metavar="FILE",
        type=Path,
        default=None,
    ),
    seed=option(
        "Job lists: seed of profiles that are drawn. [default: 1]", metavar="N", type=int, default=None
    ),
    out=option(
        "Scenario to write. [default: standard output]",
        "--out",
        "-o",
        metavar="FILE",
        type=Path,
        default=None,
    ),
    force=switch("Replace an existing scenario.", "--force", "-f"),
)
def import_scenario(
    *files: PathLike,
    machine: PathLike | None = None,
    rules: PathLike | None = None,
    processors_per_node: int | None = None,
    hosts: PathLike | None = None,
    seed: int | None = None,
) -> Imported:
    """Turns a configuration of CODES, MFNetSim or BookSim into a scenario, or a job list into a batch file
    (docs/imports.md, docs/operate.md).

    Args:
        files: Configuration of BookSim 2, or of CODES with its workload and allocation files; a topology; or
            a job list.
        machine: For a job list: a preset or a scenario file.
        rules: For a job list: a file with rules that give jobs profiles.
        processors_per_node: For SWF: processors of a node.
        hosts: A file with the host names in the order of the compute nodes, for `sacct` and CSV.
        seed: For a job list: seed of the profiles that are drawn.

    Returns:
        The scenario as text, with the source of every key, and the settings without a counterpart. Of a job
        list: the batch file, which names `jobs.csv`, and the text of that file. Of a network that is no
        family's: also the file `beside` it, which the scenario names.

    Raises:
        InputError: A file is of another kind, or a setting that the machine needs has no counterpart.

    >>> import odonata
    >>> odonata.Scenario.from_toml(odonata.import_scenario("torus88")["scenario"])  # doctest: +SKIP
    """
    if not files:
        raise InputError("nothing to import", key="files", expected="one file or more")
    paths = [Path(file) for file in files]
    options = _job_options(machine, rules, processors_per_node, hosts, seed)
    if _is_job_list(paths, options):
        return _answer_of(_jobs_of(paths[0], Path("jobs.toml"), options))
    return _imported(imports.load(paths), "imported.toml")
