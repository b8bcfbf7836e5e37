"""`odonata compare`: settings, metrics, links, servers, blame."""

import json

import pytest
from conftest import SMALL, Shell

import odonata
from odonata.analysis.comparison import differences


@pytest.fixture(scope="module")
def pair(tmp_path_factory, server):
    """The small scenario, and the same with another routing, another capacity and another third job."""
    shell = Shell(tmp_path_factory.mktemp("pair"), server)
    shell.write(SMALL)
    assert shell("run", "scenario.toml", "-o", "a", "-q").code == 0
    text = SMALL.replace('"progressive-adaptive"', '"minimal"').replace('"saver"', '"keeper"')
    shell.write(text.replace('"1 GB"', '"2 GB"'))
    assert shell("run", "scenario.toml", "-o", "b", "-q").code == 0
    return shell


def test_a_comparison_says_what_changed_in_the_scenario_and_in_the_metrics(pair):
    done = pair("compare", "a", "b")
    assert (done.code, done.err) == (0, "")
    lines = [line.split() for line in done.out.splitlines()]
    assert done.out.startswith("A: a (small): completed, seed 3, digest ")
    assert ["Digests:", "different."] in lines
    assert ["network.routing.algorithm", "progressive-adaptive", "minimal"] in lines
    assert ["storage.device.capacity", "1", "GB", "2", "GB"] in lines
    assert "Only in A, so not compared: saver." in done.out
    assert "Only in B, so not compared: keeper." in done.out
    assert "jobs.saver" not in done.out
    assert "Jobs (changes of 1% and more)" in done.out
    # Minimal paths have no packets that are not minimal.
    assert any(line[:3] == ["MPI", "packets", "nonminimal"] and line[-1] == "0.00x" for line in lines)
    assert max(map(len, done.out.splitlines())) <= 110


def test_the_ratio_is_b_over_a_and_jobs_are_matched_by_name(pair):
    found = pair("compare", "a", "b", "--json").json
    a, b = ({row["job"]: row for row in odonata.load(pair.folder / side).rows("jobs")} for side in ("a", "b"))
    assert {row["job"] for row in found["jobs"]} == {"halo", "training"}
    for row in found["jobs"]:
        assert row["a"] == a[row["job"]][row["metric"]]
        assert row["b"] == b[row["job"]][row["metric"]]
        if row["a"]:
            assert row["ratio"] == row["b"] / row["a"]
            assert abs(row["ratio"] - 1) >= 0.01
    assert found["equal_digests"] is False
    assert {change["key"]: change["change"] for change in found["scenario"]} == {
        "network.routing.algorithm": "changed",
        "storage.device.capacity": "changed",
        "jobs.saver": "removed",
        "jobs.keeper": "added",
    }


def test_sums_of_links_are_those_of_the_table(pair):
    found = pair("compare", "a", "b", "--json", "--all").json
    links = odonata.load(pair.folder / "a").rows("links")
    for row in found["links"]:
        expected = sum(link[row["metric"]] for link in links if link["class"] == row["class"])
        assert row["a"] == pytest.approx(expected)
    assert {row["class"] for row in found["links"]} == {"terminal", "local", "global"}
    servers = odonata.load(pair.folder / "b").rows("servers")
    written = next(row for row in found["servers"] if row["metric"] == "bytes_written")
    assert written["b"] == sum(server["bytes_written"] for server in servers)


def test_a_higher_threshold_shows_less_and_all_shows_everything(pair):
    counts = [
        len(pair("compare", "a", "b", "--json", *more).json["jobs"])
        for more in (["--min", "50"], [], ["--min", "0.01"], ["--all"])
    ]
    assert counts == sorted(set(counts))
    # --all: every column of a number, for both common jobs.
    assert counts[-1] == 2 * sum(
        not isinstance(value, str) for value in odonata.load(pair.folder / "a").rows("jobs")[0].values()
    )


def test_equal_results_are_called_equal(pair):
    done = pair("compare", "a", "a")
    assert done.code == 0
    lines = done.out.splitlines()
    assert "Digests: equal." in lines
    assert "Scenario: no change" in lines
    assert "Jobs (changes of 1% and more): no change" in lines
    assert pair("compare", "a", "a", "--json").json["jobs"] == []


def test_results_without_a_common_job_are_not_called_unchanged(pair):
    text = SMALL
    for name in ("halo", "training", "saver"):
        text = text.replace(f'"{name}"', f'"other {name}"')
    pair.write(text, "others.toml")
    assert pair("run", "others.toml", "-o", "others", "-q").code == 0
    done = pair("compare", "a", "others")
    assert done.code == 0
    output = " ".join(done.out.split())
    assert "Jobs (changes of 1% and more): no common job, so none is compared" in output
    assert pair("compare", "a", "others", "--json").json["jobs_in_both"] == []
    assert pair("compare", "a", "b", "--json").json["jobs_in_both"] == ["halo", "training"]


def test_a_result_against_its_baseline(pair):
    pair.write(SMALL)
    assert pair("run", "scenario.toml", "-o", "whole", "-q", "--baselines").code == 0
    found = pair("compare", "whole", "whole/baselines/halo", "--json").json
    ratio = {row["metric"]: row["ratio"] for row in found["jobs"]}
    slowdown = odonata.load(pair.folder / "whole").slowdown()["halo"]["message_latency_p50"]
    assert ratio["message_latency_p50_s"] == pytest.approx(1 / slowdown.ratio)
    changes = {change["key"]: change["change"] for change in found["scenario"]}
    assert changes["jobs.training"] == changes["jobs.saver"] == "removed"
    assert changes["jobs.halo.placement"] == "changed"
    # The other jobs did not run: their waits have not vanished.
    assert {row["victim"] for row in found["blame"]} <= {"halo"}
    page = pair("compare", "whole", "whole/baselines/halo").out
    assert "Only in A, so not compared: training, saver." in page
    assert "a job of" not in page


@pytest.mark.parametrize("bad", ["missing", ".", "scenario.toml", "damaged"])
def test_what_is_not_a_result_is_named(pair, bad):
    (pair.folder / "damaged").mkdir(exist_ok=True)
    (pair.folder / "damaged/run.json").write_text('{"outcome": "completed"}', encoding="utf-8")
    for arguments in (["a", bad], [bad, "a"]):
        done = pair("compare", *arguments)
        assert (done.code, done.out) == (2, "")
        assert bad in done.err
        assert "Traceback" not in done.err
    assert "error" in json.loads(pair("compare", "a", bad, "--json").out)


def test_from_python_it_is_the_same(pair):
    found = odonata.compare(pair.folder / "a", pair.folder / "b")
    assert json.loads(json.dumps(found))["jobs"] == pair("compare", "a", "b", "--json").json["jobs"]
    with pytest.raises(FileNotFoundError):
        odonata.compare(pair.folder / "a", pair.folder / "missing")


def test_a_table_that_is_missing_on_one_side_is_added_key_by_key():
    found = list(
        differences({"storage": None, "x": "random"}, {"storage": {"a": 1, "b": [2]}, "x": {"y": 3}})
    )
    assert [(change["key"], change["change"], change["b"]) for change in found] == [
        ("storage.a", "added", 1),
        ("storage.b", "added", [2]),
        ("x", "changed", {"y": 3}),
    ]
