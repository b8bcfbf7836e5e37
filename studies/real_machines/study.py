"""Measures the numbers of docs/real-machines.md, and writes the page.

    study.py quick      pairs of nodes of two machines: seconds
    study.py agreement  repeats measured collectives, and records how far off the presets are: an hour
    study.py ablation   repeats some of them without one mechanism at a time: ABLATION.md, ten minutes
    study.py page       writes docs/real-machines.md and its figure from the results stored here and in others

Exit code: 0; 2 if the arguments are wrong; 130 if it was interrupted.
"""

from __future__ import annotations

import argparse

# First: it puts the tools of all studies on the module path.
from real_machines_study import ablation, agreement, figure, pingpong, table  # isort: skip

from study_tools import command


def main() -> int:
    arguments = parse()
    if arguments.what == "page":
        table.PAGE.write_text(table.text(), encoding="utf-8")
        print(f"written: {table.PAGE}")
        figure.FIGURE.write()
        return 0
    if arguments.what == "agreement":
        agreement.record()
        print(f"written: {agreement.RECORD}")
        return 0
    if arguments.what == "ablation":
        found = []
        for name, by in ablation.measure():
            found.append((name, by))
            print(name, *(f"{preset} {one.shown()}" for preset, one in by.items()), sep="; ", flush=True)
        ablation.PAGE.write_text(ablation.text(found), encoding="utf-8")
        print(f"written: {ablation.PAGE}")
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
    parser.add_argument("what", choices=["quick", "agreement", "ablation", "page"])
    parser.add_argument("--store", action="store_true", help="keep what was measured for the page")
    return parser.parse_args()


if __name__ == "__main__":
    command.run(main)
