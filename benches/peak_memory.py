"""The largest resident size of a command, getrusage(2): `peak_memory.py FILE COMMAND...` fills FILE, bytes.

It is a small process of its own: the memory of the process that forks a child counts for the child.
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
