"""Invalid input: exit 2, one block with place and problem, and nothing created or changed."""

import json

import pytest
from conftest import SMALL

#: name: (text in the small scenario, its replacement, required parts of the error block)
MISTAKES = {
    "unknown key": (
        'algorithm = "progressive-adaptive"',
        'algoritm = "minimal"',
        ["algoritm", "network.routing", 'did you mean "algorithm"'],
    ),
    "unknown name": (
        'algorithm = "progressive-adaptive"',
        'algorithm = "minimum"',
        ["network.routing.algorithm", '"minimum"', "progressive-adaptive", 'did you mean "minimal"'],
    ),
    "wrong unit": (
        'bandwidth = "4.7 GiB/s"',
        'bandwidth = "4.7 ns"',
        ["network.links.global.bandwidth", "4.7 ns", "GiB/s"],
    ),
    "missing unit": (
        'bandwidth = "4.7 GiB/s"',
        "bandwidth = 4.7",
        ["network.links.global.bandwidth", "4.7", "GiB/s"],
    ),
    "negative size": ('buffer = "16 KiB"', 'buffer = "-16 KiB"', ["network.links.global.buffer", "-16 KiB"]),
    "zero bandwidth": (
        'bandwidth = "4.7 GiB/s"',
        'bandwidth = "0 GiB/s"',
        ["network.links.global.bandwidth", "0 GiB/s"],
    ),
    "buffer smaller than a packet": (
        'buffer = "16 KiB"',
        'buffer = "1 KiB"',
        ["network.links.global.buffer", "1 KiB", "packet"],
    ),
    "more groups than cables reach": ("groups = 5", "groups = 10", ["machine.dragonfly.groups", "10", "9"]),
    "job larger than the machine": ("ranks = 4\n", "ranks = 48\n", ["jobs.2.ranks", "48", "35"]),
    "jobs larger than the machine together": ("ranks = 8", "ranks = 20", ["jobs."]),
    "overlapping placements": (
        'ranks = 16\nplacement = "random"',
        "ranks = 1\nplacement = { nodes = [9] }\nworkload = { stencil = { dims = [1] } }\n\n"
        '[[jobs]]\nname = "second"\nranks = 16\n'
        "placement = { nodes = [9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 22, 23, 25, 26] }",
        ["jobs.", "9"],
    ),
    "rank list with duplicates": (
        'ranks = 16\nplacement = "random"',
        "ranks = 16\nplacement = { nodes = [9, 9, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 22, 23, 25, 26] }",
        ["jobs.0.placement", "9"],
    ),
    "job on a storage server": (
        "ranks = 4\n",
        "ranks = 4\nplacement = { nodes = [0, 1, 2, 3] }\n",
        ["jobs.2.placement", "0"],
    ),
    "grid that is not the number of ranks": ("dims = [4, 4]", "dims = [4, 5]", ["jobs.0.workload", "16"]),
    "not TOML": ("[storage]", "[storage", ["scenario.toml:17"]),
    "duplicate key": ("seed = 3", "seed = 3\nseed = 4", ["seed", "scenario.toml:3"]),
    "two jobs of one name": ('name = "saver"', 'name = "halo"', ["halo", "name"]),
    "I/O without servers": (
        '[storage]\nnodes = { per_group = 1 }\ndevice = { capacity = "1 GB" }\n',
        "",
        ["storage"],
    ),
}


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.parametrize("command", ["run", "check"])
def test_a_mistake_is_named_and_nothing_is_created(shell, command, name):
    old, new, output = MISTAKES[name]
    assert old in SMALL
    shell.write(SMALL.replace(old, new, 1))
    done = shell(command, "scenario.toml", *(["-o", "out"] if command == "run" else []))
    assert done.code == 2, done
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert "scenario.toml:" in done.err
    assert "Traceback" not in done.err
    for part in output:
        assert part in done.err, f"{part!r} is missing in\n{done.err}"
    assert shell.files() == ["scenario.toml"]


def test_an_error_reads_like_this(shell):
    shell.write(SMALL.replace('algorithm = "progressive-adaptive"', 'algorithm = "minimum"'))
    done = shell("run", "scenario.toml")
    line = line_of(SMALL, "algorithm")
    definitions = json.loads(shell("schema").out)["$defs"]
    names = [choice["const"] for choice in definitions["Algorithm"]["oneOf"]]
    assert "minimal" in names
    assert done.err.splitlines() == [
        'error: unknown name "minimum"',
        f"  --> scenario.toml:{line}:13",
        f'{line:>6} | algorithm = "minimum"',
        "       |             ^",
        "  key       network.routing.algorithm",
        '  found     "minimum"',
        f"  expected  one of {', '.join(names)}",
        '  hint      did you mean "minimal"?',
    ]


def test_errors_come_as_json_too(shell):
    shell.write(SMALL.replace("groups = 5", "groups = 10"))
    done = shell("run", "scenario.toml", "--json")
    assert done.code == 2
    error = done.json["error"]
    assert (error["file"], error["line"]) == ("scenario.toml", line_of(SMALL, "groups = 5"))
    assert error["key"] == "machine.dragonfly.groups"


def test_a_wrong_override_is_named(shell):
    shell.write(SMALL)
    for setting, message in [
        ("network.routing.algoritm=minimal", "algoritm"),
        ("network.links.global.bandwidth=12 ns", "12 ns"),
        ("no equals sign", "no equals sign"),
    ]:
        done = shell("run", "scenario.toml", "--set", setting)
        assert done.code == 2
        assert message in done.err
        assert "--set" in done.err
    assert shell.files() == ["scenario.toml"]


def test_an_existing_folder_is_untouched(shell):
    shell.write(SMALL)
    (shell.folder / "out").mkdir()
    shell.write("dear to somebody", "out/notes.txt")
    before = shell.files()
    for more in ([], ["--force"]):
        done = shell("run", "scenario.toml", "-o", "out", *more)
        assert done.code == 2
        assert "--out" in done.err
        assert shell.files() == before


def test_a_wrong_scenario_does_not_cost_the_old_result(shell):
    shell.write(SMALL)
    assert shell("run", "scenario.toml", "-o", "out", "-q").code == 0
    before = (shell.folder / "out" / "run.json").read_bytes()
    shell.write(SMALL.replace("ranks = 16", "ranks = 0"))
    assert shell("run", "scenario.toml", "-o", "out", "--force").code == 2
    assert (shell.folder / "out" / "run.json").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "missing.toml"], "missing.toml"),
        (["run", "."], "the scenario cannot be read"),
        (["run", "binary.toml"], "not UTF-8"),
        (["run", "scenario.toml", "-o", "scenario.toml/out"], "--out"),
        (["run", "scenario.toml", "--seed", "-1"], "--seed"),
        (["run", "scenario.toml", "--seed", "x"], "'x' is not a valid whole number"),
        (["run", "scenario.toml", "--seed", str(2**63)], "--seed"),
        (["run", "scenario.toml", "--set", f"seed={2**63}"], "seed"),
        (["run", "scenario.toml", "-o", ""], "--out"),
        (["run", "scenario.toml", "-o", " "], "--out"),
        (["run", "scenario.toml", "--baselines", "--processes", "0"], "--processes"),
        (["compare", "."], "B"),
        (["run"], "SCENARIO"),
        (["frobnicate"], "frobnicate"),
        (["summary", "."], "run.json"),
        (["summary", "scenario.toml"], "odonata run scenario.toml writes a result"),
        (["summary", "scenrio"], "hint      there is no such folder\n"),
        (["batch", "scenario.toml"], 'a batch file names its machine: scenario = "scenario.toml"'),
        (["import", "scenario.toml"], "odonata check scenario.toml explains it"),
        (["bench", "no-such-case"], "no-such-case"),
        (["bench", "--parallel", "no-such-case"], "hybrid-1056"),
        (["bench", "--parallel", "--threads", "1,x"], "--threads"),
        (["bench", "--parallel", "--threads", "0"], "--threads"),
        (["bench", "--threads", "2"], "--parallel"),
        (["run", "scenario.toml", "--scheduler", "optimstic"], "optimistic"),
        (["run", "scenario.toml", "--threads", "0"], "run.threads"),
        (["check", "scenario.toml", "--set", "run.parts=21"], "1 to 20"),
        (["check", "scenario.toml", "--set", "jobs.trainig.ranks=3"], 'hint      did you mean "training"?'),
        (["trace", "convert", ".", "out", "--repeat", str(2**32)], "--repeat"),
        (["trace", "convert", ".", "-o", "out"], "the output is the argument OUT"),
        (["trace", "repeat", ".", "-o", "out", "--times", str(2**32)], "--times"),
    ],
)
def test_a_wrong_command_line_is_named(shell, arguments, message):
    shell.write(SMALL)
    (shell.folder / "binary.toml").write_bytes(b"\xff\xfe")
    before = shell.files()
    done = shell(*arguments)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert shell.files() == before


def test_a_misspelt_result_is_suggested(shell):
    shell.write(SMALL)
    assert shell("run", "scenario.toml", "-o", "first-run", "-q").code == 0
    done = shell("report", "frist-run")
    assert (done.code, done.err.splitlines()[-1]) == (
        2,
        "  hint      there is no such folder; did you mean first-run?",
    )


def test_a_damaged_result_is_named_without_a_traceback(shell, tmp_path):
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "run.json").write_text("{}", encoding="utf-8")
    done = shell("summary", str(tmp_path / "damaged"))
    assert done.code == 2
    assert "the result is damaged" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("name", ["a" * 300, "/".join("b" * 3000)])
@pytest.mark.parametrize(
    "command",
    [["summary"], ["report"], ["compare", "."], ["trace", "info"], ["trace", "convert", "-o", "out"]],
)
def test_what_is_read_by_a_name_that_no_file_can_have_is_a_mistake(shell, command, name):
    done = shell(*command, name)
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err
