"""Campaign: modified scenarios of the project, with `check` and with `run`.

A trial takes an example, a preset, a scenario of a study or a dense one. It changes keys, values, types,
units, structure or bytes, and passes it to `odonata.check` and to a run of some 100,000 events; one in six
also to the commands. The result may be invalid. In either case the trial can judge whether a refusal is a
good one, and a run complete.
"""

from __future__ import annotations

import random
import tomllib
from pathlib import Path

import odonata
from hostile import bases, calls, mutations, oracle, toml_writer
from hostile.campaign import Announce, Campaign, Trial, Verdict
from hostile.oracle import Finding

#: Events of a run; the command does not run larger ones.
EVENTS = 100_000
NAME = "scenario.toml"


class Scenarios(Campaign):
    """See the head of this file."""

    share = 1.2

    def make(self, lot: random.Random, folder: Path) -> Trial:
        """A changed scenario."""
        base = lot.choice(bases.small_bases() if lot.random() < 0.75 else bases.all_bases())
        tree = tomllib.loads(base.text)
        ways = []
        for _ in range(lot.choice([0, 1, 1, 1, 1, 1, 2, 2, 3, 6])):
            change = lot.choice(mutations.OF_TREES)
            change(tree, lot)
            ways.append(change.__name__)
        text = toml_writer.document(tree)
        if not ways or lot.random() < 0.04:
            text = mutations.damaged_text(text, lot)
            ways.append("text")
        content = text.encode(errors="surrogatepass")
        if lot.random() < 0.04:
            content = mutations.damaged_bytes(content, lot)
            ways.append("bytes")
        (folder / NAME).write_bytes(content)
        for name, beside in base.files.items():
            (folder / name).write_bytes(beside)
        by_command = lot.random() < 1 / 6
        commands = [f"odonata check {NAME}", f"odonata run {NAME} -o out"]
        return Trial(commands, {"base": base.name, "ways": ways, "by_command": by_command})

    def run(self, trial: Trial, folder: Path, announce: Announce) -> Verdict:
        """`check`, then a run."""
        before = calls.contents(folder)
        scenario = folder / NAME
        announce("check")
        checked = oracle.attempt("check", lambda: odonata.check(scenario))
        announce("run")
        ran = oracle.attempt(
            "run",
            lambda: calls.simulate(
                scenario, EVENTS, tables=None if trial.about["by_command"] else ["jobs", "ranks"]
            ),
        )
        found = [finding for finding in (checked.finding, ran.finding) if finding]
        if checked.refusal is not None:
            found += oracle.refusal_rules("check", checked.refusal, before)
        if ran.refusal is not None and str(ran.refusal) != str(checked.refusal):
            found += oracle.refusal_rules("run", ran.refusal, before)
        found += oracle.agreement_rules(checked, ran)
        ending = "crashed"
        if ran.value is not None:
            ending = ran.value.outcome
            found += oracle.outcome_rules("run", ran.value.run)
            if ran.value.finished:
                sent: dict[str, int] = {}
                for row in calls.rows(ran.value, "ranks"):
                    sent[row["job"]] = sent.get(row["job"], 0) + row["messages_sent"]
                found += oracle.whole_rules("run", ran.value.run, calls.rows(ran.value, "jobs"), sent)
        elif ran.refusal is not None:
            ending = "refused"
        if trial.about["by_command"]:
            announce("the command check")
            found += _by_command(folder, before, "check", NAME)
            if ran.value is None or ran.value.finished:
                announce("the command run")
                found += _by_command(folder, before, "run", NAME, "-o", "out")
        elif (after := calls.contents(folder)) != before:
            changed = sorted(set(after) ^ set(before)) or ["a file was changed"]
            found.append(Finding("left behind", f"check and run: {', '.join(changed)}"))
        return Verdict(ending, found)


def _by_command(folder: Path, before: dict[str, bytes], *arguments: str) -> list[Finding]:
    done = calls.command(folder, *arguments)
    after = calls.contents(folder)
    made = "out" if arguments[0] == "run" else None
    return calls.command_rules(done, before, after, makes=made)
