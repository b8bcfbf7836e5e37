"""Measures the comparison of docs/validation.md with real machines, and renews its table.

    study.py quick      pairs of nodes of two machines: seconds
    study.py page       renews docs/validation.md from the results stored here, in tpds2016, gpcnet and theta

Exit code: 0; 2 if the arguments are wrong; 130 if it was interrupted.
"""

from __future__ import annotations

import argparse
import sys

# First: it puts the tools of all studies on the module path.
from real_machines_study import STUDIES, pingpong, table  # isort: skip

from study_tools import command

sys.path.append(str(STUDIES / "booksim"))


def main() -> int:
    arguments = parse()
    if arguments.what == "page":
        import report
        import validate

        table.SECTION.write_text(table.text(), encoding="utf-8")
        docs, stored = STUDIES.parent / "docs", validate.HERE / "validation.json"
        report.rewrite(stored, docs, validate.STEEP, validate.ENOUGH)
        print(f"written: {table.SECTION}, docs/validation.md")
        return 0
    times = pingpong.measure()
    for time in times:
        print(f"{time.machine}, {time.distance}, {time.bytes} B: {1e6 * time.seconds:.2f} us")
    if arguments.store:
        pingpong.write(table.DATA, times)
        print(f"kept: {table.DATA}")
    return 0


def parse() -> argparse.Namespace:
    description, _, rest = str(__doc__).partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["quick", "page"])
    parser.add_argument("--store", action="store_true", help="keep what was measured for the page")
    return parser.parse_args()


if __name__ == "__main__":
    command.run(main)
