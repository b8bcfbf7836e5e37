"""`odonata presets`, `odonata init`, and the message about running a preset."""

import json
import os
import pty
import subprocess
import tomllib

import launcher
import pytest
from conftest import ODONATA
from launcher import PATIENCE_S

import odonata
from odonata import _core
from odonata.scenario import starter


def normalized(text):
    """The output, without its line breaks."""
    return " ".join(text.split())


def test_presets_are_listed_with_what_they_are(shell):
    done = shell("presets")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].split() == ["preset", "machine", "nodes", "about"]
    theta = next(line for line in lines if line.startswith("theta "))
    # 9 groups x 6 rows x 16 columns x 4 nodes.
    assert theta.split()[1:3] == ["dragonfly-2d", f"{9 * 6 * 16 * 4:,}"]
    found = shell("presets", "--json").json
    assert [one["name"] for one in found] == _core.preset_names()
    assert next(one for one in found if one["name"] == "booksim")["machine"] is None


@pytest.mark.parametrize("name", _core.preset_names())
def test_a_preset_has_all_numbers_of_its_file_and_their_sources(shell, name):
    found = shell("presets", name, "--json").json

    def flat(table, path=""):
        for key, value in table.items():
            yield from flat(value, f"{path}{key}.") if isinstance(value, dict) else [(f"{path}{key}", value)]

    shown = dict(flat({one["key"]: one["value"] for one in found["keys"]}))
    assert shown == dict(flat(tomllib.loads(found["toml"])))
    # Every comment of the file is the source of a key, or at its head.
    sources = " ".join(filter(None, (one["source"] for one in found["keys"])))
    page = normalized(shell("presets", name).out)
    for line in found["toml"].splitlines():
        if line.startswith("#"):
            words = normalized(line.removeprefix("#"))
            assert words in normalized(sources) or words in normalized(found["description"]), words
            assert all(word in page for word in words.split()), words


def test_an_unknown_preset_names_the_nearest(shell):
    done = shell("presets", "tehta", "--json")
    assert (done.code, done.json["error"]["hint"]) == (2, "did you mean theta?")


@pytest.mark.parametrize("command", ["run", "load-sweep", "sweep"])
def test_running_a_preset_explains_presets(shell, command):
    done = shell(command, "theta")
    assert done.code == 2
    assert "theta is a preset, a set of keys to start from, without jobs" in done.err
    assert "odonata init --preset theta" in done.err
    assert shell.files() == []


def test_a_file_of_a_presets_name_is_that_file(shell):
    shell.write("[machine.torus]\ndims = [4]\n", "theta")
    assert "there are no jobs" in shell("run", "theta").err


def test_the_scenario_that_init_writes_runs(shell):
    done = shell("init")
    assert done.code == 0
    assert "odonata check scenario.toml" in done.out
    assert shell("check", "scenario.toml").code == 0
    done = shell("run", "scenario.toml", "-o", "out", "--quiet")
    assert (done.code, done.err) == (0, "")
    assert {row["job"] for row in odonata.load(shell.folder / "out").rows("slowdown")} == {
        "stencil",
        "checkpoint",
    }
    assert all(len(line) <= 120 for line in (shell.folder / "scenario.toml").read_text().splitlines())


def test_what_init_wrote_is_never_replaced(shell):
    shell.write("mine", "scenario.toml")
    for arguments in ([], ["--preset", "theta"]):
        done = shell("init", *arguments)
        assert (done.code, "the file exists" in done.err, "--force" in done.err) == (2, True, False)
    shell.write("mine", "new-sweep.toml")
    assert shell("init", "new.toml", "--sweep").code == 2
    assert shell.files() == ["new-sweep.toml", "scenario.toml"]
    assert (shell.folder / "scenario.toml").read_text() == "mine"


def test_every_family_has_a_small_machine():
    """A new family needs a row of `starter.MACHINES`; a graph is read from a file."""
    properties = json.loads(_core.schema())["$defs"]["Machine"]["properties"]
    kinds = {name for name, schema in properties.items() if "anyOf" in schema and name != "graph"}
    assert set(starter.MACHINES) == kinds


@pytest.mark.parametrize("family", starter.MACHINES)
@pytest.mark.parametrize("jobs", [["--job", "stencil"], ["--storage"]], ids=["plain", "storage"])
def test_init_writes_every_family(shell, family, jobs):
    done = shell("init", "it.toml", "--machine", family, *jobs)
    assert done.code == 0, done.err
    report = odonata.check(shell.folder / "it.toml")
    assert (report["servers"] > 0) == (jobs == ["--storage"])
    assert report["name"] == "it"


@pytest.mark.parametrize("family", starter.MACHINES)
@pytest.mark.parametrize("ranks", [300, 3000])
def test_init_takes_a_machine_that_holds_the_ranks_asked_for(shell, family, ranks):
    job = ["--job", f"uniform:{ranks // 2}"]
    done = shell("init", "it.toml", "--machine", family, *job, *job)
    assert done.code == 0, done.err
    report = odonata.check(shell.folder / "it.toml")
    assert [job["ranks"] for job in report["jobs"]] == [ranks // 2] * 2
    assert ranks <= report["machine"]["compute_nodes"] < 20 * ranks


@pytest.mark.parametrize("workload", starter.workloads())
def test_init_writes_every_workload(shell, workload):
    done = shell("init", "it.toml", "--machine", "torus", "--job", f"{workload}")
    assert done.code == 0, done.err
    # Lines that are commented out are valid too.
    lines = (shell.folder / "it.toml").read_text().splitlines()
    jobs = next(number for number, line in enumerate(lines) if line == "[[jobs]]")
    text = "\n".join(
        line.removeprefix("# ") if number > jobs and " = " in line and line.startswith("# ") else line
        for number, line in enumerate(lines)
    )
    odonata.check(shell.write(text, "all.toml"))


#: Presets of machines so large that their check takes seconds.
LARGE = {"mfnetsim"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in LARGE else []) for name in _core.preset_names()],
)
def test_init_starts_from_every_preset(shell, name):
    machine = [] if starter.has_machine(name) else ["--machine", "torus"]
    done = shell("init", "it.toml", "--preset", name, *machine)
    assert done.code == 0, done.err
    assert odonata.check(shell.folder / "it.toml")["jobs"]


def test_the_sweep_that_init_writes_runs(shell):
    assert shell("init", "small.toml", "--job", "stencil:8", "--job", "stencil:8", "--sweep").code == 0
    done = shell("sweep", "small-sweep.toml", "--seeds", "2", "-o", "out", "--json")
    assert done.code == 0, done.err
    assert (done.json["points"], done.json["seeds"]) == (3, 2)
    assert [one["key"] for one in done.json["swept"]] == [
        "jobs.stencil.placement",
        "jobs.stencil-2.placement",
    ]


@pytest.mark.parametrize(
    ("arguments", "key", "hint"),
    [
        (["--machine", "tours"], "--machine", "did you mean torus?"),
        (["--job", "stencyl"], "--job", "did you mean stencil?"),
        (["--job", "stencil:0"], "--job", None),
        (["--preset", "theta", "--machine", "torus"], "--machine", None),
        (["--preset", "theta", "--machine", "edison"], "--machine", None),
        (["--preset", "booksim"], "--preset", None),
        (["--preset", "tehta"], "--preset", "did you mean theta?"),
        (["--job", "checkpoint", "--no-storage"], "--no-storage", None),
        (["--job", "stencil:100000"], "--job", None),
    ],
)
def test_what_init_cannot_write_is_an_error(shell, arguments, key, hint):
    done = shell("init", *arguments)
    assert done.code == 2
    assert key in done.err
    assert hint is None or hint in done.err
    assert shell.files() == []


def test_init_asks_on_a_terminal_until_it_understands(tmp_path):
    """File, machine (wrong at first), jobs, storage, sweep."""
    ours, theirs = pty.openpty()
    process = launcher.start(
        [*ODONATA, "init"],
        cwd=tmp_path,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.write(ours, b"\ntours\ntorus\nuniform:8,stencil\ny\ny\n")
    out, err = process.communicate(timeout=PATIENCE_S)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0, err
    assert "did you mean torus?" in err
    assert "odonata sweep scenario-sweep.toml" in out
    report = odonata.check(tmp_path / "scenario.toml")
    assert [(job["name"], job["ranks"]) for job in report["jobs"]] == [("uniform", 8), ("stencil", 16)]
    assert report["servers"] > 0


def test_a_misspelled_scenario_or_preset_gets_the_nearest_name(shell):
    shell.write("[machine.torus]\ndims = [4]\n", "halo.toml")
    assert "did you mean halo.toml?" in normalized(shell("run", "hallo.toml").err)
    assert "did you mean the preset theta?" in normalized(shell("run", "thetta").err)
    assert "hint" not in shell("run", "nothing-like-it.txt").err
    # An existing file that cannot be read is not misspelled.
    assert "hint" not in shell("run", ".").err


def test_the_folder_of_results_gets_the_list_of_results(shell):
    for name in ("results/a", "results/b", "results/c", "results/d", "swept"):
        (shell.folder / name).mkdir(parents=True)
    for name in ("a", "b", "c", "d"):
        shell.write("{}", f"results/{name}/run.json")
    shown = normalized(shell("summary", "results").err)
    assert "there are results in it: results/a, results/b, results/c and 1 more" in shown
    shell.write("{}", "swept/sweep.json")
    assert "it is a sweep: odonata report swept shows it" in normalized(shell("summary", "swept").err)


@pytest.mark.parametrize(
    ("file", "hint"),
    [
        ("batch.json", "it is a batch queue: odonata report other shows it"),
        ("what-if.json", "it is a what-if, whose answer is what-if.json"),
        ("advice.json", "its runs are sweeps: odonata report other/packets"),
    ],
)
def test_the_folder_of_another_command_is_named_by_its_kind(shell, file, hint):
    (shell.folder / "other").mkdir()
    shell.write("{}", f"other/{file}")
    shown = normalized(shell("summary", "other").err)
    assert "error: not the result of a run" in shown
    assert hint in shown
