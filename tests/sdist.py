"""Checks a source archive: `python tests/sdist.py dist/odonata-*.tar.gz`.

It has all files that a wheel is built from and only files of the repository, is small, and Cargo finds every
package of the workspace in it. Exit code: 0, or 1 with the errors.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: Entries at the top of the archive.
TOP = {
    *("CHANGELOG.md", "Cargo.lock", "Cargo.toml", "LICENSE", "PKG-INFO", "README.md", "crates", "examples"),
    *("pyproject.toml", "python"),
}

#: Largest archive and largest file, in bytes.
LARGEST_ARCHIVE = 4_000_000
LARGEST_FILE = 2_000_000


def check_files(archive: Path) -> None:
    """Checks that its files are those of the repository, including all required kinds."""
    with tarfile.open(archive) as packed:
        members = [member for member in packed.getmembers() if not member.isdir()]
    odd = [member.name for member in members if not member.isfile() or ".." in member.name.split("/")]
    sizes = {member.name.partition("/")[2]: member.size for member in members}
    known = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    odd += [name for name in sizes if name not in {*known, "PKG-INFO"}]
    if odd:
        sys.exit(f"{archive.name}: no plain files of the repository: {', '.join(odd)}")
    if found := {name.split("/")[0] for name in sizes} ^ TOP:
        sys.exit(f"{archive.name}: unexpected or missing: {', '.join(sorted(found))}")
    wanted = {
        name for name in known if re.match(r"(crates/[^/]+/[^/]+/(src|presets)/|python/|examples/)", name)
    }
    if missing := wanted - set(sizes):
        sys.exit(f"{archive.name}: missing: {', '.join(sorted(missing))}")
    large = [name for name, size in sizes.items() if size > LARGEST_FILE]
    if large or archive.stat().st_size > LARGEST_ARCHIVE:
        sys.exit(
            f"{archive.name}: {archive.stat().st_size:,} bytes; large files: {', '.join(large) or 'none'}"
        )
    print(f"{archive.name}: {archive.stat().st_size / 2**20:.1f} MiB, {len(sizes)} files")


def check_workspace(archive: Path) -> None:
    """Checks that Cargo reads all manifests, and that the lock file fits them."""
    with tempfile.TemporaryDirectory(prefix="odonata-sdist-") as folder, tarfile.open(archive) as packed:
        # Python 3.11.4 and later; `check_files` has refused what the filter would.
        packed.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        [source] = Path(folder).iterdir()
        done = subprocess.run(
            ["cargo", "metadata", "--locked", "--format-version", "1"],
            cwd=source,
            env=os.environ | {"CARGO_TERM_COLOR": "never"},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        sys.exit(f"{archive.name}: cargo does not read it:\n{done.stderr}")
    print(f"{archive.name}: cargo finds every package")


def main() -> None:
    """Every check, in turn."""
    [archive] = [Path(argument).resolve() for argument in sys.argv[1:]]
    check_files(archive)
    check_workspace(archive)


if __name__ == "__main__":
    main()
