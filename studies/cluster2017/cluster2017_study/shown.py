"""The figures of the paper beside ours."""

from __future__ import annotations

from study_tools.shown import Shown

_FIGURE = "[figure {0}](../../docs/figures/cluster2017-figure-{0}.svg)"
_BOTH = _FIGURE + ", [authors' settings](../../docs/figures/cluster2017-authors-figure-{0}.svg)"
_GRID = 'make study-cluster2017 WHAT="full --store"'
_SMALL = (
    "the paper's machine and jobs, checkpoint of 1/2,048 (scale 64): a terabyte takes up to half an hour each"
)
_ONE = "scale 1, as many bytes in flight as the paper's, or the whole checkpoint; a few packets decide"

SHOWN = (
    Shown(
        "Fig. 5, background latency, random buffers",
        _FIGURE.format(5),
        ("mean-alone", "mean-modest", "minimum-modest", "maximum-varies", "adaptive-longer", "routing-mean"),
        _GRID,
        _SMALL,
    ),
    Shown(
        "Fig. 5a and abstract, single packets",
        "[table](APPENDIX.md#runs-and-scaling)",
        ("random-adaptive-ms", "4700-times", "adaptive-longer-random"),
        'make study-cluster2017 WHAT="scales --store"',
        _ONE,
    ),
    Shown(
        "Fig. 6, background latency, nearest buffers",
        _FIGURE.format(6),
        ("nearest-minimal-least", "random-buffers-more", "contiguous-least", "random-node-most"),
        _GRID,
        _SMALL,
    ),
    Shown(
        "Fig. 6b, worst packet",
        "[table](APPENDIX.md#runs-and-scaling)",
        ("nearest-minimal-worst",),
        'make study-cluster2017 WHAT="scales --store"',
        _ONE,
    ),
    Shown(
        "Fig. 7, checkpoint time, random buffers",
        _BOTH.format(7),
        ("small-random", "large-nearest", "adaptive-random", "random-node-fast"),
        _GRID,
        _SMALL,
    ),
    Shown(
        "Fig. 8, checkpoint time, nearest buffers",
        _BOTH.format(8),
        (
            *("ten-buffers", "placement-matters", "random-placements", "adaptive-nearest"),
            *("adaptive-contiguous", "contiguous-idle", "five-times", "router-1.5"),
        ),
        _GRID,
        _SMALL,
    ),
    Shown(
        "Fig. 9, ends of the ranks of 512 nodes",
        _BOTH.format(9),
        ("random-continuous", "random-40-times", "nearest-steps"),
        _GRID,
        "scale 64; times are shown times 2,048",
    ),
    Shown(
        "V-F, devices",
        "[claims](APPENDIX.md#claims)",
        ("ssd-no-bottleneck", "ssd-10-s"),
        _GRID,
        _SMALL,
    ),
    Shown(
        "V-E and V-G, choices",
        "[claims](APPENDIX.md#claims)",
        ("random-node-grows", "router-below-node", "quiet-is-slow", "fast-is-loud", "best-choice"),
        _GRID,
        _SMALL,
    ),
    Shown(
        "IV, CODES beside Theta",
        "[study of Theta](../theta/README.md)",
        (),
        'make study-theta WHAT="full --store"',
        "the paper's messages and nodes; its points are not public",
    ),
)
