"""The check of `tests/digests`: it finds and describes differences."""

import json
import sys

import launcher
import pytest
from conftest import ROOT

CHECK = ROOT / "tests/digests/check.py"
EXPECTED = ROOT / "tests/digests/expected.json"
#: A case with columns of tables, and one without.
CASES = ["run/mix", "arrival/fixed"]


def check(*arguments):
    done = launcher.run([sys.executable, CHECK, *arguments])
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def recorded(tmp_path):
    """The recorded results in a separate file, which tests may change."""
    path = tmp_path / "expected.json"

    def change(edit):
        content = json.loads(EXPECTED.read_text())
        edit(content)
        path.write_text(json.dumps(content))
        return path

    return change


def test_results_that_are_as_recorded_are_no_news():
    code, out, err = check(*CASES)
    assert (code, err) == (0, "")
    assert out.startswith("2 cases in 6 runs, ")
    assert out.endswith(": all as recorded\n")


def test_a_difference_is_reported_by_case_and_by_what_differs(recorded):
    def edit(content):
        content["arrival/fixed"] |= {"digest": "0" * 32, "packets": 7}
        content["run/mix"]["columns"]["jobs.elapsed_s"] = "0" * 12
        del content["run/mix"]["columns"]["links.busy_s"]
        content["gone/case"] = content["arrival/fixed"]

    code, out, _ = check(*CASES, "--expected", str(recorded(edit)))
    assert code == 1
    digest = json.loads(EXPECTED.read_text())["arrival/fixed"]["digest"]
    together = "sequential conservative optimistic"
    assert f"arrival/fixed\n    {together}: digest {digest}, recorded {'0' * 32}; packets " in out
    assert f"{together}: other values in jobs.elapsed_s; not recorded: links.busy_s\n" in out
    assert "gone/case\n    recorded, but there is no such case any more\n" in out
    assert out.endswith(": 3 differ\n")


def test_what_comes_out_is_recorded_where_it_is_asked_for(recorded):
    path = recorded(lambda content: content.pop("arrival/fixed"))
    code, out, _ = check("arrival/fixed", "--expected", str(path))
    assert (code, "nothing is recorded" in out) == (1, True)
    code, out, _ = check("arrival/fixed", "--expected", str(path), "--update")
    assert (code, "1 recorded anew" in out) == (0, True)
    assert json.loads(path.read_text()) == json.loads(EXPECTED.read_text())


def test_a_scheduler_with_results_of_its_own_is_not_recorded(recorded, tmp_path):
    """As if the optimistic scheduler ended a run earlier than the others."""
    script = tmp_path / "other.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(CHECK.parent)!r})\nimport case\n"
        "case.SCHEDULERS['optimistic']['seed'] = 5\n"
        "import check\n"
        "if __name__ == '__main__':\n    sys.exit(check.main())\n"
    )
    path = recorded(lambda content: None)
    arguments = [sys.executable, script, "arrival/exponential", "--expected", path, "--update"]
    done = launcher.run(arguments)
    assert done.returncode == 1, done.stderr
    assert "sequential: as recorded\n    conservative: as recorded\n    optimistic: digest " in done.stdout
    assert json.loads(path.read_text()) == json.loads(EXPECTED.read_text())


def test_a_word_that_no_case_has_is_an_error():
    code, out, err = check("no-such-case")
    assert (code, out) == (2, "")
    assert "no-such-case" in err


def test_every_case_is_recorded_and_nothing_else():
    """Complete runs of the MFNetSim study take minutes each, and are recorded on demand."""
    code, out, _ = check("--list")
    assert code == 0
    recorded = {name for name in json.loads(EXPECTED.read_text()) if not name.startswith("mfnetsim-whole/")}
    assert set(out.split()) == recorded
