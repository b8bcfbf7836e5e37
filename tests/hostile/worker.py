"""A process that carries out trials: `python -m hostile.worker CAMPAIGN SEED FIXTURES SCRATCH`.

It reads numbers of trials from standard input, a line each, and answers with lines of JSON: what it is
about to do, and the verdict. If it dies, its last line and what it wrote to standard error say of what.
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
    """Bounds the address space of this process: what asks for more fails, and takes nothing along."""
    try:
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        least = nbytes if hard == resource.RLIM_INFINITY else min(nbytes, hard)
        resource.setrlimit(resource.RLIMIT_AS, (least, hard))
    except (ImportError, OSError, ValueError):  # where there is no such limit
        pass


def carry_out(which: Campaign, trial: Trial, folder: Path, tell: Callable[[str], None]) -> Verdict:
    """Runs a trial; what escapes from it is a finding."""
    try:
        return which.run(trial, folder, tell)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Verdict("escaped", [failure("the trial", error)])


def serve(which: Campaign, name: str, seed: int, scratch: Path, answer: Callable[[Any], None]) -> None:
    """Carries out the trials whose numbers come in."""
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
    # Whatever prints goes to the file that standard error is; answers have a way of their own.
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(content: Any) -> None:
        lines.write(json.dumps(content) + "\n")
        lines.flush()

    which = campaign(name, Path(fixtures))
    # All that the trials import, before memory is short.

    limit_memory(which.memory)
    answer({"ready": True})
    serve(which, name, int(seed), Path(scratch), answer)


if __name__ == "__main__":
    main()
