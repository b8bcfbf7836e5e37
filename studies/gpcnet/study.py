"""Runs GPCNeT and the Slingshot paper's map of victims, and compares them with measured machines.

    study.py quick      the canaries beside all congestors, under each congestion control: minutes
    study.py full       the map as well
    study.py page       renews README.md, APPENDIX.md and the figure from the results of --store

Results go to results/gpcnet: a row per run in rows.parquet, verdicts in claims.csv.

Exit code: 0, whatever the verdicts are; 2 if the arguments are wrong; 130 if it was interrupted.
"""

from __future__ import annotations

import argparse
from pathlib import Path

# First: it puts the tools of all studies on the module path.
from gpcnet_study import cells, figures, measures, page  # isort: skip

from study_tools import command, pages, parquet, verdicts


def main() -> int:
    arguments = parse()
    if arguments.what == "page":
        figures.draw(page.FIGURES, page.stored())
        pages.write(page.texts())
        return 0
    wanted = [*cells.gpcnet(), *(cells.victim_map() if arguments.what == "full" else ())]
    found = []
    for number, cell in enumerate(wanted, start=1):
        found.append(measures.run(cell))
        print(f"{number} of {len(wanted)}: {found[-1].name}: {1e6 * found[-1].mean_s:.2f} us", flush=True)
    judged = page.judge(found)
    print(verdicts.overview(judged).text())
    arguments.out.mkdir(parents=True, exist_ok=True)
    parquet.write(arguments.out / "rows.parquet", measures.Row, found)
    verdicts.write_csv(arguments.out / "claims.csv", judged)
    print(f"written: {arguments.out}/rows.parquet, claims.csv")
    if arguments.store:
        parquet.write(page.DATA, measures.Row, found)
        print(f"kept: {page.DATA}")
    return 0


def parse() -> argparse.Namespace:
    description, _, rest = str(__doc__).partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["quick", "full", "page"])
    parser.add_argument("--store", action="store_true", help="keep what was measured for the page")
    parser.add_argument(
        "--out", type=Path, default=Path("results/gpcnet"), metavar="DIR", help="[%(default)s]"
    )
    return parser.parse_args()


if __name__ == "__main__":
    command.run(main)
