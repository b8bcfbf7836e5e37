"""The inherited state of a process, made equal for all ways to start the tests.

`fix` sets the environment, the umask and the standard streams of the test process, which its commands
inherit, and makes this process read and write UTF-8. Signal handling belongs to the commands (`launcher.py`):
a suite in the background of a script continues to ignore Ctrl-C.
"""

from __future__ import annotations

import contextlib
import locale
import os

#: Variables that affect Python, Rich, Matplotlib, Jupyter, Dask, Slurm or an MPI library. * stands for any
#: ending. Without a locale, Python reads and writes UTF-8 (PEP 538 and PEP 540).
REMOVED = (
    *("CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"),
    *("COLUMNS", "LINES", "TERM"),
    *("LANG", "LANGUAGE", "LC_*"),
    *("PYTHON*", "RUST_BACKTRACE", "RUST_LIB_BACKTRACE"),
    *("MPLBACKEND", "MPLCONFIGDIR", "IPYTHONDIR", "JUPYTER_*", "DASK_*", "XDG_*"),
    *("OMPI_*", "PMI_*", "PMIX_*", "SLURM_*", "SBATCH_*"),
)  # fmt: skip

#: Default terminal of commands in tests. Rich assumes 80 columns for a dumb terminal.
PRINTED = {"COLUMNS": "110", "NO_COLOR": "1", "TERM": "xterm"}


def is_removed(name: str) -> bool:
    """Whether `fix` removes the variable."""
    return any(name.startswith(entry[:-1]) if entry.endswith("*") else name == entry for entry in REMOVED)


def fix() -> None:
    """Sets the environment, the umask, the encoding of files and the standard streams of this process."""
    for name in [name for name in os.environ if is_removed(name)]:
        del os.environ[name]
    os.umask(0o022)
    for name in ("C.UTF-8", "en_US.UTF-8"):
        # The default encoding of `open`.
        with contextlib.suppress(locale.Error):
            locale.setlocale(locale.LC_CTYPE, name)
            break
    for stream in (0, 1, 2):
        try:
            os.fstat(stream)
        except OSError:
            # The lowest free number is that of the closed stream.
            os.open(os.devnull, os.O_RDWR)
