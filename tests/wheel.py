"""Checks a wheel: `python tests/wheel.py dist/odonata-*.whl manylinux_2_28` (or linux: one for the machine
that built it).

It is one file for every Python from 3.11 on, for the platform in its name and no newer one, and stripped. It
installs into an empty virtual environment and runs the demo with the recorded result, unless it is for other
processors. Exit code: 0, or 1 with the errors.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from io import BytesIO
from pathlib import Path

from elftools.elf.elffile import ELFFile

ROOT = Path(__file__).parents[1]
DEMO = "example/interference"


def glibc(tag: str) -> tuple[int, int]:
    """The version of glibc that a platform tag requires.

    >>> glibc("manylinux_2_28_x86_64")
    (2, 28)
    """
    found = re.search(r"manylinux_(\d+)_(\d+)", tag)
    if found is None:
        sys.exit(f"{tag} is no manylinux tag")
    return int(found[1]), int(found[2])


def check_platform(wheel: Path, wanted: str) -> None:
    """Checks that the name has the requested platform, and that auditwheel confirms it."""
    tag = re.fullmatch(r"odonata-[\w.]+-cp311-abi3-([\w.]+)\.whl", wheel.name)
    if tag is None or wanted not in tag[1]:
        sys.exit(f"{wheel.name}: expected odonata-VERSION-cp311-abi3-{wanted}_MACHINE.whl")
    if wanted == "linux":
        print(f"{wheel.name}: for this machine alone")
        return
    audit = [sys.executable, "-m", "auditwheel", "show", str(wheel)]
    output = subprocess.run(audit, capture_output=True, text=True, check=True).stdout
    found = re.search(r'consistent with the\s+following platform tag: "(\w+)"', " ".join(output.split()))
    if found is None or glibc(found[1]) > glibc(wanted):
        sys.exit(f"{wheel.name}: auditwheel says\n{output}")
    print(f"{wheel.name}: runs on {found[1]} and later")


def check_stripped(wheel: Path) -> None:
    """Checks that it has only the symbols that Python needs, and none for debuggers."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".so")]
        library = archive.read(name)
    sections = {section.name for section in ELFFile(BytesIO(library)).iter_sections()}
    left = {name for name in sections if name == ".symtab" or name.startswith(".debug")}
    if left:
        sys.exit(f"{wheel.name}: {name} has {', '.join(sorted(left))}")
    size, packed = len(library) / 2**20, wheel.stat().st_size / 2**20
    print(f"{wheel.name}: {packed:.1f} MiB, {name} {size:.1f} MiB")


def check_demo(wheel: Path) -> None:
    """Checks that it installs into an empty environment, and that the demo has the same result there."""
    recorded = json.loads((ROOT / "tests/digests/expected.json").read_text())[DEMO]["digest"]
    with tempfile.TemporaryDirectory(prefix="odonata-wheel-") as folder:
        place = Path(folder)
        venv.create(place / "venv", with_pip=True)
        begun = time.monotonic()
        pip = [place / "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)]
        subprocess.run(pip, check=True)
        installed = time.monotonic() - begun
        demo = [place / "venv/bin/odonata", "run", ROOT / "examples/interference.toml", "-o", "out", "--json"]
        done = subprocess.run(demo, cwd=place, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            subprocess.run([place / "venv/bin/odonata", "report", "out"], cwd=place, check=True)
    if done.returncode != 0:
        sys.exit(f"{wheel.name}: the demo ends with exit code {done.returncode}:\n{done.stderr}")
    digest = json.loads(done.stdout)["digest"]
    if digest != recorded:
        sys.exit(f"{wheel.name}: the demo has the digest {digest}, recorded is {recorded}")
    print(f"{wheel.name}: installed in {installed:.1f} s, what it needs included; the demo has its digest")


def main() -> None:
    """Every check, in turn."""
    wheel, wanted = Path(sys.argv[1]).resolve(), sys.argv[2]
    check_platform(wheel, wanted)
    check_stripped(wheel)
    if wheel.stem.endswith(f"_{platform.machine()}"):
        check_demo(wheel)
    else:
        print(f"{wheel.name}: not installed and not run, this computer is {platform.machine()}")


if __name__ == "__main__":
    main()
