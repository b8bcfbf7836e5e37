"""`odonata workload`: programs in coNCePTuaL on the command line."""

import json
import subprocess
import sys
from pathlib import Path

import launcher


def odonata(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "odonata", "workload", *arguments]
    return launcher.run(command)


def test_a_record_holds_every_operation_and_the_end(tmp_path: Path) -> None:
    program = tmp_path / "pair.ncptl"
    program.write_text(
        'n is "n" and comes from "--n" or "-n" with default 2.\nTask 0 sends n 5 byte messages to task 1.\n'
    )
    done = odonata("compile", str(program), "--tasks", "2", "--json", "--", "--n", "3")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["verdict"] == "accept"
    assert record["completion"] == ["complete"]
    assert record["ranks"] == [[[3, ["send", 1, 5, "block"]]], [[3, ["recv", 0, 5, "block"]]]]
    text = odonata("compile", str(program), "--tasks", "2").stdout
    assert "2 x send 5 bytes to task 1" in text
    assert "all tasks come to their end" in text


def test_a_mistake_is_shown_with_its_line_and_ends_with_2(tmp_path: Path) -> None:
    program = tmp_path / "wrong.ncptl"
    program.write_text("# a mistake\nAll tasks reduce 4 bytes to task 0.\n")
    for arguments in (["check", str(program)], ["compile", str(program), "--tasks", "2"]):
        done = odonata(*arguments)
        assert done.returncode == 2
        assert "wrong.ncptl:2:20: error" in done.stderr
        assert "^^^^^" in done.stderr
    record = json.loads(odonata("compile", str(program), "--tasks", "2", "--json").stdout)
    assert (record["verdict"], record["error_line"]) == ("reject", 2)
    assert odonata("check", str(tmp_path / "missing.ncptl")).returncode == 2


def test_a_scenario_is_distinguished_from_a_program(tmp_path: Path) -> None:
    scenario = tmp_path / "halo.toml"
    scenario.write_text("[machine.torus]\ndims = [4]\n")
    for command in (["check"], ["format"]):
        done = odonata(*command, str(scenario))
        assert done.returncode == 2
        assert f"odonata check {scenario}" in "".join(done.stderr.split("\n"))


def test_text_for_another_back_end_is_passed_over_when_asked(tmp_path: Path) -> None:
    program = tmp_path / "other.ncptl"
    program.write_text('All tasks synchronize then\nall tasks backend execute "other_library(1);".\n')
    refused = odonata("check", str(program))
    assert refused.returncode == 2
    assert "other.ncptl:2:" in refused.stderr
    assert "--ignore-unknown-backend" in refused.stderr
    for command in (["check"], ["compile", "--tasks", "2"]):
        done = odonata(*command, str(program), "--ignore-unknown-backend")
        assert done.returncode == 0, done.stderr
        assert "warning" in done.stderr
        assert "line 2" in done.stderr or "other.ncptl:2:" in done.stderr


UNTIDY = "FOR 3 Repetitions {\n    all tasks SYNCHRONIZE }   # all\n\n\n.\n"
TIDY = "For 3 repetitions {\n  all tasks synchronize } # all\n\n.\n"


def test_format_prints_writes_and_checks(tmp_path):
    file = tmp_path / "x.ncptl"
    file.write_text(UNTIDY)
    file.chmod(0o640)
    printed = odonata("format", str(file))
    assert (printed.returncode, printed.stdout) == (0, TIDY)
    assert odonata("format", str(file), "--check").returncode == 1
    assert file.read_text() == UNTIDY
    assert odonata("format", str(file), "--write").returncode == 0
    assert (file.read_text(), file.stat().st_mode & 0o777) == (TIDY, 0o640)
    again = odonata("format", str(file), "--check")
    assert (again.returncode, again.stdout) == (0, "")
    file.write_text('all tasks log "x')
    wrong = odonata("format", str(file), "--write")
    assert wrong.returncode == 2
    assert "no closing quotation mark" in wrong.stderr
    assert file.read_text() == 'all tasks log "x'
    assert list(tmp_path.iterdir()) == [file]
