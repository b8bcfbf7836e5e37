"""Workload and allocation files of CODES: the jobs of a scenario and their nodes."""

from __future__ import annotations

from pathlib import Path

from odonata.errors import InputError
from odonata.imports.codes_conf import Section
from odonata.imports.draft import Draft, integers

#: Names of workloads and their counterparts; parameters are those of the programs in CODES' source.
WORKLOADS = {
    "milc": "{ milc = {} }",
    "nekbone": "{ nekbone = {} }",
    "conceptual-checkpoint": '{ checkpoint = { offset = "zero", coordinated = false } }',
    "conceptual-cosmo": '{ cosmoflow = { io = "write", pipelined = false } }',
}


def add_jobs(
    draft: Draft,
    conf: Section,
    workloads: tuple[Path, list[tuple[int, str]]],
    places: tuple[Path, list[list[int]]] | None,
) -> None:
    """Adds the jobs of a workload file, one per line, on the nodes of an allocation file, one line per job.

    An allocation counts the processes of workloads (`nw-lp`, MFNetSim's clients), which leave out storage
    servers.
    """
    path, rows = workloads
    draft.sources.append(f"Jobs from {path.name}" + (f", nodes from {places[0].name}." if places else "."))
    if places is not None and len(places[1]) != len(rows):
        raise InputError(
            "the allocation has another number of lines than the workload has jobs",
            file=str(places[0]), value=str(len(places[1])), expected=str(len(rows)),
        )  # fmt: skip
    per_node = _ranks_per_node(conf, path)
    names: dict[str, int] = {}
    for number_, (ranks, name) in enumerate(rows):
        plain = Path(name).name.rstrip("-") or name
        names[plain] = names.get(plain, 0) + 1
        job = [
            ("name", f'"{plain}"' if names[plain] == 1 else f'"{plain}-{names[plain]}"'),
            ("ranks", str(ranks)),
        ]
        if per_node > 1:
            job.append(("ranks_per_node", str(per_node)))
        if places is not None:
            job.append(("placement", _placement(places, number_, ranks, per_node, "storage" in draft.tables)))
        if name in WORKLOADS:
            job.append(("workload", WORKLOADS[name]))
            draft.leave(
                name, None, "its parameters stand in files of its own; here they are the published defaults"
            )
        elif "/" in name:
            trace = path.parent / f"{name.rstrip('-')}.meta"
            if not trace.is_file():
                draft.leave(name, f"{ranks} ranks", f"{trace} is missing: the job is left out")
                continue
            job.append(("trace", f'"{trace}"'))
        else:
            draft.leave(name, f"{ranks} ranks", "unknown workload: the job is left out")
            continue
        draft.jobs.append(job)


def _ranks_per_node(conf: Section, path: Path) -> int:
    """Processes of workloads per terminal, from LPGROUPS."""
    for group in conf.sections.get("LPGROUPS", Section()).sections.values():
        terminals = sum(
            group.whole(name, path)
            for name in group.values
            if name.startswith("modelnet_") and "router" not in name and "simplenet" not in name
        )
        processes = group.whole("nw-lp", path)
        if terminals and processes > terminals and processes % terminals == 0:
            return processes // terminals
    return 1


def _placement(
    places: tuple[Path, list[list[int]]], row: int, ranks: int, per_node: int, servers: bool
) -> str:
    """The nodes of a job."""
    path, rows = places
    found = rows[row][:ranks]
    if len(found) < ranks:
        raise InputError(
            'a job has more ranks than nodes in its line of the allocation',
            file=str(path), line=row + 1, value=str(len(found)), expected=f"{ranks} numbers",
        )  # fmt: skip
    if per_node > 1:
        shared = [place // per_node for place in found]
        nodes = shared[::per_node]
        if shared != [node for node in nodes for _ in range(per_node)][: len(shared)]:
            raise InputError(
                "processes of a node do not follow each other", file=str(path), line=row + 1,
                expected=f"{per_node} of a node in a row",
            )  # fmt: skip
        found = nodes
    return f"{{ {'clients' if servers else 'nodes'} = {integers(found)} }}"
