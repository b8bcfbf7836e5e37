"""Packages that some features need and the plain install does not bring.

`require` imports one of them, or raises a `MissingPackage` with the feature that needs it and the `pip
install` line that brings it. Python code can catch it as an `ImportError`; a command ends with exit code 2.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

from odonata.errors import InputError

#: Module -> the name that `pip install` takes, where it differs.
INSTALLED_BY = {
    "dask_jobqueue": "distributed dask-jobqueue",
    "distributed": "distributed dask-jobqueue",
    "google": "protobuf",
}


class MissingPackage(InputError, ImportError):
    """A package that a feature needs is not installed, or cannot be imported.

    >>> print(MissingPackage("a picture needs the package matplotlib", hint="pip install matplotlib"))
    a picture needs the package matplotlib
      hint      pip install matplotlib
    """


def require(module: str, user: str, **place: Any) -> Any:
    """Imports `module`, such as `scipy.stats`, for the feature `user`.

    Args:
        place: Further facts for `MissingPackage`: file, key, value.

    >>> require("math", "arithmetic").floor(1.5)
    1
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise _missing(module, error, user, place) from None


def find(module: str, user: str, **place: Any) -> None:
    """Looks for a module that another process will import; raises as `require`."""
    if importlib.util.find_spec(module) is None:
        raise _missing(module, ModuleNotFoundError(name=module), user, place)


def missing(error: ImportError) -> MissingPackage | None:
    """The error to show for a failed import, if `pip` can install the package.

    >>> missing(ModuleNotFoundError("No module named 'numpy'", name="numpy")).hint
    'pip install numpy'
    >>> missing(ModuleNotFoundError("No module named 'odonata.nothing'", name="odonata.nothing"))
    """
    module = _root(error.name or "")
    if module in ("", "odonata") or module in sys.stdlib_module_names:
        return None
    return _missing(module, error, "this command", {})


def _root(module: str) -> str:
    return module.partition(".")[0]


def _missing(module: str, error: ImportError, user: str, place: dict[str, Any]) -> MissingPackage:
    package = _root(module).replace("_", "-")
    text = user + f" needs the package {package}, which"
    if not isinstance(error, ModuleNotFoundError):
        # The package is there but, for example, built for another version of a dependency.
        problem = text + f" cannot be imported: {' '.join(str(error).split())}"
        return MissingPackage(problem, hint=f"pip install --force-reinstall {_installed_by(module)}", **place)
    absent = _root(error.name or module)
    if absent != _root(module):
        text += f" needs {absent}, which"
    return MissingPackage(text + " is not installed", hint=f"pip install {_installed_by(absent)}", **place)


def _installed_by(module: str) -> str:
    return INSTALLED_BY.get(_root(module), _root(module).replace("_", "-"))
