"""The host of every worker of `reader_process`: bounds on its process, reading, and a final file.

`python reader_worker.py WORKER PATH FOLDER DONE MEMORY CPU`: WORKER is a script with the functions `load`,
which imports the reading package, and `read(path, folder)`, which returns the content of the file DONE in the
folder. MEMORY and CPU bound address space in bytes and CPU time in seconds. This process imports nothing of
Odonata.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import sys
from pathlib import Path
from types import ModuleType


def limit(what: int, most: int) -> None:
    """Lowers a limit of this process, unless it is lower already."""
    hard = resource.getrlimit(what)[1]
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (least, least))


def script(path: str) -> ModuleType:
    """The functions of the script at `path`."""
    spec = importlib.util.spec_from_file_location("worker", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> int:
    """Runs the worker."""
    worker, path, folder, done = script(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4]
    memory, seconds = int(sys.argv[5]), int(sys.argv[6])
    limit(resource.RLIMIT_CPU, seconds)
    # Library messages go there: the worker reads them, and the parent does if this process crashes.
    log = os.open(folder / "complaints", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 2)
    # A core file would be as large as the memory.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    worker.load()
    # Imported libraries take address space independent of the file.
    if sys.platform == "linux":
        limit(resource.RLIMIT_AS, memory)
    try:
        found = worker.read(path, folder)
    except MemoryError:
        print("memory", flush=True)
        return 1
    written = folder / f"{done}.partial"
    written.write_text(json.dumps(found), encoding="utf-8")
    written.rename(folder / done)
    # Closing the file or ending the interpreter must not undo the success.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
