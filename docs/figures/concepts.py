"""Draws the figures of concepts on the pages: `python docs/figures/concepts.py`.

Each figure is a function that returns an SVG. Bars on a time axis have the times of the formulas on
docs/model.md. A figure has its own background and follows the color scheme of the reader's system.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path

FIGURES = Path(__file__).parent

STYLE = """
svg { --paper: #ffffff; --ink: #1f2328; --soft: #6b7280; --box: #eef2f6; --edge: #b6c0cb;
  --one: #2f6fab; --two: #b4540a; --three: #7a3f9d; --faint: #d8dee6; }
@media (prefers-color-scheme: dark) { svg { --paper: #161b22; --ink: #e6edf3; --soft: #9aa5b1; --box: #232b35;
  --edge: #55616e; --one: #3a7fc0; --two: #bd6a1f; --three: #9163c9; --faint: #39434e; } }
text { font: 13px system-ui, sans-serif; fill: var(--ink); }
.small { font-size: 12px; fill: var(--soft); }
.title { font-weight: 600; }
.middle { text-anchor: middle; }
.end { text-anchor: end; }
.on { fill: #ffffff; text-anchor: middle; font-size: 12px; }
.box { fill: var(--box); stroke: var(--edge); }
.free { fill: none; stroke: var(--edge); stroke-dasharray: 4 3; }
.one { fill: var(--one); } .two { fill: var(--two); } .three { fill: var(--three); }
.faint { fill: var(--faint); }
.line { stroke: var(--soft); fill: none; stroke-width: 1.4; }
.axis { stroke: var(--edge); fill: none; }
.red { stroke: var(--two); fill: none; stroke-width: 1.6; }
.dot { fill: var(--one); } .later { fill: var(--edge); }
.hollow { fill: var(--paper); stroke: var(--one); stroke-width: 2; }
.dash { stroke: var(--soft); fill: none; stroke-dasharray: 4 3; }
#tip path { fill: var(--soft); }
"""


class Drawing:
    """The elements of an SVG of `width` x `height` pixels, described to screen readers by `label`."""

    def __init__(self, width: int, height: int, label: str) -> None:
        self.width, self.height, self.label = width, height, label
        self.elements: list[str] = []

    def text(self, x: float, y: float, words: str, *styles: str) -> None:
        """Text whose baseline starts at (x, y), or is centered there or ends there, by its style."""
        style = f' class="{" ".join(styles)}"' if styles else ""
        self.elements.append(f'<text x="{x:g}" y="{y:g}"{style}>{escape(words)}</text>')

    def box(
        self, x: float, y: float, width: float, height: float, style: str = "box", words: str = ""
    ) -> None:
        """A rectangle with text in its middle."""
        self.elements.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="3" class="{style}"/>'
        )
        if words:
            plain = style in ("box", "free", "faint")
            self.text(x + width / 2, y + height / 2 + 4, words, "middle" if plain else "on")

    def line(self, points: list[tuple[float, float]], style: str = "line", *, arrow: bool = False) -> None:
        """Straight lines from point to point, with a tip at the last one if it is an arrow."""
        path = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
        tip = ' marker-end="url(#tip)"' if arrow else ""
        self.elements.append(f'<path d="{path}" class="{style}"{tip}/>')

    def dot(self, x: float, y: float, style: str = "dot") -> None:
        """An event; a rolled back one is crossed out."""
        radius = 3 if style == "later" else 5
        cross = style == "crossed"
        kind = "hollow" if cross else style
        self.elements.append(f'<circle cx="{x:g}" cy="{y:g}" r="{radius}" class="{kind}"/>')
        if cross:
            self.line([(x - 6, y - 6), (x + 6, y + 6)], "red")
            self.line([(x - 6, y + 6), (x + 6, y - 6)], "red")

    def span(self, left: float, right: float, y: float, words: str) -> None:
        """A measure from `left` to `right`, with words below it."""
        for x in (left, right):
            self.line([(x, y - 5), (x, y + 5)])
        self.line([(left, y), (right, y)])
        self.text((left + right) / 2, y + 18, words, "small", "middle")

    def svg(self) -> str:
        """The whole file."""
        tip = (
            '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 0L8 4L0 8z"/></marker>'
        )
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-label="{escape(self.label)}">'
        )
        paper = f'<rect width="{self.width}" height="{self.height}" fill="var(--paper)"/>'
        body = "\n".join(self.elements)
        return f"{head}\n<style>{STYLE}</style>\n<defs>{tip}</defs>\n{paper}\n{body}\n</svg>\n"


def cut_through() -> str:
    """One packet over three links, by the formulas of `A packet through a router`."""
    wire, flit, latency, router = 100.0, 10.0, 30.0, 40.0
    links = ("node to router A", "router A to router B", "router B to node")
    draw = Drawing(
        760, 340, "One packet over three links: cut-through overlaps the links, store-and-forward does not"
    )
    left, scale = 170.0, 1.12

    def at(time: float) -> float:
        return left + time * scale

    for top, title, received in (
        (30.0, "Cut-through: a packet advances when its head has arrived", flit),
        (182.0, "Store-and-forward: a packet advances when all of it has arrived", wire),
    ):
        draw.text(16, top, title, "title")
        start = 0.0
        for number, name in enumerate(links):
            y = top + 14 + 30 * number
            draw.text(16, y + 16, name)
            draw.line([(left, y + 22), (742, y + 22)], "axis")
            draw.box(at(start), y, wire * scale, 22, "one", "L / b")
            draw.box(at(start), y, flit * scale, 22, "two")
            if number < len(links) - 1:
                came = start + received + latency
                draw.line([(at(start + received), y + 22), (at(came), y + 30)], "dash")
                draw.box(at(came), y + 30, router * scale, 22, "faint", "delay")
                start = came + router
        end = start + wire + latency
        draw.span(at(0), at(end), top + 112, f"T0 = {end:g} ns")
    draw.text(
        16,
        332,
        f"L / b = {wire:g} ns, flit / b = {flit:g} ns (orange), link latency d = {latency:g} ns (dashed), "
        f"router_delay = {router:g} ns",
        "small",
    )
    return draw.svg()


def credit_loop() -> str:
    """Credits between two routers."""
    draw = Drawing(760, 250, "The credit loop between two routers")
    draw.box(16, 60, 190, 130)
    draw.box(500, 60, 244, 130)
    draw.text(111, 50, "upstream router", "title", "middle")
    draw.text(622, 50, "downstream router", "title", "middle")
    draw.text(30, 84, "output port")
    draw.text(30, 104, "2 credits left", "small")
    for number in range(4):
        draw.box(30 + 40 * number, 114, 32, 22, "one" if number < 2 else "free")
    draw.text(514, 84, "input buffer, 4 packets")
    for number in range(4):
        draw.box(514 + 40 * number, 114, 32, 22, "two" if number >= 3 else "free")
    draw.box(330, 92, 46, 22, "two", "L")
    draw.line([(206, 103), (326, 103)])
    draw.line([(376, 103), (498, 103)], arrow=True)
    draw.text(352, 82, "2  the packet crosses the link: L / b, then d", "small", "middle")
    draw.text(30, 160, "1  a packet takes a credit", "small")
    draw.text(30, 178, "    and starts", "small")
    draw.text(514, 160, "3  the packet waits for its", "small")
    draw.text(514, 178, "    next link, then leaves", "small")
    draw.line([(674, 125), (742, 125)], arrow=True)
    draw.line([(560, 190), (560, 214), (111, 214), (111, 192)], arrow=True)
    draw.text(335, 206, "4  its tail has left: the credit returns after credit_delay", "small", "middle")
    draw.text(
        16,
        240,
        "A packet in flight and one in the buffer hold two of four credits. Without a credit the port waits.",
        "small",
    )
    return draw.svg()


def blame() -> str:
    """A wait at a port, divided among the jobs that caused it."""
    draw = Drawing(760, 262, "Blame: the wait of a packet of job A, charged to jobs B and C")
    left, unit = 170.0, 54.0

    def at(time: float) -> float:
        return left + time * unit

    rows = (
        (
            "output link",
            [(0, 4, "two", "job B sends"), (4, 7, "free", "idle"), (7, 10, "one", "job A sends")],
        ),
        (
            "buffer behind it",
            [
                (0, 4, "faint", "has room"),
                (4, 7, "three", "full: packet of job C"),
                (7, 10, "faint", "has room"),
            ],
        ),
        ("packet of job A", [(1, 7, "free", "waits"), (7, 10, "one", "is sent")]),
        ("charged to", [(1, 4, "two", "B, link"), (4, 7, "three", "C, credit")]),
    )
    for number, (name, bars) in enumerate(rows):
        y = 34 + 46 * number
        draw.text(16, y + 17, name, *(("title",) if number == 3 else ()))
        for start, end, style, words in bars:
            draw.box(at(start), y, (end - start) * unit - 2, 26, style, words)
    for time in (1, 7):
        draw.line([(at(time) - 1, 24), (at(time) - 1, 206)], "dash")
    draw.text(at(1), 18, "arrives", "small", "middle")
    draw.text(at(7), 18, "starts", "small", "middle")
    draw.span(at(1), at(7) - 2, 220, "wait = 3 charged to B + 3 charged to C")
    return draw.svg()


def lost_time() -> str:
    """A join that absorbs a part of a delay: t = max t[i], a = max a[i]."""
    computes, wait, way, after = (6.0, 4.0), 3.0, 1.0, 2.0
    draw = Drawing(760, 300, "Lost time: slack of rank 0 absorbs a part of the delay of rank 1")
    left, unit = 130.0, 52.0

    def at(time: float) -> float:
        return left + time * unit

    ends = []
    for top, title, delay in ((24.0, "Alone", 0.0), (144.0, "Beside job B", wait)):
        draw.text(16, top, title, "title")
        arrival = computes[1] + delay + way
        join = max(computes[0], arrival)
        ends.append(join)
        for rank in (0, 1):
            y = top + 14 + 40 * rank
            draw.text(16, y + 17, f"rank {rank}")
            draw.box(at(0), y, computes[rank] * unit - 2, 26, "one", "computes")
        if join > computes[0]:
            draw.box(at(computes[0]), top + 14, (join - computes[0]) * unit - 2, 26, "free", "waits")
        draw.box(at(join), top + 14, after * unit - 2, 26, "one", "continues")
        if delay:
            draw.box(at(computes[1]), top + 54, delay * unit - 2, 26, "two", "waits behind B")
        else:
            draw.span(at(arrival), at(join), top + 62, "slack 1")
        draw.line([(at(computes[1] + delay), top + 54), (at(arrival), top + 41)], arrow=True)
    draw.line([(at(ends[0]), 30), (at(ends[0]), 252)], "dash")
    draw.line([(at(ends[1]), 150), (at(ends[1]), 252)], "dash")
    draw.span(at(ends[0]), at(ends[1]), 258, f"lost to B: {ends[1] - ends[0]:g}")
    draw.text(
        16,
        292,
        f"The message waits {wait:g} behind job B. Alone, it arrives {wait - ends[1] + ends[0]:g} before "
        "rank 0 needs it: this slack absorbs a part of the delay.",
        "small",
    )
    return draw.svg()


def tiers() -> str:
    """A write on its path down the tiers."""
    draw = Drawing(760, 236, "A write through tiers of storage")
    names = ("compute nodes", "burst buffers", "I/O nodes", "object servers")
    below = ("ranks of jobs", "storage.nodes", "storage.tiers", "storage.file_system")
    events = ("", "acknowledged, committed", "", "safe below")
    ways = ("write", "drain", "link")
    width, gap = 130.0, 70.0
    for number, name in enumerate(names):
        x = 16 + (width + gap) * number - (2 if number else 0)
        draw.box(x, 50, width, 64)
        draw.text(x + width / 2, 78, name, "title", "middle")
        draw.text(x + width / 2, 98, below[number], "small", "middle")
        draw.text(x + width / 2, 134, events[number], "small", "middle")
        if number < 3:
            draw.line([(x + width, 74), (x + width + gap - 4, 74)], arrow=True)
            draw.line([(x + width + gap - 2, 96), (x + width + 2, 96)], "dash", arrow=True)
            draw.text(x + width + gap / 2 - 1, 66, ways[number], "small", "middle")
            draw.text(x + width + gap / 2 - 1, 112, "read", "small", "middle")
    draw.line([(16, 152), (542, 152)])
    draw.text(279, 170, "packets on the simulated network, shared with all messages", "small", "middle")
    draw.line([(550, 152), (744, 152)])
    draw.text(647, 170, "analytic queues", "small", "middle")
    draw.text(
        16,
        26,
        "A tier is a client of the next tier: it asks for space, is pulled, and is acknowledged",
        "title",
    )
    draw.text(16, 204, "Written data are on a device only, leaving, a clean copy (keep), or below.", "small")
    draw.text(
        16,
        224,
        "A clean copy gives way when space is needed. Every byte stays on the account of its job.",
        "small",
    )
    return draw.svg()


def layers() -> str:
    """The layers of the simulator: a layer names only layers below it."""
    draw = Drawing(760, 384, "The layers of Odonata")
    rows = (
        (
            "scenario and results",
            "odonata-system",
            "scenario.toml to machine, placement, jobs; records to tables",
            "one",
        ),
        ("workloads", "odonata-workload", "(rank, cursor) to the next operation", "box"),
        ("hosts", "odonata-host", "operations to messages: MPI, I/O clients, job control", "box"),
        (
            "storage",
            "odonata-storage, -device",
            "requests to accesses: layouts, locks, tiers, devices",
            "box",
        ),
        (
            "network",
            "odonata-network, -topology",
            "messages to packets: NIC, routers, credits, routing",
            "box",
        ),
        ("engine", "odonata-engine", "events in the order (time, sender, sequence number)", "three"),
    )
    draw.box(16, 16, 728, 40, "free")
    draw.text(28, 41, "Python: command line, API, reports", "title")
    draw.text(732, 41, "python/odonata, odonata-py", "small", "end")
    for number, (name, crate, does, style) in enumerate(rows):
        y = 68 + 52 * number
        draw.box(16, y, 728, 40, "box")
        draw.box(16, y, 6, 40, style if style != "box" else "two")
        draw.text(34, y + 25, name, "title")
        draw.text(200, y + 25, does)
        draw.text(732, y + 25, crate, "small", "end")
    return draw.svg()


def rounds() -> str:
    """Rounds of three parts under the conservative and the optimistic scheduler."""
    events = (
        (110, 170, 222, 290, 360, 430, 520, 600),
        (130, 200, 270, 330, 440, 500, 660),
        (150, 235, 310, 350, 420, 560, 640),
    )
    windows = ((250, 400), (230, 390), (250, 380))
    draw = Drawing(760, 400, "Rounds of three parts, conservative above and optimistic below")
    for top, title, speculates in (
        (30, "Conservative: a window ends where a message could still arrive", False),
        (230, "Optimistic: parts continue, and roll back when a straggler arrives", True),
    ):
        draw.text(16, top, title, "title")
        for part, (times, (first, second)) in enumerate(zip(events, windows, strict=True)):
            y = top + 32 + 44 * part
            draw.text(16, y + 4, f"part {part}")
            draw.box(80, y - 14, first - 80, 28, "faint")
            if not speculates:
                draw.box(first + 2, y - 14, second - first - 2, 28)
            draw.line([(80, y), (744, y)], "axis")
            for time in times:
                if time < first or (time < second and not speculates):
                    draw.dot(time, y)
                elif not speculates:
                    draw.dot(time, y, "later")
                elif time <= 500 or (part, time) == (2, 560):
                    crossed = (part == 1 and time > 270) or (part, time) == (2, 560)
                    draw.dot(time, y, "crossed" if crossed else "hollow")
        draw.line([(110, top + 38), (266, top + 72)], arrow=True)
    draw.line([(200, 112), (346, 144)], arrow=True)
    for x, words in ((160, "first round"), (318, "second round"), (520, "not yet known to be safe")):
        draw.text(x, 186, words, "small", "middle")
    draw.text(150, 296, "straggler", "small")
    draw.line([(500, 298), (490, 284), (300, 284), (280, 296)], "red", arrow=True)
    draw.text(395, 280, "rollback", "small", "middle")
    draw.line([(330, 314), (552, 346)], "red", arrow=True)
    draw.text(470, 330, "canceled by an anti-message", "small")
    draw.line([(80, 388), (744, 388)], arrow=True)
    draw.text(744, 380, "simulated time", "small", "end")
    return draw.svg()


ALL: dict[str, Callable[[], str]] = {
    "cut-through.svg": cut_through,
    "credit-loop.svg": credit_loop,
    "blame.svg": blame,
    "lost-time.svg": lost_time,
    "tiers.svg": tiers,
    "layers.svg": layers,
    "rounds.svg": rounds,
}


def main() -> None:
    """Writes all figures."""
    for name, figure in ALL.items():
        (FIGURES / name).write_text(figure(), encoding="utf-8")
        print(f"docs/figures/{name}")


if __name__ == "__main__":
    main()
