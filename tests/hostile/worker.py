"""A process that runs trials: `python -m hostile.worker CAMPAIGN SEED FIXTURES SCRATCH`.

It reads numbers of trials from standard input, a line each, and answers with lines of JSON: its next step,
and the verdict. If it dies, its last line and its standard error show the cause.
"""

from __future__ import annotations

import faulthandler
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hostile.campaign import Campaign, Trial, Verdict, campaign, lot_of
from hostile.oracle import failure, text_rules


def limit_memory(nbytes: int) -> None:
    """Bounds the address space of this process, so that large allocations fail."""
    try:
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        least = nbytes if hard == resource.RLIM_INFINITY else min(nbytes, hard)
        resource.setrlimit(resource.RLIMIT_AS, (least, hard))
    except (ImportError, OSError, ValueError):  # no such limit on this system
        pass


def carry_out(which: Campaign, trial: Trial, folder: Path, announce: Callable[[str], None]) -> Verdict:
    """Runs a trial; an exception is a finding."""
    try:
        return which.run(trial, folder, announce)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Verdict("escaped", [failure("the trial", error)])


def serve(which: Campaign, name: str, seed: int, scratch: Path, answer: Callable[[Any], None]) -> None:
    """Runs the trials whose numbers arrive."""
    read = 0
    for line in sys.stdin:
        number = int(line)
        folder = scratch / "trial"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        began = time.process_time()
        answer({"doing": "make"})
        trial = which.make(lot_of(seed, name, number), folder)
        if trial.endless:
            answer({"endless": True})
        random.seed(0)
        verdict = carry_out(which, trial, folder, lambda what: answer({"doing": what}))
        sys.stderr.flush()
        content = Path(os.environ["HOSTILE_STDERR"]).read_bytes()
        written, read = content[read:].decode(errors="replace"), len(content)
        # A caught panic is still a panic.
        if not any(finding.rule == "panic" for finding in verdict.findings):
            verdict.findings += text_rules("native code", written)
        answer(
            {
                "number": number,
                "ending": verdict.ending,
                "findings": [[finding.rule, finding.seen, finding.cause] for finding in verdict.findings],
                "cpu_s": time.process_time() - began,
            }
        )


def main() -> None:
    """Entry point."""
    name, seed, fixtures, scratch = sys.argv[1:]
    faulthandler.enable()
    # Other output goes to the file of standard error; answers have a stream of their own.
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(content: Any) -> None:
        lines.write(json.dumps(content) + "\n")
        lines.flush()

    which = campaign(name, Path(fixtures))
    # Imports of the trials, before memory is limited.

    limit_memory(which.memory)
    answer({"ready": True})
    serve(which, name, int(seed), Path(scratch), answer)


if __name__ == "__main__":
    main()
