"""The highest resident size of a command, getrusage(2): `peak_memory.py FILE COMMAND...` fills FILE, bytes.

In a small process of its own: what a child is forked from counts as its own.
"""

import resource
import subprocess
import sys
from pathlib import Path


def main() -> int:
    file, *command = sys.argv[1:]
    code = subprocess.run(command, check=False).returncode
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    Path(file).write_text(str(peak * (1 if sys.platform == "darwin" else 1024)), encoding="ascii")
    return code


if __name__ == "__main__":
    sys.exit(main())
