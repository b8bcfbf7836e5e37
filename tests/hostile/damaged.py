"""Campaign: damaged files, in every format that is read.

DUMPI and Chakra traces, Darshan logs, programs in files and in coNCePTuaL, graphs, results, unfinished runs:
`fixtures.py` makes intact ones, and one file is damaged (`damage.py`). Commands that read such files get some
of them. A command must not silently accept a file that is cut or extended if the format states its length.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import odonata
from hostile import calls, fixtures, oracle
from hostile.campaign import Announce, Campaign, Trial, Verdict
from hostile.damage import changed, damage
from hostile.oracle import Finding

#: Kind of file, and the commands that read it.
KINDS: dict[str, tuple[str, ...]] = {
    "trace": (
        "trace info trace",
        "trace info trace --json",
        "trace lint trace",
        "trace lint trace",
        "trace repeat trace -n 2 -o made",
        "trace convert trace made",
        "run scenario.toml -o made --quiet",
        "check scenario.toml",
    ),
    "program": (
        "trace info x.program",
        "trace lint x.program",
        "trace convert x.program made",
        "run scenario.toml -o made --quiet",
        "check scenario.toml",
    ),
    "log": (
        "trace info x.darshan",
        "trace info x.darshan --json",
        "trace lint x.darshan",
        "trace convert x.darshan made",
        "trace convert x.darshan made --interface mpi-io --incomplete",
    ),
    "training": (
        "trace info x.0.et",
        "trace info x.0.et --json",
        "trace lint x.0.et",
        "trace convert x.0.et made",
        "trace convert x.0.et made --ranks 3",
    ),
    "gpus": (
        "trace info x.sqlite",
        "trace info x.sqlite --json",
        "trace lint x.sqlite",
        "trace convert x.sqlite made --incomplete",
        "trace convert x.sqlite made --bytes-from-time 100GB/s",
    ),
    "text": (
        "workload check x.ncptl",
        "workload check x.ncptl --strict --json",
        "workload format x.ncptl",
        "workload format x.ncptl --check",
        "workload compile x.ncptl --tasks 3",
        "workload compile x.ncptl --tasks 8 --json",
        "check scenario.toml",
    ),
    "graph": ("describe scenario.toml", "check scenario.toml", "run scenario.toml -o made --quiet"),
    "xml": ("describe scenario.toml --routing", "check scenario.toml", "run scenario.toml -o made --quiet"),
    "result": (
        "summary result",
        "summary result --json",
        "compare result other",
        "compare other result --all --json",
    ),
    "unfinished": ("run scenario.toml -o out --resume --quiet",),
}
#: Frequency of each kind.
OFTEN = {
    "trace": 6,
    "program": 6,
    "log": 3,
    "training": 3,
    "gpus": 3,
    "text": 4,
    "graph": 2,
    "xml": 2,
    "result": 8,
    "unfinished": 1,
}

#: Commands that report an invalid input by exit code 1.
JUDGES = ("trace lint", "workload format")
#: Errors that the documentation of `Results` names.
DOCUMENTED = ("no table", "no slowdowns", "no blame")


class Damaged(Campaign):
    """See the head of this file."""

    share = 1.0
    patience_s = 20.0

    def prepare(self) -> None:
        """Makes intact files of all kinds."""
        fixtures.make(self.fixtures)

    def make(self, lot: random.Random, folder: Path) -> Trial:
        """A copy of intact files, one of them damaged."""
        kind = lot.choices(list(OFTEN), list(OFTEN.values()))[0]
        shutil.copytree(self.fixtures / kind, folder, dirs_exist_ok=True)
        if kind == "text":
            texts = sorted(folder.glob("*.ncptl"))
            lot.choice(texts).rename(folder / "x.ncptl")
            for path in texts:
                path.unlink(missing_ok=True)
        path = lot.choice(_files(kind, folder))
        before = path.read_bytes()
        way = damage(path, lot)
        after = path.read_bytes() if path.is_file() else b""
        commands = lot.sample(KINDS[kind], min(3, len(KINDS[kind])))
        about = {
            "kind": kind,
            "file": str(path.relative_to(folder)),
            "way": way if changed(before, after) else "nothing",
            "commands": [command.split() for command in commands],
        }
        return Trial([f"odonata {command}" for command in commands], about)

    def run(self, trial: Trial, folder: Path, announce: Announce) -> Verdict:
        """Runs some commands, and for results also functions of the package."""
        about = trial.about
        found: list[Finding] = []
        codes = set()
        for arguments in about["commands"]:
            announce(" ".join(arguments))
            before = calls.contents(folder)
            done = calls.command(folder, *arguments)
            after = calls.contents(folder)
            codes.add(done.code)
            found += self._rules(done, before, after, about)
            for made in ("made", "out"):
                shutil.rmtree(folder / made, ignore_errors=True)
            if about["kind"] == "unfinished":
                break
        if about["kind"] == "result":
            announce("odonata.load")
            found += _load_rules(folder / "result")
        ending = "refused" if 2 in codes else "judged" if 1 in codes else "taken"
        return Verdict(f"{ending} ({about['kind']})", found)

    def _rules(
        self, done: calls.Transcript, before: dict[str, bytes], after: dict[str, bytes], about: dict[str, str]
    ) -> list[Finding]:
        arguments = done.arguments
        judged = " ".join(arguments).startswith(JUDGES)
        kind, file, way = about["kind"], about["file"], about["way"]
        makes = "made" if "made" in arguments else "out" if "out" in arguments else None
        known = {name: content for name, content in before.items() if not name.startswith(".out.unfinished")}
        still = {name: content for name, content in after.items() if not name.startswith(".out.unfinished")}
        found = calls.command_rules(
            done, known, still, makes=makes, codes=(0, 1, 2, 3) if judged else (0, 2, 3)
        )
        if found:
            return found
        text = done.out + done.err
        if (
            done.code == 2
            and way != "nothing"
            and Path(file).name not in text
            and Path(file).parent.name not in text
        ):
            seen = f"{done.command} ({file}, {way}): {text.strip()}"
            found.append(Finding("damaged file is not named", seen, f"{kind}: {text.strip()[:60]}"))
        if done.code == 0 and way in ("cut", "extended") and self._can_tell(kind, file, arguments, after):
            cause = f"{kind}: {' '.join(arguments[:2]) if arguments[0] == 'trace' else arguments[0]}, {way}"
            found.append(Finding("taken in silence", f"{done.command}: {file}, {way}\n{text[:1000]}", cause))
        return found

    def _can_tell(self, kind: str, file: str, arguments: tuple[str, ...], after: dict[str, bytes]) -> bool:
        """Whether this command must notice that the length of this file has changed."""
        if kind == "trace" and file.endswith(".bin"):
            if arguments[:2] == ("trace", "lint"):
                return True
            # A replay covers the whole file, or the run reports otherwise.
            return arguments[0] == "run" and self._differs(kind, after)
        if kind == "log":
            return "--incomplete" not in arguments
        if kind == "program":
            return file.endswith(".parquet")
        return kind == "result" and file == "result/run.json"

    def _differs(self, kind: str, after: dict[str, bytes]) -> bool:
        whole = json.loads((self.fixtures / "digests.json").read_text())[kind]
        return bool(json.loads(after["made/run.json"])["digest"] != whole)


def _files(kind: str, folder: Path) -> list[Path]:
    """The files of a kind that can be damaged."""
    if kind == "result":
        files = [path for path in (folder / "result").rglob("*") if path.is_file()]
        # As often as all tables together.
        return sorted(files) + [folder / "result/run.json"] * (len(files) // 2)
    if kind == "unfinished":
        files = [
            path for path in (folder / ".out.unfinished").rglob("*") if path.is_file() and path.stat().st_size
        ]
        return sorted(files)
    of = {
        "trace": "trace/*",
        "program": "x.program/*",
        "log": "x.darshan",
        "training": "x.0.et",
        "gpus": "x.sqlite",
        "text": "x.ncptl",
        "graph": "*.txt",
        "xml": "*.xml",
    }
    return sorted(path for path in folder.glob(of[kind]) if path.is_file())


def _load_rules(folder: Path) -> list[Finding]:
    """Whether the package raises its documented errors for a damaged result."""

    def using(call: Callable[[], object]) -> list[Finding]:
        try:
            call()
        except odonata.InputError:
            return []
        except KeyError as error:
            if str(error.args[0]).startswith(DOCUMENTED):
                return []
            return [oracle.failure("odonata.load", error)]
        except BaseException as error:
            # Errors of the system are passed on; libraries have no number for theirs.
            if isinstance(error, OSError) and error.errno is not None:
                return []
            return [oracle.failure("odonata.load", error)]
        return []

    loaded: list[odonata.Results] = []
    found = using(lambda: loaded.append(odonata.load(folder)))
    for results in loaded:
        found += using(lambda results=results: results.outcome)  # type: ignore[misc]
        found += using(lambda results=results: results.failed_baselines)  # type: ignore[misc]
        found += using(lambda results=results: repr(results.baselines))  # type: ignore[misc]
        found += using(lambda results=results: results.slowdown())  # type: ignore[misc]
        found += using(lambda results=results: results.blame_matrix())  # type: ignore[misc]
        for name in results.tables:
            found += using(lambda results=results, name=name: results.rows(name))  # type: ignore[misc]
    return found
