"""Campaign: command lines, and their conditions.

Unusual names, settings and options; targets that exist, are impossible, or are the input itself; a standard
output that is closed or full, and a full disk. Exit codes are those of README.md, and existing files are
unchanged without `--force`.
"""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from hostile import bases, calls, fixtures
from hostile.campaign import Announce, Campaign, Trial, Verdict
from hostile.oracle import Finding

SCENARIO = "[machine.torus]\ndims = [4]\n" + bases.JOBS.replace("ranks = 8", "ranks = 4")
SOURCE = "All tasks t send a 8 byte message to task 0.\n"

#: Names of files to read or to write.
NAMES = (
    "",
    " ",
    ".",
    "..",
    "/",
    "missing",
    "missing/below/it",
    "a" * 300,
    "b/" * 2500 + "c",
    "not-\udcff-utf8",
    "new\nline",
    "💥",
    "scenario.toml",
    "scenario.toml/below",
    "notes.txt",
    "folder",
    "result",
    "trace",
    "x.program",
    "x.ncptl",
    "/dev/null",
    "/dev/full",
    "/proc/nothing",
    "-",
    "~",
    "loop",
)
SETTINGS = (
    "",
    "=",
    "a",
    "a=",
    "=b",
    "seed=",
    "seed=1=2",
    "seed=\udcff",
    "\udcff=1",
    "jobs.99.ranks=4",
    "jobs.-1.ranks=1",
    "jobs.0=1",
    "jobs=[",
    "jobs.0.ranks=4.0",
    "run.threads=0",
    "run.threads=100000",
    "run.parts=3",
    "machine.torus.dims=[2,2]",
    "machine={}",
    "name=" + "x" * 70_000,
    "a." * 3000 + "b=1",
    "network.packet=1e300 B",
    "jobs.0.workload.stencil.message=1e-300 B",
)
NUMBERS = (
    "0",
    "-1",
    "1",
    "2",
    "1e3",
    "x",
    "",
    "nan",
    "inf",
    "9" * 30,
    "9223372036854775808",
    "1.5",
    "0x1",
    "\udcff",
)
LOADS = (
    "",
    "0",
    "0.1",
    "nan",
    "0.1,0.1",
    "1:0:0.1",
    "0:1:1e-12",
    "0.1:0.2:-1",
    "0.1:inf:0.1",
    "2",
    "0.1,,0.2",
    "\udcff",
)

Draw = Callable[[random.Random], list[str]]


def _of(choices: Sequence[str]) -> Callable[[random.Random], str]:
    return lambda lot: lot.choice(choices)


def _template(text: str) -> Draw:
    """A command line; words in capitals are drawn."""
    drawn = {"NAME": NAMES, "SET": SETTINGS, "NUMBER": NUMBERS, "LOADS": LOADS}
    drawn["OUT"] = ("out", "out", "deep/out", *NAMES)
    drawn["PICTURE"] = ("x.png", "x.svg", "x.pdf", "missing/x.png", "folder/x.png", "old.png", *NAMES)

    def draw(lot: random.Random) -> list[str]:
        words = []
        for word in text.split():
            before, sign, name = word.rpartition("=")
            words.append(before + sign + lot.choice(drawn[name]) if name in drawn else word)
        return words

    return draw


#: Command lines: template, and the output of a correct one.
COMMANDS: tuple[str, ...] = (
    "run scenario.toml -o OUT --quiet",
    "run scenario.toml -o OUT",
    "run scenario.toml -o out --set SET",
    "run NAME -o out --quiet",
    "run scenario.toml -o out --seed=NUMBER --quiet",
    "run scenario.toml -o out --threads=NUMBER --quiet",
    "run scenario.toml -o out --processes=NUMBER --baselines --json",
    "run scenario.toml -o OUT --resume --quiet",
    "check NAME",
    "check scenario.toml --set SET",
    "check scenario.toml --set SET --json",
    "check scenario.toml --seed=NUMBER",
    "describe NAME",
    "describe scenario.toml --export OUT",
    "describe scenario.toml --export OUT",
    "describe theta --export OUT",
    "summary NAME",
    "summary NAME --json",
    "compare result NAME",
    "compare NAME result",
    "compare result result --min=NUMBER",
    "trace info NAME",
    "trace info trace --matrix PICTURE",
    "trace lint NAME",
    "trace repeat trace --times=NUMBER -o made",
    "trace repeat trace -n 2 -o OUT",
    "trace convert NAME made",
    "trace merge NAME NAME made",
    "trace merge trace NAME made --offset=NUMBER",
    "trace convert trace OUT",
    "trace convert trace made --repeat=NUMBER",
    "trace convert trace made --compute-scale=NUMBER",
    "trace convert scenario.toml OUT --job=NAME",
    "workload check NAME",
    "workload compile x.ncptl --tasks=NUMBER",
    "workload compile NAME --tasks 2",
    "workload compile x.ncptl --tasks 2 -- NAME",
    "workload format NAME",
    "workload format NAME --check",
    "load-sweep scenario.toml --loads=LOADS -o OUT --processes 1 --quiet",
    "load-sweep sweep.toml --loads=LOADS -o out --processes 1 --quiet --max-samples 4",
    "load-sweep sweep.toml --loads 0.1 -o OUT --processes 1 --quiet --max-samples 4",
    "load-sweep sweep.toml --loads 0.1 --plot PICTURE --processes 1 --quiet --max-samples 4",
    "device bench NAME --accesses 10",
    "device bench seagate-st2000nx0253 --file=NUMBER --record=SET --accesses 10",
    "device bench intel-d3-s4510 --queue-depth=NUMBER --pattern random-mixed --reads=NUMBER --accesses 10",
    "device fit NAME --model rate",
    "device show NAME",
    "schema --tables --markdown",
    "NAME",
    "",
)

#: Correct command lines for hostile conditions.
RIGHT = (
    "run scenario.toml -o out",
    "run scenario.toml -o out --json",
    "check scenario.toml",
    "describe scenario.toml --json",
    "describe scenario.toml --export made",
    "summary result",
    "summary result --json",
    "compare result result --all",
    "trace info trace",
    "trace lint trace",
    "trace repeat trace -n 20 -o made",
    "trace convert trace made",
    "workload compile x.ncptl --tasks 4",
    "device bench cori-bb --accesses 100",
    "device show intel-d3-s4510",
    "workload format long.ncptl",
    "workload format long.ncptl --write",
    "schema",
)
SURROUNDINGS = ("closed output", "closed errors", "full output", "no reader", "full disk", "all closed")
#: Largest file on the full disk, in bytes.
DISK = 700
PATIENCE_S = 300

#: Options and arguments before the name of an output.
TARGETS = ("-o", "--export", "--matrix", "--plot")


class Commands(Campaign):
    """See the head of this file."""

    share = 0.8
    patience_s = 20.0

    def prepare(self) -> None:
        """Files that commands read."""
        fixtures.make_few(self.fixtures)

    def make(self, lot: random.Random, folder: Path) -> Trial:
        """A folder with a little of everything, and a command line."""
        shutil.copytree(self.fixtures, folder, dirs_exist_ok=True)
        (folder / "scenario.toml").write_text(SCENARIO)
        sweep = SCENARIO.partition("[[jobs]]")[0] + "[[jobs]]\nranks = 4\nworkload.uniform = { load = 0.1 }\n"
        (folder / "sweep.toml").write_text(sweep)
        (folder / "notes.txt").write_text("dear to somebody\n")
        (folder / "old.png").write_text("no picture\n")
        (folder / "x.ncptl").write_text(SOURCE)
        (folder / "long.ncptl").write_text(
            SOURCE[:-2] + " then\n" + "all   tasks synchronize then\n" * 60 + "all tasks synchronize.\n"
        )
        (folder / "folder").mkdir()
        (folder / "folder/notes.txt").write_text("dear to somebody\n")
        (folder / "loop").symlink_to("loop")
        about: dict[str, object] = {"surroundings": None}
        if lot.random() < 0.2:
            words = lot.choice(RIGHT).split()
            about["surroundings"] = lot.choice(SURROUNDINGS)
        else:
            words = _template(lot.choice(COMMANDS))(lot)
        about["words"] = words
        shown = (
            " ".join(shlex.quote(word) for word in words)
            .encode(errors="surrogateescape")
            .decode(errors="replace")
        )
        around = f"   # {about['surroundings']}" if about["surroundings"] else ""
        return Trial([f"odonata {shown}{around}"], about)

    def run(self, trial: Trial, folder: Path, announce: Announce) -> Verdict:
        """Runs the command, and checks its output."""
        words, around = list(trial.about["words"]), trial.about["surroundings"]
        announce(trial.commands[0])
        before = calls.contents(folder)
        if around is None:
            done = calls.command(folder, *words)
            codes: tuple[int, ...] = (
                (0, 1, 2, 3) if words[:2] in (["trace", "lint"], ["workload", "format"]) else (0, 2, 3)
            )
        else:
            done = _elsewhere(folder, words, around)
            # A failed write is an error of the computer; an unread pipe is no error.
            codes = (0, 1) if around == "full disk" or "output" in around or "all" in around else (0,)
        after = calls.contents(folder)
        # Output that was written stays, even if its message could not be printed.
        made_with = (0, 3) if around in (None, "full disk") else (0, 1, 3)
        if around is None and "No space left on device" in done.err:
            codes = (*codes, 1)
        found = calls.command_rules(
            done, before, after, makes=_target(words), codes=codes, made_with=made_with
        )
        if around is not None:
            if done.code == 1 and "nothing was written" in done.err and set(after) - set(before):
                found.append(
                    Finding("says that nothing was written", f"{done.command}: {set(after) - set(before)}")
                )
        else:
            found += _touched(before, after, words)
        ending = f"exit code {done.code}" if around is None else f"{around}: exit code {done.code}"
        return Verdict(ending, found)


def _target(words: list[str]) -> str | None:
    """The output that the command line names."""
    for option in TARGETS:
        if option in words and words.index(option) + 1 < len(words):
            return _plain(words[words.index(option) + 1])
    if words[:2] == ["trace", "convert"] and len(words) > 3:
        return _plain(words[3])
    if words[:2] == ["trace", "merge"] and len(words) > 4:
        return _plain(words[4])
    if words[:2] == ["workload", "format"] and "--write" in words:
        return words[2]
    if words[:1] == ["run"] and "-o" not in words:
        return "results"
    return None


def _plain(name: str) -> str | None:
    """The first folder of a path: all output lies in it."""
    return name.strip("/").partition("/")[0] or None


def _touched(before: dict[str, bytes], after: dict[str, bytes], words: list[str]) -> list[Finding]:
    """Files that were removed or changed without `--force`."""
    lost = [name for name in before if after.get(name) != before[name]]
    if not lost or "--write" in words:
        return []
    return [
        Finding("overwritten", f"odonata {' '.join(words)}: {', '.join(lost[:5])}", f"{words[0]} {words[-2]}")
    ]


def _elsewhere(folder: Path, words: list[str], around: str) -> calls.Transcript:
    """Runs the command in a process of its own, under hostile conditions."""
    command = [sys.executable, "-m", "odonata", *words]
    shell = {
        "closed output": "exec {} >&-",
        "closed errors": "exec {} 2>&-",
        "all closed": "exec {} <&- >&- 2>&-",
        "full output": "exec {} >/dev/full",
        "no reader": "{} | true; exit ${{PIPESTATUS[0]}}",
        "full disk": "exec {}",
    }[around].format(shlex.join(command))

    def limited() -> None:
        if around == "full disk":
            import resource

            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (DISK, DISK))

    # Files instead of pipes: the limit of file sizes would bound the messages.
    out, err = folder.parent / "out.txt", folder.parent / "err.txt"
    with out.open("wb") as to_out, err.open("wb") as to_err:
        pipes = subprocess.PIPE if around == "full disk" else None
        process = subprocess.Popen(
            ["bash", "-c", shell],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=pipes or to_out,
            stderr=pipes or to_err,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
            preexec_fn=limited,
        )
        try:
            output = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    texts = [part.decode(errors="replace") for part in output if part is not None]
    if not texts:
        texts = [out.read_text(errors="replace"), err.read_text(errors="replace")]
    for path in (out, err):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
    return calls.Transcript(tuple(words), process.returncode, texts[0], texts[1])
