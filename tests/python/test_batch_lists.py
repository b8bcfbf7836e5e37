"""Job lists: their formats, the rules that give jobs their profiles, and the import."""

from __future__ import annotations

import contextlib
import random
import tomllib
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from batch_cases import MACHINE, SACCT, put
from conftest import ROOT
from darshan_writer import Writer, in_ranges

import odonata
import odonata.machines.hosts
from odonata.batch_queue import (
    hosts,
    job_list,
    profiles,
    readers,
    rules,
    run,
    settings,
)
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


def job(**values) -> Job:
    return Job(**({"id": "1", "submit_s": 0.0, "nodes": 4, "run_s": 100.0} | values))


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
