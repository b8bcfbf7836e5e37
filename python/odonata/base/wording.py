"""Numbers for people: three significant digits and a fitting unit."""

from __future__ import annotations

import math
import re

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps"))
_SIZES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
_COUNTS = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))

#: Overlapping parts of a rank's time get an explanation if they add up to more than this multiple of it.
MUCH = 1.02
SIDE_BY_SIDE = (
    "Concurrent activities of a rank each count in full, so parts may add up to more than its time."
)

#: A space without a line break.
UNBROKEN = "\N{NO-BREAK SPACE}"
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:[kKMGTP]i?B(?:/s)?|B(?:/s)?|[mun\u00b5p]?s|min|h|[kMG])(?!\w))")


def with_units(text: str) -> str:
    """`text` with unbreakable spaces between numbers and their units.

    >>> with_units("9% of 12 ms, on 3 links, at 25 GiB/s").split(" ")
    ['9%', 'of', '12\\xa0ms,', 'on', '3', 'links,', 'at', '25\\xa0GiB/s']
    """
    return _BEFORE_UNIT.sub(UNBROKEN, text)


def digits(value: float) -> str:
    """`value` with three significant digits, without an exponent.

    >>> digits(1234.6), digits(12.345), digits(0.01234), digits(5.0)
    ('1235', '12.3', '0.0123', '5')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "-"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def duration(seconds: float | None) -> str:
    """A time, in seconds, with a fitting unit.

    >>> duration(0.0123), duration(1.4e-6), duration(95), duration(0), duration(None)
    ('12.3 ms', '1.4 us', '95 s', '0 s', '-')
    >>> duration(3725), duration(7.62e-12), duration(1e-18)
    ('1 h 02 min', '7.62 ps', '< 1 ps')
    """
    if seconds is None or not math.isfinite(seconds):
        return "-"
    if seconds >= 3600:
        return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60):02} min"
    if seconds >= 120:
        return f"{int(seconds // 60)} min {int(seconds % 60):02} s"
    for scale, unit in _TIMES:
        # Half a unit in the third digit below, so that 999.7 us reads 1 ms.
        if seconds >= scale * 0.9995:
            return f"{digits(seconds / scale)} {unit}"
    # Simulated times are whole picoseconds; shares of them may be smaller.
    return "0 s" if seconds == 0 else "< 1 ps"


def size(count: float | None) -> str:
    """A size, in bytes, with a fitting binary unit.

    >>> size(4096), size(5.5 * 2**30), size(0), size(12)
    ('4 KiB', '5.5 GiB', '0 B', '12 B')
    """
    if count is None or not math.isfinite(count):
        return "-"
    for scale, unit in _SIZES:
        if count >= scale:
            return f"{digits(count / scale)} {unit}"
    return "0 B"


def setting_size(count: float) -> str:
    """A size as in a scenario: with the unit, binary or decimal, that makes it short.

    >>> setting_size(400e6), setting_size(2**20), setting_size(1.5e9), setting_size(1000)
    ('400 MB', '1 MiB', '1.5 GB', '1 kB')
    >>> setting_size(123456789.0)
    '118 MiB'
    """
    units = [*_SIZES[:-1], (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")]
    exact = [f"{count / scale:.10g} {unit}" for scale, unit in units if count >= scale]
    shortest = min(exact, key=len, default="0 B")
    return shortest if len(shortest) <= len("123.45 MiB") else size(count)


def rate(value: float) -> str:
    """A count or a count per second.

    >>> rate(12_345_678), rate(4_500), rate(7)
    ('12.3 M', '4.5 k', '7')
    """
    for scale, unit in _COUNTS:
        if value >= scale:
            return f"{digits(value / scale)} {unit}".rstrip()
    return digits(value)


def share(part: float, whole: float) -> str:
    """`part` of `whole` in percent.

    >>> share(1, 4), share(1, 0), share(0.0001, 1)
    ('25%', '-', '<1%')
    """
    if whole <= 0:
        return "-"
    percent = 100 * part / whole
    return "<1%" if 0 < percent < 0.5 else f"{percent:.0f}%"


def sentence_case(text: str) -> str:
    """`text` with a capital first letter.

    >>> sentence_case("training took 3 s"), sentence_case("3 links")
    ('Training took 3 s', '3 links')
    """
    return text[:1].upper() + text[1:]


def factor(ratio: float) -> str:
    """A ratio of two measurements.

    >>> factor(1.4067), factor(0.5), factor(math.nan), factor(12.0), factor(1234.5)
    ('1.41x', '0.50x', '-', '12.0x', '1234x')
    >>> factor(0.00108), factor(0.05), factor(0.0)
    ('0.0011x', '0.050x', '0.00x')
    """
    if not math.isfinite(ratio):
        return "-"
    if 0.0 < ratio < 0.1:
        # Small ratios keep two digits after their zeros.
        places = min(1 - math.floor(math.log10(ratio)), 6)
    else:
        places = 2 if ratio < 10 else 1 if ratio < 100 else 0
    return f"{ratio:.{places}f}x"


def quantity(value: float, unit: str) -> str:
    """A value of a column with this unit.

    >>> quantity(0.002, "s"), quantity(2048, "bytes"), quantity(2048, "bytes/s"), quantity(1500, "")
    ('2 ms', '2 KiB', '2 KiB/s', '1.5 k')
    """
    if unit == "s":
        return duration(value)
    if unit == "bytes":
        return size(value)
    if unit == "bytes/s":
        return f"{size(value)}/s"
    return rate(value)


def counted(count: int, noun: str) -> str:
    """A count with its noun, in words.

    >>> counted(1, "cable"), counted(2, "cable")
    ('1 cable', '2 cables')
    """
    return f"{count} {noun}{'s' if count != 1 else ''}"


def column_words(name: str) -> str:
    """The name of a column, or a part of it, as words.

    >>> column_words("mpi_packets_nonminimal"), column_words("io"), column_words("elapsed")
    ('MPI packets nonminimal', 'I/O', 'elapsed')
    >>> column_words("non_compute_max")
    'time not computing max'
    """
    words = " ".join({"mpi": "MPI", "io": "I/O"}.get(word, word) for word in name.split("_"))
    return words.replace("non compute", "time not computing")
