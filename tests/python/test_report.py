"""A report shows the values of the tables; it is written whole or not at all."""

import hashlib
import html
import json
import math
import re
import shlex
import shutil
import tomllib
from html.parser import HTMLParser

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conftest import ROOT, SMALL, Shell

import odonata
from odonata import InputError, Results
from odonata.base.wording import duration
from odonata.report import jobs, latency, limits, network, page, several, single, verdict, waits
from odonata.report.contents import Contents
from odonata.sweeps import report as sweep

#: With blame and time series, and a job whose name would be dangerous as HTML or as a template.
TROUBLE = "<script>alert(1)</script>{{7*7}}"
SCENARIO = SMALL.replace("[[jobs]]", '[run]\nblame = true\nseries_interval = "50 us"\n\n[[jobs]]', 1).replace(
    '"saver"', json.dumps(TROUBLE)
)


class Page(HTMLParser):
    """The tables and data of a page, and its references."""

    def __init__(self, text):
        super().__init__()
        self.text = text
        self.tables = {}
        self.elements = []
        self._row = None
        self.feed(text)
        self.data = json.loads(re.search(r'id="report-data">(.*?)</script>', text, re.DOTALL)[1])

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        if tag == "table":
            self._rows = self.tables.setdefault(attributes["id"], [])
        elif tag == "tr":
            self._row = []
            self._rows.append(self._row)
        elif tag in ("td", "th"):
            value = attributes.get("data-value")
            self._cell = ["", None if value is None else float(value)]
            self._row.append(self._cell)

    def handle_endtag(self, tag):
        if tag == "tr":
            self._row = None

    def handle_data(self, text):
        if self._row:
            self._row[-1][0] += text.strip()

    def rows(self, table):
        """Rows as heading -> (text, value)."""
        head, *rows = self.tables[table]
        return [{name: tuple(cell) for (name, _), cell in zip(head, row, strict=True)} for row in rows]

    def traces(self, chart, **when):
        return [
            trace
            for trace in self.data[chart]["traces"]
            if all(trace.get("when", {}).get(name) == value for name, value in when.items())
        ]


@pytest.fixture(scope="module")
def shell(tmp_path_factory, server):
    shell = Shell(tmp_path_factory.mktemp("report"), server)
    shell.write(SCENARIO)
    done = shell("run", "scenario.toml", "-o", "out", "-q", "--baselines", "--seed", "5")
    assert (done.code, done.err) == (0, "")
    return shell


@pytest.fixture(scope="module")
def results(shell):
    return odonata.load(shell.folder / "out")


@pytest.fixture(scope="module")
def report(shell):
    done = shell("report", "out")
    assert (done.code, done.out, done.err) == (0, "Report: out/report.html\n", "")
    return Page((shell.folder / "out/report.html").read_text())


def test_the_slowdown_matrix_is_the_table_slowdown(report, results):
    rows = {row["job"][0]: row for row in report.rows("slowdown-matrix")}
    table = {row["job"]: row for row in results.rows("slowdown")}
    assert list(rows) == list(table)
    for job, row in rows.items():
        for heading, metric in (
            ("time", "elapsed"),
            ("in MPI", "mpi"),
            ("message p99", "message_latency_p99"),
        ):
            ratio = table[job][f"{metric}_ratio"]
            assert row[heading][1] == (None if math.isnan(ratio) else pytest.approx(ratio))
    everything = report.rows("slowdown-all")
    assert len(everything) == sum(len(metrics) for metrics in results.slowdown().values())
    for row in everything:
        metric = row["metric"][0].replace("time not computing", "non compute")
        metric = metric.replace(" ", "_").replace("MPI", "mpi").replace("I/O", "io")
        found = results.slowdown()[row["job"][0]][metric]
        assert (row["alone"][1], row["together"][1]) == (found.alone, found.together)


def test_the_verdict_names_the_job_that_was_slowed_most(report, results):
    ratios = {job: metrics["elapsed"].ratio for job, metrics in results.slowdown().items()}
    most = max(ratios, key=ratios.__getitem__)
    lead = html.unescape(re.search(r'<p class="lead">(.*?)</p>', report.text)[1])
    elapsed = results.slowdown()[most]["elapsed"]
    times = [duration(s).replace(" ", "\N{NO-BREAK SPACE}") for s in (elapsed.together, elapsed.alone)]
    output = (
        f"{most.capitalize()} slowed down most: it took {times[0]}, {ratios[most]:.2f}x its {times[1]} alone."
    )
    assert lead.startswith(output)
    # No line ends between a number and its unit.
    output = re.search(r'<ul class="said">(.*?)</ul>', report.text, re.DOTALL)[1]
    assert re.search(r"\d%", lead + output)
    assert not re.search(r"\d (%|[kKMGT]i?B|[mun]?s)\b|\d[ \N{NO-BREAK SPACE}]%", lead + output)


def test_the_matrix_of_waits_is_the_table_blame(report, results):
    jobs = {row["job"]: row for row in results.rows("jobs")}
    (trace,) = report.traces("waits-matrix", where="network", **{"class": "mpi"})
    blame = results.table("blame")
    for row, victim in enumerate(trace["y"]):
        for column, culprit in enumerate(trace["x"]):
            waited_s = sum(
                one["waited_s"]
                for one in blame.to_pylist()
                if html.escape(one["victim"], quote=False) == victim
                and html.escape(one["culprit"], quote=False) == culprit
                and one["victim_class"] == "mpi"
                and one["place"] in ("terminal", "local", "column", "global")
            )
            whole = jobs[html.unescape(victim)]["mpi_network_s"]
            assert trace["z"][row][column] == pytest.approx(waited_s / whole if whole else 0.0, abs=1e-9)
    found = waits.sums(Contents(results))
    assert sum(found.values()) == pytest.approx(pc.sum(blame["waited_s"]).as_py())


def test_waits_over_time_add_up_to_the_waits(report, results):
    interval_s = Contents(results).interval_s
    assert interval_s == pytest.approx(50e-6)
    for where, (_, places, _) in waits.WHERE.items():
        (trace,) = report.traces("waits-time", where=where, who="all")
        rows = [row for row in results.rows("blame") if row["place"] in places]
        drawn = sum(value for line in trace["z"] for value in line) * interval_s
        assert drawn == pytest.approx(sum(row["waited_s"] for row in rows), rel=1e-6)


def test_lost_time_is_that_of_the_table(report, shell, tmp_path):
    """A row for each job, culprit and kind; a run without lost time has no such section."""
    assert "lost-time-parts" not in report.tables
    results = odonata.run(
        shell.folder / "scenario.toml", tmp_path / "lost", overrides={"run.lost_time": True}
    )
    rows = Page(results.report()).rows("lost-time-parts")
    lost = [row for row in results.rows("lost_time") if row["lost_s"] > 0]
    assert len(rows) == len(lost) > 0
    assert sum(row["lost"][1] for row in rows) == pytest.approx(sum(row["lost_s"] for row in lost))
    assert {row["job"][0] for row in rows} == {row["victim"] for row in lost}


def test_jobs_are_those_of_the_table(report, results):
    rows = {row["job"][0]: row for row in report.rows("jobs-table")}
    for job in results.rows("jobs"):
        row = rows[job["job"]]
        assert row["ranks"][1] == job["ranks"]
        assert row["time"][1] == job["elapsed_s"]
        assert row["written"][1] == job["bytes_written"]
        assert row["message p99"][1] == pytest.approx(job["message_latency_p99_s"])


def test_parts_that_overlap_are_drawn_in_full_and_explained(report, shell):
    """A ring of NCCL reduces and sends at the same time: together more than all of a rank's time."""
    shell.write(
        """[machine.torus]\ndims = [4, 4]\n[[jobs]]\nname = "ring"\nranks = 16
workload = { nccl = { bytes = "1 MB", gpus_per_host = 1, compute = "300 us" } }
""",
        "ring.toml",
    )
    done = shell("run", "ring.toml", "-o", "ring")
    assert done.code == 0, done.err
    output = "Concurrent activities of a rank each count in full"
    assert output in " ".join(done.out.split())
    results = odonata.load(shell.folder / "ring")
    job = results.summary()["jobs"][0]
    most = sum(job[f"{part}_share"] or 0.0 for part in ("compute", "mpi", "io"))
    assert most > 1.02
    text = results.report()
    assert output in html.unescape(text)
    assert Page(text).data["jobs-time"]["layout"]["xaxis"]["range"] == [0, pytest.approx(most)]
    # Otherwise the axis ends at the total, without a note.
    assert report.data["jobs-time"]["layout"]["xaxis"]["range"] == [0, 1]
    assert output not in html.unescape(report.text)


def test_distributions_of_latency_pass_the_percentiles_of_the_jobs(report, results):
    for number, job in enumerate(results.rows("jobs")):
        trace = report.traces("latency-distribution", measure="mpi", view="cdf")[number]
        shown = dict(zip(trace["y"], trace["x"], strict=True))
        assert shown[0.5] == pytest.approx(job["message_latency_p50_s"], rel=0.04)
        assert shown[1.0] == pytest.approx(job["message_latency_max_s"], rel=0.04)
        assert trace["x"] == sorted(trace["x"])
    counts = latency.values(results)
    for job in results.rows("jobs"):
        assert sum(count for *_, count in counts[job["job"]]["mpi"]) == job["messages"]
        assert sum(count for *_, count in counts[job["job"]]["mpi-packets"]) == job["mpi_packets"]


def test_densities_are_shares_whatever_the_width_of_buckets(report):
    for trace in report.traces("latency-distribution", view="density"):
        if len(trace["x"]) > 1:
            width = math.log10(trace["x"][1] / trace["x"][0])
            assert sum(trace["y"]) * width == pytest.approx(1.0, rel=1e-6)


def test_links_are_those_of_the_table(report, results):
    simulated_s = results.run["simulated_s"]
    links = results.rows("links")
    rows = {row["class"][0]: row for row in report.rows("links-classes")}
    for name, words in network.CLASSES.items():
        mine = [link for link in links if network.class_of(link) == name]
        if not mine:
            assert words not in rows
            continue
        assert rows[words]["links"][1] == len(mine)
        assert rows[words]["busiest"][1] == pytest.approx(max(one["busy_s"] for one in mine) / simulated_s)
        assert rows[words]["carried"][1] == sum(link["bytes"] for link in mine)
    groups = [row["group"] for row in results.rows("routers")]
    (trace,) = report.traces("links-groups", show="bytes")
    for a, line in zip(trace["y"], trace["z"], strict=True):
        for b, value in zip(trace["x"], line, strict=True):
            between = [
                link["bytes"]
                for link in links
                if link["source_kind"] == link["target_kind"] == "router"
                and (groups[link["source"]], groups[link["target"]]) == (a, b)
            ]
            assert value == (sum(between) if between else None)


def test_the_map_has_all_routers_with_their_hottest_links_and_all_waits(report, results):
    data = report.data["machine-map"]["data"]
    routers = results.rows("routers")
    assert data["group"] == [row["group"] for row in routers]
    assert len(set(zip(data["x"], data["y"], strict=True))) == len(routers)
    links = [link for link in results.rows("links") if network.class_of(link) == "global"]
    for router, shown in enumerate(data["routers"]["busy"]["global"]):
        busy = max(link["busy_s"] for link in links if link["source"] == router) / results.run["simulated_s"]
        assert shown == pytest.approx(busy, rel=0.01)
    waited_s = sum(row["waited_s"] for row in results.rows("blame") if row["link"] >= 0)
    assert sum(one[4] for one in data["waits"]) == pytest.approx(waited_s, rel=0.01)
    hottest = max(links, key=lambda link: link["busy_s"])
    assert hottest["name"] in [link[0] for link in data["links"]]


def test_storage_is_that_of_the_tables(report, results):
    rows = {row["server"][0]: row for row in report.rows("storage-servers")}
    for server in results.rows("servers"):
        row = rows[str(server["server"])]
        assert row["requests"][1] == server["requests"]
        assert row["busy"][1] == pytest.approx(server["device_busy_s"] / results.run["simulated_s"])
        assert row["written"][1] == server["bytes_written"]
    calls = results.rows("io")
    width = results.run["simulated_s"] / len(report.traces("storage-time")[0]["x"])
    under_way = sum(sum(trace["y"]) for trace in report.traces("storage-time", show="outstanding")) * width
    assert under_way == pytest.approx(sum(call["end_s"] - call["start_s"] for call in calls), rel=1e-6)
    moved = sum(sum(trace["y"]) for trace in report.traces("storage-time", show="rate")) * width
    assert moved == pytest.approx(sum(call["bytes"] for call in calls), rel=1e-6)


def test_servers_stand_with_the_busiest_first(report, results):
    rows = results.rows("servers")
    busiest = sorted(rows, key=lambda row: -row["device_busy_s"])
    shown = [row["server"][0] for row in report.rows("storage-servers")]
    assert shown == [str(row["server"]) for row in busiest]
    assert shown != [str(row["server"]) for row in rows]
    marked = [attributes for tag, attributes in report.elements if tag == "th" and "aria-sort" in attributes]
    assert [one["aria-sort"] for one in marked] == ["descending"]


def test_time_between_iterations_counts_for_the_second(report, server, tmp_path):
    """A checkpoint between two all-reduces is no iteration, and has not delayed the next one."""
    shell = Shell(tmp_path, server)
    phases = (
        '[{ allreduce = { bytes = "8 B", iterations = 2 } }, '
        '{ checkpoint = { iterations = 1, total = "16 MB" } }, '
        '{ allreduce = { bytes = "8 B", iterations = 2 } }]'
    )
    text = SMALL.split("[[jobs]]")[0] + f'[[jobs]]\nname = "solver"\nranks = 4\nworkload = {phases}\n'
    shell.write(text)
    assert shell("run", "scenario.toml", "-o", "out", "-q").code == 0
    blocks = jobs.section(Contents(odonata.load(shell.folder / "out"))).blocks
    chart = next(block for block in blocks if block.id == "jobs-iterations")
    times = chart.traces[0]["y"]
    assert times[2] > 20 * max(times[0], times[1], times[3])
    assert "counts for the second. The same applies between the phases of solver." in chart.caption
    # The axis has the iterations, and half of one on both sides.
    assert chart.layout["xaxis"]["range"] == [-0.5, 3.5]
    assert "between the phases" not in report.text


def test_classes_of_links_have_distinct_colors():
    colors = [network._COLORS[name] for name in network.CLASSES]
    assert len(set(colors)) == len(colors)
    # 1 and 4 of the palette are two oranges, 0 and 5 two blues.
    assert not {1, 4} <= set(colors)
    assert not {0, 5} <= set(colors)


def test_traffic_over_time_adds_up(report, results):
    for number, (job, name) in enumerate(
        dict.fromkeys(
            (row["job"], row["class"])
            for row in sorted(
                (row for row in results.rows("series") if row["kind"] == "traffic"),
                key=lambda row: (
                    [one["job"] for one in results.rows("jobs")].index(row["job"]),
                    row["class"] != "mpi",
                ),
            )
        )
    ):
        trace = report.traces("jobs-traffic", show="bytes")[number]
        rows = results.table("series").filter(
            (pc.field("kind") == "traffic") & (pc.field("job") == job) & (pc.field("class") == name)
        )
        assert sum(trace["y"]) * 50e-6 == pytest.approx(pc.sum(rows["bytes"]).as_py(), rel=1e-6)


def test_no_line_is_drawn_across_intervals_in_which_nothing_happened(results):
    contents = Contents(results)
    assert contents.intervals_of([{"start_s": number * 50e-6} for number in (0, 1, 6)]) == [0, 1, 2, 5, 6]
    tables = {name: results.table(name) for name in results.tables}
    for name in ("series", "blame_series"):
        quiet = (pc.field("start_s") > 120e-6) & (pc.field("start_s") < 380e-6)
        tables[name] = tables[name].filter(~quiet)
    silent = Contents(odonata.Results(results.run, tables))
    for chart in (network._over_time(silent), jobs._traffic(silent)):
        for trace in chart.traces:
            if trace.get("when", {}).get("show") != "latency":
                drawn = dict(zip([round(x / 50e-6 - 0.5) for x in trace["x"]], trace["y"], strict=True))
                assert (drawn[3], drawn[7]) == (0.0, 0.0)
    (trace,) = [
        one for one in waits._over_time(silent).traces if one["when"] == {"where": "network", "who": "all"}
    ]
    column = [round(x / 50e-6 - 0.5) for x in trace["x"]].index(3)
    assert not any(line[column] for line in trace["z"])


def test_single_messages_are_missing_only_where_they_were_not_recorded(shell, results):
    output = "\n".join(limits.limits(Contents(results)))
    assert "Single messages" not in output
    assert "it is in the table server_series, not on this page" in output
    done = shell("run", "scenario.toml", "-o", "few", "-q", "--set", "run.message_rows=10")
    assert done.code == 0
    assert "Single messages" in "\n".join(limits.limits(Contents(odonata.load(shell.folder / "few"))))


def test_the_command_gives_the_same_results_again(report, results, tmp_path, server):
    listings = re.findall(r'<pre id="([a-z-]+)"[^>]*>(.*?)</pre>', report.text, re.DOTALL)
    texts = {name: html.unescape(text) for name, text in listings}
    shell = Shell(tmp_path, server)
    shell.write(texts["origin-scenario"])
    command = shlex.split(texts["origin-command"])
    assert command[:3] == ["odonata", "run", "scenario.toml"]
    assert "--seed 5" in texts["origin-command"]
    assert "baselines" in texts["origin-command"]
    assert shell(*command[1:], "-o", "again", "-q").code == 0
    assert odonata.load(tmp_path / "again").run["digest"] == results.run["digest"]
    assert results.run["digest"] in report.text
    assert json.loads(texts["origin-settings"]) == results.run["scenario"]


def test_text_of_users_is_text(report):
    """A job may have any name: no part of it becomes an element, or a template."""
    scripts = [attributes for tag, attributes in report.elements if tag == "script"]
    assert len(scripts) == 4
    assert "<script>alert" not in report.text
    assert "49</script>" not in report.text
    assert TROUBLE in {row["job"][0] for row in report.rows("jobs-table")}
    names = {trace.get("name") for trace in report.traces("latency-distribution")}
    assert "&lt;script&gt;alert(1)&lt;/script&gt;{{7*7}}" in names


def test_nothing_is_fetched_and_only_our_scripts_may_run(report):
    for tag, attributes in report.elements:
        assert tag not in ("iframe", "object", "embed", "img", "base")
        assert "src" not in attributes
        assert tag == "a" or "href" not in attributes
        assert not any(name.startswith("on") for name in attributes)
    policy = next(value["content"] for tag, value in report.elements if "http-equiv" in value)
    assert policy.startswith("default-src 'none'; ")
    scripts = re.findall(r"<script>(.*?)</script>", report.text, re.DOTALL)
    assert re.findall(r"'(sha256-[^']+)'", policy) == [page._hash(script) for script in scripts]


def test_an_existing_page_stays_without_force(shell):
    place = shell.folder / "page.html"
    place.write_text("mine")
    done = shell("report", "out", "-o", "page.html")
    assert (done.code, done.out) == (2, "")
    assert "replace it with --force" in done.err
    assert place.read_text() == "mine"
    assert shell("report", "out", "-o", "page.html", "--force").code == 0
    assert place.read_text().startswith("<!doctype html>")


def test_what_is_no_result_is_refused_and_leaves_nothing(shell):
    before = shell.files()
    (shell.folder / "empty").mkdir(exist_ok=True)
    done = shell("report", "empty")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: not a result of Odonata\n  --> empty\n")
    assert shell("report", "nothing", "-o", "x.html").code == 2
    assert shell("report", "out", "-o", "no/such/folder.html").code == 2
    assert shell("report", "out", "out", "-o", "x.html").code == 2
    assert shell("report", "out", "-o", "out/jobs.parquet", "--force").code == 2
    assert shell.files() == sorted([*before, "empty"])


def test_a_damaged_table_is_named_and_no_page_is_left(shell):
    shutil.copytree(shell.folder / "out", shell.folder / "damaged")
    (shell.folder / "damaged/links.parquet").write_bytes(b"PAR1 and then nothing")
    (shell.folder / "damaged/report.html").unlink(missing_ok=True)
    done = shell("report", "damaged")
    assert done.code == 2
    assert "damaged/links.parquet" in done.err
    assert not (shell.folder / "damaged/report.html").exists()


def test_results_can_report_themselves(results, tmp_path):
    assert results.report(tmp_path / "page.html") == (tmp_path / "page.html").read_text()
    with pytest.raises(InputError, match="the file exists"):
        results.report(tmp_path / "page.html")
    assert results.report(tmp_path / "page.html", force=True).startswith("<!doctype html>")
    assert results.in_memory().report().count("<section") == results.report().count("<section")


def test_a_run_without_blame_series_and_baselines_says_so(small):
    measured = odonata.load(small)
    results = Results(measured.run | {"blame": False}, measured.in_memory()._tables)
    text = html.unescape(results.report())
    for message in ("run with --baselines", "run.blame=true", "run.series_interval"):
        assert message in text
    for section in ("slowdown", "waits"):
        assert f'<section id="{section}"' not in text
    for section in ("verdict", "jobs", "latency", "network", "machine", "storage", "limits", "origin"):
        assert f'<section id="{section}"' in text


def test_an_interrupted_run_says_that_it_did_not_complete(small):
    results = odonata.load(small)
    run = results.run | {"outcome": "interrupted", "detail": "by Ctrl-C"}
    tables = {name: results.table(name) for name in results.tables}
    text = html.unescape(Results(run, tables).report())
    assert "The run did not complete: interrupted: by Ctrl-C." in text
    assert "all numbers stop there" in text


def test_not_every_result_holds_the_scenario(small):
    results = odonata.load(small)
    tables = results.in_memory()._tables
    assert (
        "does not contain the original scenario" in Results(results.run | {"written": None}, tables).report()
    )
    run = {key: value for key, value in results.run.items() if key != "written"}
    assert "does not contain the original scenario" in Results(run, tables).report()


@pytest.mark.parametrize(
    "machine", ["torus = { dims = [4, 4] }", "fat-tree = { k = 2, n = 4 }", "hyperx = { dims = [4, 4] }"]
)
def test_any_machine_has_a_report(machine):
    traffic = 'uniform = { bytes = "1 KiB", mean_interval = "2 us", messages = 5 }'
    text = f'machine.{machine}\n[[jobs]]\nname = "a"\nranks = 16\nworkload = {{ {traffic} }}\n'
    results = odonata.run(tomllib.loads(text))
    found = Page(results.report())
    assert len(found.data["machine-map"]["data"]["x"]) == results.table("routers").num_rows
    assert verdict.headline(Contents(results)) == "A had the machine to itself."


SLOW = "network.links.global.bandwidth=1 GB/s"


def test_several_runs_are_compared(shell, results):
    done = shell("run", "scenario.toml", "-o", "slow", "-q", "--seed", "5", "--set", SLOW)
    assert done.code == 0
    done = shell("report", "out", "slow", "-o", "both.html")
    assert (done.code, done.err) == (0, "")
    found = Page((shell.folder / "both.html").read_text())
    assert [row["run"][0] for row in found.rows("runs")] == ["out", "slow"]
    settings = {row["setting"][0]: row for row in found.rows("settings")}
    assert settings["network.links.global.bandwidth"]["slow"][0] == "1 GB/s"
    other = odonata.load(shell.folder / "slow")
    for name, one in (("out", results), ("slow", other)):
        for job in one.rows("jobs"):
            key = (job["job"], "time")
            row = next(row for row in found.rows("jobs-all") if (row["job"][0], row["metric"][0]) == key)
            assert row[name][1] == job["elapsed_s"]
    assert several.labels([results, other]) == ["out", "slow"]


def sweep_table(folder):
    rows = [
        {
            "jobs.a.load": load,
            "placement": placement,
            "seed": seed,
            "job": job,
            "elapsed_s": load * (seed + 1),
        }
        for load in (0.1, 0.2)
        for placement in ("random", "contiguous")
        for seed in range(3)
        for job in ("milc", "io <b>")
    ]
    file = folder / "sweep.parquet"
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file


def test_a_sweep_is_shown_with_its_axes(shell, tmp_path):
    sweep_table(tmp_path)
    for place in (tmp_path, tmp_path / "sweep.parquet"):
        done = shell("report", str(place), "-o", "sweep.html", "--force")
        assert (done.code, done.err) == (0, "")
    data = Page((shell.folder / "sweep.html").read_text()).data["sweep-chart"]["data"]
    assert data["axes"] == ["jobs.a.load", "placement"]
    assert list(data["rows"]) == ["job", "jobs.a.load", "placement", "elapsed_s"]
    assert len(data["rows"]["job"]) == 24
    pq.write_table(pa.table({"x": [1]}), tmp_path / "other.parquet")
    assert "not a table of a sweep" in shell("report", str(tmp_path / "other.parquet"), "-o", "y.html").err


def test_roles_say_what_the_columns_of_a_sweep_are(tmp_path):
    fields = [
        pa.field("job", pa.string()),
        pa.field("elapsed_s", pa.float64(), metadata={"role": "axis"}),
        pa.field("goodness", pa.float64(), metadata={"role": "metric", "unit": "s"}),
        pa.field("try", pa.int64(), metadata={"role": "replication"}),
    ]
    arrays = [pa.array(["a", "a"]), pa.array([1.0, 1.0]), pa.array([2.0, math.nan]), pa.array([0, 1])]
    pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), tmp_path / "sweep.parquet")
    data = Page(sweep.html(tmp_path / "sweep.parquet")).data["sweep-chart"]["data"]
    assert data["axes"] == ["elapsed_s"]
    assert data["rows"]["goodness"] == [2.0, None]
    assert data["units"] == {"elapsed_s": "", "goodness": "s"}


def test_a_report_of_one_run_has_no_sections_twice(results):
    sections = re.findall(r'<section id="([a-z]+)"', single.html(results))
    assert len(sections) == len(set(sections)) == 10


def test_the_library_in_the_page_is_the_one_that_was_published():
    text = (page.PLOTLY.parent / "README.md").read_text()
    assert hashlib.sha256(page.PLOTLY.read_bytes()).hexdigest() in text


def test_the_sweep_of_the_guide_makes_a_table_that_can_be_shown(shell, monkeypatch):
    guide = (ROOT / "docs/report.md").read_text()
    code = guide.partition("```python\n")[2].partition("```")[0]
    for text, less in (
        ("(0.05, 0.1, 0.2)", "(0.05, 0.1)"),
        ("(1, 2, 3)", "(1, 2)"),
        ("examples/", f"{ROOT}/examples/"),
    ):
        assert text in code
        code = code.replace(text, less)
    monkeypatch.chdir(shell.folder)
    exec(code, {})
    data = Page(sweep.html(shell.folder / "sweep.parquet")).data["sweep-chart"]["data"]
    assert data["axes"] == ["load"]
    assert data["rows"]["load"] == [0.05, 0.05, 0.1, 0.1]
    assert "elapsed_s" in data["units"]
    assert "workload" not in data["rows"]
