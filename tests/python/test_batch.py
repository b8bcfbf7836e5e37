"""Job lists, the batch queue, its results, and their comparison with packets."""

from __future__ import annotations

import contextlib
import math
import random
import tomllib
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import ROOT
from darshan_writer import Writer, in_ranges

import odonata
import odonata.machines.hosts
from odonata.answers.batch import Batch
from odonata.base import toml_text
from odonata.base.json_types import check
from odonata.batch_queue import (
    confirm,
    hosts,
    job_list,
    page,
    profiles,
    rank_program,
    readers,
    report_waits,
    rules,
    run,
    settings,
    summary,
)
from odonata.batch_queue import report as batch_report
from odonata.batch_queue.job_list import Job
from odonata.errors import InputError
from odonata.imports import job_lists
from odonata.sweeps import reader

EXAMPLES = ROOT / "examples/batch"
MIB = 1 << 20

SWF = """\
; MaxNodes: 8
; MaxProcs: 16
1 100 5 100 4 -1 -1 4 200 -1 1 3 1 7 1 1 -1 -1
2 110 -1 50 3 -1 -1 2 60 -1 1 4 1 -1 1 1 1 -1
3 112 -1 -1 2 -1 -1 2 60 -1 1 4 1 -1 1 1 1 -1
4 112 0 10 -1 -1 -1 0 60 -1 1 4 1 -1 1 1 1 -1
"""
SACCT = """\
User|Submit|NNodes|NodeList|JobID|Start|Elapsed|Timelimit|JobName|Partition|TRESUsageOutTot
ann|2026-01-05T10:00:00|3|nid[0001-0002,0010]|12|2026-01-05T10:01:00|01:00:00|02:00:00|vasp|batch|
||1|nid0001|12.batch|2026-01-05T10:01:00|01:00:00||batch||cpu=1,fs/disk=2K
||2|nid[0001-0002]|12.0|2026-01-05T10:01:00|01:00:00||vasp||cpu=1,fs/disk=1024
bob|2026-01-05T10:00:10|1|nid0009|13|Unknown|00:00:00|2-00:00:00|x|batch|
bob|2026-01-05T10:00:10|1|nid0009|14_2|2026-01-05T10:00:10|1-00:00:02|UNLIMITED|x|batch|
"""
MACHINE = """\
name = "small"
[machine.dragonfly]
groups = 3
routers_per_group = 4
nodes_per_router = 2
global_ports_per_router = 1
[storage]
nodes = { per_group = 2 }
device = { rate = { write = "1 GB/s", read = "1 GB/s", overhead = "20 us" } }
"""


def put(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_swf_counts_processors_as_nodes(tmp_path):
    found = readers.read(put(tmp_path, "a.swf", SWF))
    first, second = found.jobs
    assert (first.submit_s, first.start_s, first.nodes, first.run_s, first.limit_s) == (0, 5, 2, 100, 200)
    assert (first.user, first.application) == ("3", "app-7")
    # 3 processors on nodes of 2.
    assert (second.nodes, second.start_s, second.after) == (2, None, ["1"])
    assert found.left_out == {"without a run time": ["3"], "without processors": ["4"]}
    assert readers.read(tmp_path / "a.swf", processors_per_node=1).jobs[0].nodes == 4


def test_swf_lines_of_parts_of_a_job_are_no_jobs(tmp_path):
    """Status 2: to be continued, 3 and 4: the last part. The whole job has status 0 or 1."""
    line = "7 0 5 {} 4 -1 -1 4 200 -1 {} 3 1 7 1 1 -1 -1\n"
    parts = line.format(100, 1) + line.format(60, 2) + line.format(40, 3)
    found = readers.read(put(tmp_path, "a.swf", parts))
    assert [(job.id, job.run_s) for job in found.jobs] == [("7", 100)]
    assert any("2 lines of partial executions" in note for note in found.notes)
    with pytest.raises(InputError, match="two jobs have one id"):
        readers.read(put(tmp_path, "a.swf", parts.replace(" 2 3 1", " 1 3 1")))


def test_sacct_reads_columns_in_any_order(tmp_path):
    found = readers.read(put(tmp_path, "a.txt", SACCT))
    first, second = found.jobs
    # Hosts by number: 1, 2, 9, 10.
    assert (first.node_list, second.node_list) == ([0, 1, 9], [8])
    assert (first.start_s, first.run_s, first.limit_s, first.user) == (60, 3600, 7200, "ann")
    assert (second.id, second.run_s, second.limit_s) == ("14_2", 86402, None)
    # Steps count for their job: 2 KiB and 1 KiB.
    assert first.written_bytes == 3072
    assert found.left_out == {"never started": ["13"]}
    assert "1 job is left out, never started: 13." in found.notes


def test_sacct_prints_multiples_of_512_nodes_with_units(tmp_path):
    """Slurm's `convert_num_unit`: 1,024 nodes are `1K`, 1,536 are `1.50K`, 1,000 are `1000`."""
    text = "JobID|Submit|NNodes|Elapsed\n1|2026-01-05T10:00:00|{}|00:01:00\n"
    for shown, nodes in (("1K", 1024), ("1.50K", 1536), ("1000", 1000), ("2M", 2 << 20)):
        assert readers.read(put(tmp_path, "a.txt", text.format(shown))).jobs[0].nodes == nodes
    for shown in ("1G", "K", "1.3K", "32M"):
        with pytest.raises(InputError) as caught:
            readers.read(put(tmp_path, "a.txt", text.format(shown)))
        assert caught.value.key == "NNodes"
    with pytest.raises(InputError) as caught:
        readers.read(put(tmp_path, "a.txt", text.format("17000000")))
    assert caught.value.expected == "a number from 0 to 16777216"


def test_a_requeued_job_that_waits_again_keeps_the_record_that_ran(tmp_path):
    ran = "9|2026-01-05T10:00:00|2026-01-05T10:00:00|1|00:01:00\n"
    waits = "9|2026-01-05T10:05:00|Unknown|1|00:00:00\n"
    head = "JobID|Submit|Start|NNodes|Elapsed\n"
    for text in (ran + waits, waits + ran):
        found = readers.read(put(tmp_path, "a.txt", head + text))
        assert [(job.id, job.run_s) for job in found.jobs] == [("9", 60.0)]
        assert found.left_out == {}


def test_names_of_hosts_may_have_several_ranges(tmp_path):
    """Slurm expands `x[0-1]c[0-1]` with the last range first."""
    text = 'submit,nodes,run,node_list\n0,{},10,"{}"\n'
    found = readers.read(put(tmp_path, "a.csv", text.format(5, "x[08-09]c[0-1]n,login1")))
    assert found.hosts_of["1"] == ["x08c0n", "x08c1n", "x09c0n", "x09c1n", "login1"]
    for listed in ("x[0-1048576]", "x[0-1023]c[0-1024]", "x[0-1]c[", "x[0-1]c[0-1", "x[1,1]c[0-1]"):
        with pytest.raises(InputError) as caught:
            readers.read(put(tmp_path, "a.csv", text.format(4, listed)))
        assert caught.value.key == "node_list"


def test_a_name_with_a_separator_is_refused_with_a_hint(tmp_path):
    text = "JobID|Submit|NNodes|Elapsed|JobName\n1|2026-01-05T10:00:00|1|00:01:00|a|b\n"
    with pytest.raises(InputError) as caught:
        readers.read(put(tmp_path, "a.txt", text))
    assert caught.value.hint == "names may contain |: leave out JobName and Comment"


def test_a_circle_of_jobs_is_named_without_the_jobs_behind_it(tmp_path):
    text = "job,submit,nodes,run,after\nz,0,1,9,a\na,1,1,9,b\nb,2,1,9,c\nc,3,1,9,a\n"
    with pytest.raises(InputError) as caught:
        readers.read(put(tmp_path, "a.csv", text))
    assert (caught.value.line, caught.value.value) == (3, "a after b after c after a")
    with pytest.raises(InputError) as caught:
        readers.read(put(tmp_path, "a.csv", text.replace("submit", "submitt")))
    assert caught.value.hint == "did you mean submit?"


def test_jobs_that_never_fit_are_named(tmp_path):
    put(tmp_path, "machine.toml", MACHINE)
    put(tmp_path, "jobs.csv", "job,submit,nodes,run,partition\na,0,19,10,p\nb,0,18,10,q\nc,0,9,10,p\n")
    text = 'scenario = "machine.toml"\njobs = "jobs.csv"\n'
    found = odonata.batch(put(tmp_path, "a.toml", text))
    never = "1 job needs more than the 18 compute nodes of the machine and never fits: a."
    assert found["outcomes"] == {"completed": 2, "never-fits": 1}
    assert found["assumptions"].count(never) == 1
    found = odonata.batch(put(tmp_path, "b.toml", text + '[partitions]\np = "0-8"\nq = "9-17"\n'))
    assert "2 jobs need more than the nodes of their partitions and never fit: a, b." in found["assumptions"]
    made = job_lists.load(tmp_path / "jobs.csv", str(tmp_path / "machine.toml"), beside=tmp_path / "c.toml")
    assert never in made.notes
    assert any(note.startswith("Jobs of the 2 partitions p, q wait in one queue") for note in made.notes)
    put(tmp_path, "c.toml", made.text)
    put(tmp_path, "c.csv", made.csv)
    assert odonata.batch(tmp_path / "c.toml")["assumptions"].count(never) == 1


def test_hosts_have_the_numbers_of_their_names_or_of_a_file(tmp_path):
    text = "JobID|Submit|NodeList|Elapsed\n1|2026-01-05T10:00:00|{}|00:01:00\n"

    def nodes(listed: str, **machine: object) -> tuple[list[int], list[str]]:
        found = readers.read(put(tmp_path, "a.txt", text.format(listed)), machine=hosts.Machine(**machine))
        return found.jobs[0].node_list, found.assumptions

    assert nodes("cn[002,005-006]", nodes=5)[0] == [0, 3, 4]
    assert nodes("x1-ib,x3-ib", nodes=5)[0] == [0, 2]
    # Hosts before the smallest number may exist.
    assert "cn002 need not be the first" in nodes("cn[002,005-006]", nodes=5)[1][0]
    assert "--hosts" not in nodes("cn[001,005]", nodes=5)[1][0]
    # Names of two patterns, numbers beyond the machine, and equal numbers are numbered without gaps.
    for listed, numbers in (("cn[002,005-006]", [0, 1, 2]), ("cn1,gpu4", [0, 1]), ("cn1,cn01", [0, 1])):
        found, (assumed,) = nodes(listed, nodes=4)
        assert sorted(found) == numbers
        assert "--hosts FILE" in assumed
    # Every node has a host: there is no gap.
    assert "--hosts" not in nodes("a,b", nodes=2)[1][0]
    order = put(tmp_path, "hosts", "login7\n\ncn[005-006]\ncn002\n")
    assert nodes("cn[002,005-006]", nodes=5, hosts=order)[0] == [3, 1, 2]
    for listed, machine, key in (
        ("cn007", {"nodes": 5}, "node_list"),
        ("cn002", {"nodes": 3}, "hosts"),
    ):
        with pytest.raises(InputError) as caught:
            nodes(listed, hosts=order, **machine)
        assert caught.value.key == key
    with pytest.raises(InputError, match="SWF does not name hosts"):
        readers.read(put(tmp_path, "a.swf", SWF), machine=hosts.Machine(5, order))


@pytest.mark.parametrize("header", ["JobID,Submit,NNodes,Elapsed", "JobID      Submit   NNodes  Elapsed"])
def test_records_of_sacct_in_another_form_are_refused_with_the_option(tmp_path, header):
    with pytest.raises(InputError) as caught:
        readers.read(put(tmp_path, "a.txt", header + "\n1,2026-01-05T10:00:00,1,00:01:00\n"))
    assert caught.value.hint == "`sacct` needs --parsable2"


def test_digits_of_other_scripts_in_host_names_are_letters(tmp_path):
    found = readers.read(put(tmp_path, "a.txt", SACCT.replace("nid", "nid\u00b2x")))
    assert found.jobs[0].node_list == [0, 1, 9]


def test_presets_know_the_names_of_their_hosts(tmp_path):
    """A node of LUMI is a host with four interfaces: 124 in each of 24 groups."""
    listed = ["nid005000", "nid005001", "x1302c0s3b0n0", "nid007975"]
    text = "submit,nodes,run,profile,node_list\n0,4,10,none,{}\n"
    put(tmp_path, "jobs.csv", text.format(f'"nid[005000-005001], {listed[2]} {listed[3]}"'))
    batch = 'preset = "lumi"\njobs = "jobs.csv"\nqueue = { policy = "replay", placement = "list" }\n'
    found = odonata.batch(put(tmp_path, "a.toml", batch), out=tmp_path / "out")
    assert found["nodes"] == 2976
    assert found["assumptions"][0] == "Hosts have the node numbers of the preset lumi."
    (row,) = pq.read_table(tmp_path / "out/batch_jobs.parquet").to_pylist()
    # nid006742, as the core pairs the names, is host 6742 - 5000.
    assert row["node_list"] == "0-1 1742 2975"
    assert odonata.machines.hosts.node("lumi", "nid006742") == odonata.machines.hosts.node("lumi", listed[2])
    # A host of another part of the machine is refused, with the line.
    put(tmp_path, "jobs.csv", text.format('"nid[005000-005002],nid001001"'))
    with pytest.raises(InputError) as caught:
        odonata.batch(tmp_path / "a.toml")
    assert (caught.value.line, caught.value.value) == (2, "nid001001")


def test_the_lists_of_all_jobs_are_bounded_together(tmp_path, monkeypatch):
    monkeypatch.setattr(job_list, "MOST_LISTED_TOGETHER", 3)
    text = "job,submit,nodes,run,node_list\na,0,2,10,0-1\nb,0,2,10,0-1\n"
    with pytest.raises(InputError, match="too many nodes in the lists of all jobs"):
        readers.read(put(tmp_path, "a.csv", text))


def test_darshan_logs_are_counters(tmp_path):
    """A log of 4 MiB read in 8 calls and 12 MiB written in 8 calls; two logs of one job add up."""
    log = Writer(4)
    log.record(
        "POSIX", 7, "/scratch/a", -1, OPENS=4, READS=8, WRITES=8, **in_ranges("READ", [MIB // 2] * 8),
        **in_ranges("WRITE", [3 * MIB // 2] * 8), MAX_BYTE_READ=4 * MIB - 1, MAX_BYTE_WRITTEN=12 * MIB - 1,
    )  # fmt: skip
    (tmp_path / "logs").mkdir()
    for name in ("own.darshan", "logs/ann_cfd_id42_1-5-3600.darshan", "logs/ann_post_id42_1-5-3700.darshan"):
        log.write(tmp_path / name)
    text = (
        "job,submit,nodes,run,written_bytes,darshan\n41,0,2,100,1,own.darshan\n42,0,2,100,,\n43,0,2,100,5,\n"
    )
    found = readers.read(put(tmp_path, "jobs.csv", text))
    one, two, three = found.jobs
    assert (one.read_bytes, one.written_bytes, one.access_bytes) == (4 * MIB, 12 * MIB, MIB)
    assert (three.read_bytes, three.written_bytes, three.access_bytes) == (None, 5, None)
    assert found.notes == ["1 job has bytes and sizes of calls from a Darshan log: 41."]
    # A folder of the rules file has logs by the ids of jobs.
    given = rules.read(reader.read(put(tmp_path, "rules.toml", 'darshan = "logs"\n')))
    rules.apply(found, given, 1)
    assert (two.read_bytes, two.written_bytes, two.access_bytes) == (8 * MIB, 24 * MIB, MIB)
    # What is written needs the logs no longer, and they are the demands of the job: per node and second.
    (tmp_path / "own.darshan").unlink()
    again = readers.read(put(tmp_path, "again.csv", job_list.csv_text(found.jobs)))
    put(tmp_path, "machine.toml", MACHINE)
    spec = settings.load(put(tmp_path, "a.toml", 'scenario = "machine.toml"\njobs = "again.csv"\n'))
    again.jobs[0].profile = "none"
    (phase,) = run.profile_of(again.jobs[0], spec)
    assert (phase.read, phase.write, phase.access) == (4 * MIB / 200, 12 * MIB / 200, MIB)
    for content, key in (("a,0,1,9,no.darshan", "darshan"), ("a,0,1,9,jobs.csv", None)):
        with pytest.raises(InputError) as caught:
            readers.read(put(tmp_path, "wrong.csv", f"job,submit,nodes,run,darshan\n{content}\n"))
        assert caught.value.key == key
    (tmp_path / "empty").mkdir()
    given = rules.read(reader.read(put(tmp_path, "rules.toml", 'darshan = "empty"\n')))
    with pytest.raises(InputError, match="no Darshan log of a job"):
        rules.apply(found, given, 1)


def test_csv_is_written_and_read_back(tmp_path):
    for text in (SWF, SACCT):
        jobs = readers.read(put(tmp_path, "a.txt", text)).jobs
        written = job_list.csv_text(jobs)
        again = readers.read(put(tmp_path, "a.csv", written)).jobs
        assert job_list.csv_text(again) == written
        assert [(job.id, job.submit_s, job.node_list) for job in again] == [
            (job.id, job.submit_s, job.node_list) for job in jobs
        ]


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("submit,nodes,run\n0,1,x\n", 2, "run"),
        ("submit,nodes,run\n0,1.5,3\n", 2, "nodes"),
        ("submit,nodes,run\n0,1,inf\n", 2, "run"),
        ("submit,nodes,run\n0,99999999999,3\n", 2, "nodes"),
        ("submit,nodes,run\n0,1\n", 2, None),
        ('submit,nodes,run\n0,1,"3\n', 2, None),
        ("submit,nodes\n0,1\n", 1, None),
        ("submit,nodes,run,color\n0,1,3,red\n", 1, None),
        ("submit,nodes,run,node_list\n0,2,3,0-99999999\n", 2, "node_list"),
        ("submit,nodes,run,node_list\n0,2,3,1 1\n", 2, "node_list"),
        ("job,submit,nodes,run\na,0,1,1\na,1,1,1\n", 3, "job"),
        ("job,submit,nodes,run,after\na,0,1,1,b\nb,1,1,1,a\n", 2, "after"),
        ("submit,nodes,run,name\n0,1,1," + "x" * 300 + "\n", 2, "name"),
        ("; h\n1 2 3\n", 2, None),
        ("1 0 5 100 4 -1 -1 4 200 -1 1 3 1 7 1 1 -1 x\n", 1, None),
        ("JobID|Submit|NNodes|Elapsed\n1|yesterday|1|00:01:00\n", 2, "submit"),
        ("JobID|Submit|NNodes|Elapsed\n1|2026-01-05T10:00:00|1|soon\n", 2, "Elapsed"),
        ("JobID|Submit|NodeList|Elapsed\n1|2026-01-05T10:00:00|n[1-999999999]|00:01:00\n", 2, "NodeList"),
        ("JobID|Submit|NodeList|Elapsed\n1|2026-01-05T10:00:00|n[[1|00:01:00\n", 2, "NodeList"),
        ("JobID|Submit|NNodes\n1|2026-01-05T10:00:00|1\n", 1, None),
    ],
)
def test_wrong_lists_are_refused_with_line_and_field(tmp_path, text, line, key):
    with pytest.raises(InputError) as caught:
        readers.read(put(tmp_path, "a.txt", text))
    assert caught.value.file == str(tmp_path / "a.txt")
    assert caught.value.line in (line, None if key is None else line), caught.value
    if key is not None:
        assert caught.value.key == key, caught.value


def test_damaged_lists_raise_nothing_else(tmp_path):
    draw = random.Random(1)
    lists = [SWF, SACCT, "job,submit,nodes,run,limit,after\na,0,1,5,9,\nb,1,2,6,9,a\n"]
    for number in range(600):
        data = bytearray(draw.choice(lists).encode())
        for _ in range(draw.randint(1, 6)):
            place = draw.randrange(len(data))
            action = draw.randrange(3)
            if action == 0:
                data[place] = draw.randrange(256)
            elif action == 1:
                del data[place : place + draw.randrange(1, 9)]
            else:
                data[place:place] = bytes(draw.choices(b"0123456789-[],|.: \nxe", k=draw.randrange(1, 9)))
        path = tmp_path / f"{number}.txt"
        path.write_bytes(data)
        with contextlib.suppress(InputError):
            readers.read(path)


def job(**values) -> Job:
    return Job(**({"id": "1", "submit_s": 0.0, "nodes": 4, "run_s": 100.0} | values))


def test_rules_choose_profiles(tmp_path):
    text = """
    rules = [
      { user = "ann", name = "cfd*", profile = "halo" },
      { min_nodes = 64, profile = "all-to-all" },
      { min_written = "1 GB", profile = "checkpoint" },
    ]
    [defaults]
    training = 1
    """
    found = rules.read(reader.read(put(tmp_path, "rules.toml", text)))
    jobs = [
        job(id="1", user="ann", name="cfd3", nodes=100),
        job(id="2", user="bob", name="cfd3", nodes=100),
        job(id="3", written_bytes=2e9),
        job(id="4", written_bytes=2e6),
    ]
    listed = job_list.JobList(tmp_path, jobs, "csv")
    rules.apply(listed, found, 1)
    assert [one.profile for one in jobs] == ["halo", "all-to-all", "checkpoint", "training"]
    assert any("drawn" in line and "1 training" in line for line in listed.assumptions)


def test_unknown_jobs_draw_by_weight_and_id():
    jobs = [job(id=str(number)) for number in range(2000)]
    rules.apply(job_list.JobList(Path(), jobs, "csv"), rules.Rules(), 5)
    none = sum(one.profile == "none" for one in jobs)
    # 40 of 100 expected, within 4 standard deviations.
    assert abs(none - 800) < 4 * (2000 * 0.4 * 0.6) ** 0.5
    alone = [job(id="77")]
    rules.apply(job_list.JobList(Path(), alone, "csv"), rules.Rules(), 5)
    assert alone[0].profile == jobs[77].profile


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('rules = [{ profile = "hallo" }]', "rules.0.profile"),
        ('rules = [{ user = "a" }]', "rules.0.profile"),
        ("[defaults]\nhalo = 0", "defaults.halo"),
        ('[profiles.a]\npattern = "halo"\nintensity = "3"', "profiles.a.intensity"),
        ('[profiles.a]\nintensity = "3 MB/s"', "profiles.a.intensity"),
        (
            '[profiles.a]\npattern = "halo"\nintensity = "1 MB/s"\nshare = 0.95\nwrite = "1 MB/s"',
            "profiles.a.share",
        ),
        ('[profiles.a]\nphases = [{ pattern = "halo" }, { }]', "profiles.a.phases.0.lasts"),
        ("[profiles.a]\nphases = []", "profiles.a.phases"),
    ],
)
def test_wrong_rules_are_refused_by_key(tmp_path, text, key):
    with pytest.raises(InputError) as caught:
        rules.read(reader.read(put(tmp_path, "rules.toml", text)))
    assert caught.value.key == key


def test_counters_replace_the_rates_of_a_profile():
    profile = profiles.BUILT_IN["checkpoint"]
    found = profiles.with_counters(profile, 3600.0, 10, 3600e9, (-1.0, 36e9))
    periods = [1740.0, 60.0]
    # 3.6 TB over 10 nodes and an hour are 100 MB/s in the mean; so are the phases. Writes: 1 MB/s.
    for name, mean in (("intensity", 100e6), ("write", 1e6), ("read", 0.0)):
        whole = sum(getattr(phase, name) * lasts for phase, lasts in zip(found, periods, strict=True))
        assert whole / sum(periods) == pytest.approx(mean)
    assert profiles.with_counters(profiles.BUILT_IN["none"], 10.0, 1, 1e9, (-1.0, -1.0))[0].pattern == "halo"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('jobs = "a.csv"', "preset"),
        ('jobs = "a.csv"\npreset = "x"\nscenario = "y"', "preset"),
        ('preset = "theta"', "jobs"),
        ('jobs = "a.csv"\npreset = "theta"\n[queue]\npolicy = "easyy"', "queue.policy"),
        ('jobs = "a.csv"\npreset = "theta"\n[queue]\nhalf_life = "0 s"', "queue.half_life"),
        ('jobs = "a.csv"\npreset = "theta"\n[partitions]\na = "0-3"\nb = "3-5"', "partitions.b"),
        ('jobs = "a.csv"\npreset = "theta"\n[partitions]\na = "0-99999999999"', "partitions.a"),
        (
            'jobs = "a.csv"\npreset = "theta"\nfailures = [{ nodes = "1", from = "2 h", to = "1 h" }]',
            "failures.0.to",
        ),
    ],
)
def test_wrong_batch_files_are_refused_by_key(tmp_path, text, key):
    with pytest.raises(InputError) as caught:
        settings.load(put(tmp_path, "a.toml", text))
    assert caught.value.key == key


def test_a_machine_has_the_name_of_its_preset(tmp_path):
    put(tmp_path, "jobs.csv", "submit,nodes,run,profile\n0,2,10,none\n")
    file = put(tmp_path, "big.toml", 'preset = "theta"\njobs = "jobs.csv"\n')
    found = odonata.batch(file)
    assert (found["name"], found["machine"]) == ("big", "theta")


@pytest.fixture
def crowded(tmp_path):
    """Two jobs in all-to-all on a small machine, and one that waits for both."""
    put(tmp_path, "machine.toml", MACHINE)
    put(tmp_path, "jobs.csv", "submit,nodes,run,profile\n0,9,100,busy\n0,9,100,busy\n1,18,50,none\n")
    text = """
    scenario = "machine.toml"
    jobs = "jobs.csv"
    queue = { placement = "random" }
    profiles.busy = { pattern = "all-to-all", intensity = "6 GB/s", share = 0.6 }
    """
    return put(tmp_path, "batch.toml", text)


def test_contention_delays_the_queue(crowded, tmp_path):
    answer = odonata.batch(crowded, out=tmp_path / "out")
    check(answer, Batch)
    jobs = pq.read_table(tmp_path / "out/batch_jobs.parquet").to_pylist()
    assert jobs[0]["slowdown"] > 1.01
    assert jobs[1]["slowdown"] > 1.01
    assert jobs[2]["start_s"] == max(jobs[0]["end_s"], jobs[1]["end_s"]) > 101
    for one in jobs:
        # Time is work or lost to others, and all lost time has a culprit.
        assert one["elapsed_s"] == pytest.approx(one["run_s"] + one["lost_s"], abs=1e-3)
    lost = pq.read_table(tmp_path / "out/batch_lost.parquet").to_pylist()
    assert {(one["victim"], one["culprit"]) for one in lost} == {("1", "2"), ("2", "1")}
    without = crowded.with_name("without.toml")
    without.write_text("contention = false\n" + crowded.read_text())
    assert odonata.batch(without)["slowdown"]["max"] == 1.0


def test_waits_are_drawn_by_size_and_over_time():
    """Twelve jobs of three sizes, submitted every 900 s; job number n waits n hours. Another never starts."""
    jobs = [
        {"nodes": 1 << (number % 3), "submit_s": 900.0 * number, "wait_s": 3600.0 * number}
        for number in range(12)
    ]
    jobs.append({"nodes": 64, "submit_s": 0.0, "wait_s": None})
    by_size, over_time = report_waits.charts(jobs)
    traces = {trace["name"]: trace for trace in by_size.traces}
    # Jobs 0, 3, 6, 9 have 1 node; 1, 4, 7, 10 have 2; 2, 5, 8, 11 have 4.
    assert traces["median"]["x"] == ["1", "2-3", "4-7"]
    assert traces["median"]["y"] == [3.0, 4.0, 5.0]
    assert traces["mean"]["y"] == [4.5, 5.5, 6.5]
    assert traces["p90"]["y"] == traces["largest"]["y"] == [9.0, 10.0, 11.0]
    assert traces["mean"]["text"] == ["4 jobs"] * 3
    last = over_time.traces[2]
    assert (last["name"], last["y"]) == ("4-7 nodes", [2.0, 5.0, 8.0, 11.0])
    # Points lie in the middle of intervals of 9900 s / 48.
    hour = 9900.0 / 48 / 3600
    assert last["x"] == pytest.approx([(at + 0.5) * hour for at in (8, 21, 34, 47)])
    assert report_waits.charts([jobs[-1]])[0].lines == ["No job started."]


def test_disturbance_is_drawn_by_all_that_tells_jobs_apart():
    job = {"job": "1", "name": "a-7", "user": "ann", "profile": "cfd", "nodes": 2, "application": "cfx"}
    # A result without applications: the name stands for it.
    other = {"job": "2", "name": "b", "user": "ann", "profile": "cfd", "nodes": 4}
    lost = [
        {"victim": "1", "culprit": "2", "lost_s": 3600.0},
        {"victim": "2", "culprit": "1", "lost_s": 900.0},
    ]
    charts = {chart.id: chart for chart in batch_report._matrices([job, other], lost)}
    # One user and one profile tell nothing apart.
    assert list(charts) == ["application-matrix", "job-matrix"]
    (cells,) = charts["application-matrix"].traces
    assert (cells["y"], cells["x"]) == (["cfx", "b"], ["b", "cfx"])
    assert cells["z"] == [[2.0, None], [None, 1.0]]
    assert charts["job-matrix"].traces[0]["y"] == ["1 (cfd)", "2 (cfd)"]


def test_links_have_loads(crowded, tmp_path):
    crowded.write_text(crowded.read_text().replace("6 GB/s", "2.2 GB/s"))
    answer = odonata.batch(crowded, out=tmp_path / "out")
    links = pq.read_table(tmp_path / "out/batch_links.parquet").to_pylist()
    # All bytes of the busy jobs, 9 nodes each, leave interfaces of nodes: 2.2 GB/s for 100 s of work, however
    # long that takes.
    sent = sum(one["bytes"] for one in links if one["name"].startswith("n"))
    assert (answer["clipped_jobs"], answer["slowdown"]["max"] > 1.0) == (0, True)
    assert sent == pytest.approx(2 * 9 * 100 * 2.2e9, rel=1e-6)
    # What enters the network leaves it.
    assert sum(one["bytes"] for one in links if ">n" in one["name"]) == pytest.approx(sent, rel=1e-6)
    for one in links:
        mean = one["bytes"] / one["capacity_bytes_per_s"] / answer["simulated_s"]
        assert one["mean_load"] == pytest.approx(mean)
        assert one["mean_load"] <= one["peak_load"] * (1 + 1e-9)
        # Jobs together carry no more than a link can.
        assert one["peak_load"] <= 1.001
    busiest = answer["busiest_links"]
    assert busiest[0]["mean_load"] == pytest.approx(max(one["mean_load"] for one in links))
    loads = pq.read_table(tmp_path / "out/batch_loads.parquet").to_pylist()
    assert {one["link_class"] for one in loads} == {one["link_class"] for one in links}
    # The mean of a class over time is that of its links. All intervals but the last are of equal length.
    of_class = [one for one in links if one["link_class"] == "terminal"]
    assert all(one["mean_load"] <= one["most_load"] + 1e-9 for one in loads)
    assert max(one["most_load"] for one in loads if one["link_class"] == "terminal") == pytest.approx(
        max(one["peak_load"] for one in of_class)
    )
    assert "loads-chart" in batch_report.html(tmp_path / "out")


def test_small_calls_use_devices_for_longer(tmp_path):
    put(tmp_path, "machine.toml", MACHINE)
    put(tmp_path, "jobs.csv", "submit,nodes,run,profile\n0,1,100,reader\n")

    def load(size: str) -> float:
        text = (
            'scenario = "machine.toml"\njobs = "jobs.csv"\n'
            f'profiles.reader = {{ read = "100 MB/s", io_share = 1.0, access = "{size}" }}\n'
        )
        answer = odonata.batch(put(tmp_path, "reader.toml", text))
        return max(one["mean_load"] for one in answer["busiest_links"] if one["link_class"] == "server")

    # A call of s bytes takes 20 us + s / (1 GB/s); servers work in blocks of 1 MB.
    assert load("4 MB") == pytest.approx(100e6 * (20e-6 / 1e6 + 1e-9), rel=1e-3)
    assert load("100 kB") == pytest.approx(100e6 * (20e-6 / 1e5 + 1e-9), rel=1e-3)
    with pytest.raises(InputError) as caught:
        load("1 B")
    assert (caught.value.key, caught.value.value) == ("profiles.reader.access", '"1 B"')


def test_counters_and_lowered_rates_are_shown_by_job(tmp_path):
    put(tmp_path, "machine.toml", MACHINE)
    put(
        tmp_path, "jobs.csv",
        "job,submit,nodes,run,profile,written_bytes\na,0,1,100,none,1e12\nb,0,1,100,none,0\nc,0,1,100,none,\n",
    )  # fmt: skip
    file = put(tmp_path, "batch.toml", 'scenario = "machine.toml"\njobs = "jobs.csv"\n')
    answer = odonata.batch(file, out=tmp_path / "out")
    rows = pq.read_table(tmp_path / "out/batch_jobs.parquet").to_pylist()
    assert [row["profile"] for row in rows] == ["none, I/O by counters", "none", "none"]
    # 10 GB/s are more than a server of 1 GB/s writes.
    assert [row["rates_lowered"] for row in rows] == [True, False, False]
    assert (answer["clipped_jobs"], answer["clipped"]) == (1, ["a"])
    assert "its rates were lowered: a (" in page.lowered(answer)


def test_set_changes_keys_of_the_batch_file_and_of_its_machine(crowded, shell):
    def answer(*changes: str) -> dict:
        done = shell("batch", str(crowded), *(f"--set={one}" for one in changes), "-o", "out", "-f", "--json")
        assert done.code == 0, done.err
        return done.json

    assert answer("queue.policy=replay")["queue"]["policy"] == "replay"
    valiant = answer("network.routing.algorithm=valiant", "seed=2")
    assert valiant["seed"] == 2
    changed = {"network.routing.algorithm": "valiant", "seed": 2}
    assert odonata.batch(crowded, overrides=changed)["digest"] == valiant["digest"]
    refused = shell("batch", str(crowded), "--set", "queue.policy", "-o", "out", "-f")
    assert (refused.code, "KEY=VALUE" in refused.err) == (2, True)


def test_the_progress_of_a_comparison_has_the_time_that_is_left(monkeypatch):
    times = iter([0.0, 0.001, 10.0, 20.0])
    monkeypatch.setattr(page.time, "perf_counter", lambda: next(times))
    line, shown = page.BatchLine.__new__(page.BatchLine), []
    monkeypatch.setattr(line, "_update", lambda text, _share: shown.append(text))
    # The first moment was known.
    for done in range(4):
        line.moments(done, 5)
    assert [text.partition(" | ")[2] for text in shown] == ["", "", "30 s left", "20 s left"]


def test_results_are_equal_from_run_to_run(crowded):
    assert odonata.batch(crowded)["digest"] == odonata.batch(crowded)["digest"]


def test_moments_are_compared_with_packets(crowded):
    found = odonata.batch(crowded, confirm=1, processes=1)["confirmation"]
    assert len(found["moments"]) == 1
    assert found["compared"] == 2
    assert 0 <= found["median_error"] <= found["p90_error"] < 1


@pytest.mark.parametrize(
    ("setting", "apart"),
    [
        ('"network.links.global.bandwidth" = "2 GB/s"', []),
        # It replaces the key `per_group` of the machine, so it cannot stand beside it.
        ('"storage.nodes.list" = [3, 9]', ["storage.nodes.list=[3, 9]"]),
    ],
)
def test_the_worst_moment_is_a_scenario_of_its_own(crowded, tmp_path, monkeypatch, setting, apart):
    crowded.write_text(f"set.{setting}\n" + crowded.read_text())
    compared = []
    original = confirm.slowdowns
    monkeypatch.setattr(
        confirm,
        "slowdowns",
        lambda together, alone: (compared.append(together), original(together, alone))[1],
    )
    out = tmp_path / "out"
    confirmed = odonata.batch(crowded, out=out, confirm=2)["confirmation"]
    assert (confirmed["worst_scenario"], confirmed["worst_settings"]) == ("worst-moment.toml", apart)
    overrides = dict(one.split("=", 1) for one in apart)
    overrides = {key: tomllib.loads(f"value = {value}")["value"] for key, value in overrides.items()}
    # The scenario is that of the comparison, to the picosecond, and works in another folder.
    out.rename(tmp_path / "moved")
    found = odonata.run(tmp_path / "moved/worst-moment.toml", overrides=overrides)
    marks = {"job-0": [], "job-1": []}
    for row in found.rows("iterations"):
        marks[{"1 (busy)": "job-0", "2 (busy)": "job-1"}[row["job"]]].append(row["last_s"])
    worst = max(range(2), key=lambda at: confirmed["moments"][at]["time_s"] == confirmed["worst_time_s"])
    assert marks == compared[worst]
    # What a moment of the comparison does not record.
    assert found.rows("blame")
    assert found.rows("calls")
    assert found.rows("slowdown")


def test_a_job_alone_in_packets_takes_the_time_of_its_phase(tmp_path):
    put(tmp_path, "machine.toml", MACHINE)
    put(tmp_path, "jobs.csv", "submit,nodes,run,profile\n0,4,100,mixed\n")
    text = """
    scenario = "machine.toml"
    jobs = "jobs.csv"
    profiles.mixed = { pattern = "halo", intensity = "1 GB/s", share = 0.5, read = "20 MB/s", io_share = 0.2 }
    """
    found = run.simulate(settings.load(put(tmp_path, "batch.toml", text)))
    one = {"job": 0, "phase": 0, "nodes": [0, 1, 2, 3]}
    task = confirm.scenario(found, [one])
    args = tomllib.loads(task.text)["jobs"][0]["args"]
    # A node reads 64 KiB in 3.3 ms: a cycle has ceil(3.3 ms / period) iterations.
    iterations = math.ceil(65536 / (20e6 * args["period"]))
    assert rank_program.cycle(args["read"], args["write"], args["access"], args["period"]) == iterations
    results = odonata.run(tomllib.loads(task.text), overrides={"run.baselines": False})
    ends = [row["last_s"] for row in results.rows("iterations")]
    assert len(ends) == args["cycles"]
    expected = [args["offset"] + (n + 1) * iterations * args["period"] for n in range(args["cycles"])]
    # Packets add the latency of the last message and of the last read, microseconds each.
    assert ends == pytest.approx(expected, rel=0.03)


def test_a_host_with_several_end_points_is_a_node(tmp_path):
    """Four hosts of two GPUs: each GPU sends half of the bytes, and a job alone takes its time in packets."""
    sizes = {"hosts_per_pod": 4, "gpus_per_host": 2}
    put(tmp_path, "machine.toml", toml_text.pages({"machine": {"rail-optimized": sizes}}))
    put(tmp_path, "jobs.csv", "submit,nodes,run,profile\n0,4,100,ring\n")
    text = """
    scenario = "machine.toml"
    jobs = "jobs.csv"
    profiles.ring = { pattern = "all-reduce", intensity = "1 GB/s", share = 0.5 }
    """
    found = run.simulate(settings.load(put(tmp_path, "batch.toml", text)))
    assert summary.summarize(found)["nodes"] == 4
    # Bytes of 100 s: each GPU's interface carries half of those of its host.
    sent = {row["name"]: row["bytes"] for row in run.link_rows(found) if row["name"].startswith("n")}
    assert sorted(sent.values()) == pytest.approx([50e9] * 8, rel=1e-3)
    task = confirm.scenario(found, [{"job": 0, "phase": 0, "nodes": [0, 1, 2, 3]}])
    (job,) = tomllib.loads(task.text)["jobs"]
    assert (job["ranks"], job["placement"]) == (8, {"nodes": list(range(8))})
    results = odonata.run(tomllib.loads(task.text), overrides={"run.baselines": False})
    args = job["args"]
    expected = [args["offset"] + (n + 1) * args["period"] for n in range(args["cycles"])]
    assert [row["last_s"] for row in results.rows("iterations")] == pytest.approx(expected, rel=0.03)
    # Ranks of one number exchange: 0.5 GB/s of each for the cycles.
    (row,) = results.rows("jobs")
    assert row["bytes_sent"] == pytest.approx(8 * 0.5e9 * args["period"] * args["cycles"], rel=1e-2)


def test_ranks_of_a_moment_use_all_interfaces_of_their_nodes(tmp_path):
    """Nodes with two interfaces of 5 GB/s exchange 8 GB/s, which one interface could not carry."""
    machine = (
        "[machine]\ninterfaces = 2\n[machine.mesh]\ndims = [2]\nnodes_per_router = 4\n"
        '[network.links.terminal]\nbandwidth = "5 GB/s"\n[network.links.local]\nbandwidth = "50 GB/s"\n'
    )
    put(tmp_path, "machine.toml", machine)
    put(tmp_path, "jobs.csv", "submit,nodes,run,profile\n0,4,100,ring\n")
    text = """
    scenario = "machine.toml"
    jobs = "jobs.csv"
    profiles.ring = { pattern = "all-reduce", intensity = "4 GB/s", share = 0.5 }
    """
    found = run.simulate(settings.load(put(tmp_path, "batch.toml", text)))
    assert not found.results["jobs"][0]["clipped"]
    task = confirm.scenario(found, [{"job": 0, "phase": 0, "nodes": [0, 1, 2, 3]}])
    (job,) = tomllib.loads(task.text)["jobs"]
    assert (job["ranks"], job["ranks_per_node"]) == (8, 2)
    results = odonata.run(tomllib.loads(task.text), overrides={"run.baselines": False})
    args = job["args"]
    expected = [args["offset"] + (n + 1) * args["period"] for n in range(args["cycles"])]
    assert [row["last_s"] for row in results.rows("iterations")] == pytest.approx(expected, rel=0.03)


def storage_of_interfaces(tmp_path: Path, machine: str) -> tuple[list[float], list[float]]:
    """A node writes 8 GB/s half of the time: the bytes of its interfaces by rates, their parts in packets.

    In packets a job alone ends each cycle at its time.
    """
    put(tmp_path, "machine.toml", machine)
    put(tmp_path, "jobs.csv", "submit,nodes,node_list,run,profile\n0,1,0,100,io\n")
    text = """
    scenario = "machine.toml"
    jobs = "jobs.csv"
    queue = { placement = "list" }
    profiles.io = { write = "4 GB/s", io_share = 0.5, access = "512 KiB" }
    """
    found = run.simulate(settings.load(put(tmp_path, "batch.toml", text)))
    record = found.results["jobs"][0]
    assert not record["clipped"]
    sent = [row["bytes"] for row in run.link_rows(found) if row["name"].startswith("n")]
    task = confirm.scenario(found, [{"job": 0, "phase": 0, "nodes": record["nodes"]}])
    (job,) = tomllib.loads(task.text)["jobs"]
    results = odonata.run(tomllib.loads(task.text), overrides={"run.baselines": False})
    args = job["args"]
    expected = [args["offset"] + (n + 1) * args["period"] for n in range(args["cycles"])]
    assert [row["last_s"] for row in results.rows("iterations")] == pytest.approx(expected, rel=0.03)
    links = [row["bytes"] for row in results.rows("links") if row["name"].startswith("n")]
    written = 4e9 * args["period"] * args["cycles"]
    return sent, [bytes / written for bytes in links]


def test_the_io_of_a_node_takes_all_its_interfaces(tmp_path):
    """A node with two interfaces of 5 GB/s writes at 8 GB/s, which one of them could not carry."""
    device = 'device = { rate = { write = "100 GB/s", read = "100 GB/s", overhead = "0 s" } }\n'
    slow = '[network.links.terminal]\nbandwidth = "5 GB/s"\n[network.links.column]\nbandwidth = "50 GB/s"\n'
    rails = (
        "[machine.rail-optimized]\nhosts_per_pod = 2\ngpus_per_host = 2\nspines = 0\n"
        f"[storage]\nnodes = {{ list = [2, 3] }}\n{device}"
    )
    two = (
        f"[machine]\ninterfaces = 2\n[machine.mesh]\ndims = [2]\nnodes_per_router = 4\n{slow}"
        f'[network.links.local]\nbandwidth = "50 GB/s"\n[storage]\nnodes = {{ list = [3] }}\n{device}'
    )
    for machine in (rails, two):
        sent, links = storage_of_interfaces(tmp_path, machine)
        assert sent[:2] == pytest.approx([200e9] * 2, rel=1e-3)
        assert links[:2] == pytest.approx([0.5] * 2, abs=0.01)


def test_replay_partitions_reservations_and_failures(tmp_path):
    put(tmp_path, "machine.toml", MACHINE)
    put(
        tmp_path,
        "jobs.csv",
        "job,submit,start,nodes,node_list,run,partition\n"
        "a,0,10,2,10-11,100,left\nb,0,,4,,50,right\nc,0,20,1,0,10,left\nd,0,,1,,10,nowhere\n",
    )
    text = 'scenario = "machine.toml"\njobs = "jobs.csv"\nqueue = { policy = "replay" }\n'
    odonata.batch(put(tmp_path, "a.toml", text), out=tmp_path / "a")
    rows = pq.read_table(tmp_path / "a/batch_jobs.parquet").to_pylist()
    assert [(row["start_s"], row["node_list"]) for row in rows][:1] == [(10, "10-11")]
    # b, without a recorded start and nodes, takes node 0 until 50; c waits for it.
    late = "1 job started later than recorded, because its nodes were busy: c."
    assert late in odonata.batch(tmp_path / "a.toml")["assumptions"]
    assert {row["job"]: row["start_s"] for row in rows} == {"a": 10, "b": 0, "c": 50, "d": 0}
    parts = text + '[partitions]\nleft = "0-8"\nright = "9-17"\n'
    with pytest.raises(InputError) as caught:
        odonata.batch(put(tmp_path, "b.toml", parts))
    assert (caught.value.key, caught.value.line) == ("partition", 5)
    whole = 'scenario = "machine.toml"\njobs = "jobs.csv"\n'
    windows = (
        'reservations = [{ nodes = "0-17", from = "20 s", to = "300 s" }]\n'
        'failures = [{ nodes = "0", from = "310 s", to = "320 s" }]\n'
    )
    odonata.batch(put(tmp_path, "c.toml", whole + windows), out=tmp_path / "c")
    rows = {row["job"]: row for row in pq.read_table(tmp_path / "c/batch_jobs.parquet").to_pylist()}
    # c and d end before the reservation; b follows it; a fails on node 0 and starts again.
    assert (rows["c"]["start_s"], rows["d"]["start_s"]) == (0, 0)
    assert (rows["b"]["start_s"], rows["a"]["starts"], rows["a"]["outcome"]) == (300, 2, "completed")


def test_the_example_is_what_the_import_makes(tmp_path):
    made = job_lists.load(
        EXAMPLES / "jobs.sacct",
        str(EXAMPLES / "cluster.toml"),
        beside=EXAMPLES / "day.toml",
        rules_file=EXAMPLES / "rules.toml",
    )
    assert (EXAMPLES / "day.toml").read_text() == made.text
    assert (EXAMPLES / "day.csv").read_text() == made.csv
    assert len(made.found.jobs) == 300
    # What is written is read back as it was meant.
    spec = settings.load(EXAMPLES / "day.toml")
    given = rules.read(reader.read(EXAMPLES / "rules.toml"))
    used = {one.profile for one in made.found.jobs}
    assert {name: spec.profiles[name] for name in used} == {name: given.profiles[name] for name in used}


def test_the_command_imports_runs_and_reports(shell):
    shell.write(MACHINE, "machine.toml")
    shell.write(SACCT, "jobs.txt")
    done = shell("import", "jobs.txt", "--machine", "machine.toml", "-o", "week.toml")
    assert done.code == 0, done.err
    batch = tomllib.loads((shell.folder / "week.toml").read_text())
    assert (batch["jobs"], len(batch["assumptions"])) == ("week.csv", 6)
    assert batch["assumptions"] == done.err.splitlines()
    done = shell("batch", "week.toml", "-o", "out", "--json")
    assert done.code == 0, done.err
    assert done.json["outcomes"] == {"completed": 2}
    # What the import assumed is in the answer and in the report.
    assert done.json["assumptions"] == batch["assumptions"]
    done = shell("report", "out")
    assert done.code == 0
    html = (shell.folder / "out/report.html").read_text()
    assert "nodes-chart" in html
    assert "waits-by-size-chart" in html
    assert "1 job is left out, never started: 13." in html
    assert f"- {batch['assumptions'][0]}" in shell("batch", "week.toml", "-o", "text").out
    shell.write("nid[0001-0016]\n", "hosts")
    done = shell("import", "jobs.txt", "--machine", "machine.toml", "--hosts", "hosts", "-o", "sure.toml")
    assert done.code == 0, done.err
    assert "Hosts have the node numbers of 'hosts'." in done.err
    done = shell("import", "jobs.txt", "-o", "other.toml")
    assert done.code == 2
    assert "--machine" in done.err


def test_backfilling_lowers_waits(tmp_path):
    """Four nodes. FCFS: the small job waits behind the large one. EASY: it runs beside the first one."""
    sizes = {"groups": 1, "routers_per_group": 2, "nodes_per_router": 2, "global_ports_per_router": 0}
    put(tmp_path, "machine.toml", toml_text.pages({"machine": {"dragonfly": sizes}}))
    put(tmp_path, "jobs.csv", "submit,nodes,run,profile\n0,3,100,none\n0,4,10,none\n0,1,100,none\n")
    text = 'scenario = "machine.toml"\njobs = "jobs.csv"\nqueue = {{ policy = "{}" }}\n'
    found = {
        name: odonata.batch(put(tmp_path, f"{name}.toml", text.format(name)))
        for name in ("fcfs", "easy", "conservative")
    }
    # Waits of 0, 100 and 110 s until 210 s, and of 0, 100 and 0 s until 110 s: 440 node-seconds.
    assert found["fcfs"]["wait_s"]["mean"] == pytest.approx(70.0)
    assert found["fcfs"]["utilization"] == pytest.approx(440 / (4 * 210))
    for name in ("easy", "conservative"):
        assert found[name]["wait_s"]["mean"] == pytest.approx(100 / 3)
        assert found[name]["utilization"] == pytest.approx(1.0)
    # As published, on the day of the example: less than half of the wait of FCFS, at a higher utilization.
    day = {
        name: odonata.batch(EXAMPLES / "day.toml", overrides={"queue.policy": name, "contention": False})
        for name in ("fcfs", "easy")
    }
    assert day["easy"]["wait_s"]["mean"] < 0.5 * day["fcfs"]["wait_s"]["mean"]
    assert day["easy"]["utilization"] > day["fcfs"]["utilization"]


class Stopped:
    """A request to stop that comes at once."""

    requested = True


def test_a_stopped_queue_keeps_what_it_has_simulated(crowded, tmp_path, monkeypatch):
    # A slice is one instant: the submissions at 0.
    monkeypatch.setattr(run, "SLICE_S", 0.0)
    found = run.simulate(settings.load(crowded), stop=Stopped())
    answer = summary.summarize(found)
    check(answer, Batch)
    assert (answer["outcome"], answer["outcomes"]) == ("interrupted", {"running": 2, "waiting": 1})
    run.write(found, tmp_path, answer)
    assert "nodes-chart" not in batch_report.html(tmp_path)
    assert "No job ended" in batch_report.html(tmp_path)


def test_a_comparison_continues_with_the_moments_of_its_journal(crowded, tmp_path, monkeypatch):
    out = tmp_path / "out"
    first = odonata.batch(crowded, out=out, confirm=1, processes=1)
    assert len((out / "moments.jsonl").read_text().splitlines()) == 1
    # A killed process leaves part of a line.
    with (out / "moments.jsonl").open("a") as file:
        file.write('{"key": "x"')

    def refuse(*_args, **_options):
        raise AssertionError("a known moment is repeated")

    monkeypatch.setattr(confirm, "_compare", refuse)
    again = odonata.batch(crowded, out=out, confirm=1, processes=1)
    assert again["confirmation"] == first["confirmation"]
    # Another result is not continued.
    crowded.write_text("seed = 2\n" + crowded.read_text())
    with pytest.raises(InputError, match="another result"):
        odonata.batch(crowded, out=out, confirm=1, processes=1)


def test_a_damaged_list_of_nodes_in_a_result_is_refused(crowded, tmp_path):
    odonata.batch(crowded, out=tmp_path / "out")
    table = pq.read_table(tmp_path / "out/batch_jobs.parquet")
    place = table.schema.names.index("node_list")
    pq.write_table(
        table.set_column(place, table.schema.field(place), [["0-x"] * table.num_rows]),
        tmp_path / "out/batch_jobs.parquet",
    )
    with pytest.raises(InputError) as caught:
        batch_report.html(tmp_path / "out")
    assert caught.value.key == "node_list"


def test_the_windows_of_a_batch_file_are_bounded_together(tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "MOST_LISTED", 5)
    text = (
        'jobs = "a.csv"\npreset = "theta"\nreservations = [\n'
        '{ nodes = "0-2", from = "1 h", to = "2 h" },\n{ nodes = "0-2", from = "3 h", to = "4 h" },\n]\n'
    )
    with pytest.raises(InputError) as caught:
        settings.load(put(tmp_path, "a.toml", text))
    assert caught.value.key == "reservations.1.nodes"
