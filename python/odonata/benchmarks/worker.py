"""The process of one run of `odonata bench --parallel`.

`parallel.py` starts it. It reads one JSON object from standard input (case, quick, overrides) and answers
with the figures of the core, or with an error, as one JSON object.
"""

from __future__ import annotations

import json
import sys

from odonata import _core
from odonata.errors import InputError, input_errors


def main() -> None:
    """Runs the request on standard input."""
    request = json.loads(sys.stdin.read())
    try:
        with input_errors():
            print(_core.bench_case(request["case"], request["quick"], request["overrides"]))
    except InputError as error:
        print(json.dumps({"error": str(error)}))


if __name__ == "__main__":
    main()
