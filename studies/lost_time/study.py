"""Compares the times alone that lost time predicts with the true ones.

    study.py cases [NAME ...]   the cases with one of these in their names, default: all (minutes)
    study.py page               renews docs/lost-time-accuracy.md and its figure from the stored results

Exit code: 0; 2 if the arguments are wrong; 130 if it was interrupted.
"""

from __future__ import annotations

import argparse

# First: it puts the tools of all studies on the module path.
from lost_time_study import HERE, cases, figure, measure, table, wave  # isort: skip

from study_tools import command


def main() -> int:
    arguments = parse()
    if arguments.what == "page":
        table.PAGE.write_text(table.text(), encoding="utf-8")
        print(f"written: {table.PAGE}")
        figure.FIGURE.write()
        return 0
    trace = HERE / "data" / "wave.goal"
    trace.write_text(wave.schedule(), encoding="utf-8")
    every = list(cases.cases())
    chosen = [case for case in every if not arguments.names or any(of in case.name for of in arguments.names)]
    kept = measure.read(table.DATA) if table.DATA.exists() else []
    for case in chosen:
        found = measure.run(case)
        for one in found:
            print(
                f"{one.case}, {one.job}: slower by {100 * one.slowdown:+.1f}%, error {100 * one.error:+.1f}%",
                flush=True,
            )
        kept = [one for one in kept if one.case != case.name] + found
        if arguments.store:
            order = [of.name for of in every]
            kept.sort(key=lambda one: order.index(one.case))
            measure.write(table.DATA, kept)
    return 0


def parse() -> argparse.Namespace:
    description, _, rest = str(__doc__).partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["cases", "page"])
    parser.add_argument("names", nargs="*", help="of cases, or parts of these")
    parser.add_argument("--store", action="store_true", help="keep what was measured for the page")
    return parser.parse_intermixed_args()


if __name__ == "__main__":
    command.run(main)
