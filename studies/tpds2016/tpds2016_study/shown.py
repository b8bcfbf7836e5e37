"""The figures of the paper beside ours."""

from __future__ import annotations

from study_tools.shown import Shown

_DRAGONFLY = "[figure](../../docs/figures/tpds2016-dragonfly.svg)"
_TORUS = "[figure](../../docs/figures/tpds2016-torus.svg)"
_BLUEGENE = "[figure](../../docs/figures/tpds2016-bluegene.svg)"
_BOOKSIM = "[validation](../../docs/validation.md)"
_PROGRAMS = 'make study-tpds2016 WHAT="full --store"'
_MACHINES = 'make study-tpds2016 WHAT="machines --store"'
_SMALL = "1,728 ranks (Crystal Router 1,250), [scaled](APPENDIX.md#programs-and-scaling)"
_ALSO = _SMALL + "; AMG also with its 13,824, [Crystal Router with its 10,000](APPENDIX.md#the-papers-ranks)"

SHOWN = (
    Shown(
        "Fig. 4, uniform traffic beside BookSim",
        _BOOKSIM,
        ("booksim-minimal", "booksim-adaptive"),
        "make validation",
        "1,056 nodes, as the paper's; BookSim 2 instead of 1",
    ),
    Shown(
        "Fig. 5, worst-case traffic beside BookSim",
        _BOOKSIM,
        ("booksim-worst",),
        "make validation",
        "1,056 nodes, as the paper's",
    ),
    Shown(
        "Fig. 6 to 8, torus beside Blue Gene",
        _BLUEGENE,
        ("link-rate",),
        _MACHINES,
        "the paper's tori and messages",
    ),
    Shown("Fig. 9, hops on the dragonfly", _DRAGONFLY, ("minimal-hops",), _PROGRAMS, _ALSO),
    Shown("Fig. 10, packet latency on the dragonfly", _DRAGONFLY, ("minimal-latency",), _PROGRAMS, _ALSO),
    Shown("Fig. 11, busy time of node links", _DRAGONFLY, ("minimal-terminals",), _PROGRAMS, _ALSO),
    Shown(
        "Fig. 12, communication time on the dragonfly",
        _DRAGONFLY,
        ("nonminimal-time", "adaptive-overhead", "adaptive-nonminimal", "routing-matters"),
        _PROGRAMS,
        _ALSO,
    ),
    Shown(
        "Fig. 13, communication time on tori",
        _TORUS,
        ("router-5d-time", "amg-3d-time", "multigrid-time"),
        _PROGRAMS,
        _SMALL,
    ),
    Shown(
        "Fig. 14, busy time of local and global links",
        _DRAGONFLY,
        ("local-shares", "local-shorter", "global-busy"),
        _PROGRAMS,
        _SMALL,
    ),
    Shown(
        "Fig. 14, links in use",
        "[table](APPENDIX.md#links-in-use)",
        ("local-broader",),
        'make study-tpds2016 WHAT="links --store"',
        "up to the paper's 110,592 ranks, with boxes of 2^3 points",
    ),
    Shown(
        "Fig. 15, packet latency on tori",
        _TORUS,
        ("router-5d-latency", "amg-3d-latency", "multigrid-7d-latency", "multigrid-3d-poor"),
        _PROGRAMS,
        _SMALL,
    ),
    Shown(
        "Fig. 16, hops on tori",
        _TORUS,
        ("router-hops", "amg-3d-hops", "multigrid-hops"),
        _PROGRAMS,
        _SMALL,
    ),
    Shown(
        "6.2, shape of the torus",
        "[table](APPENDIX.md#programs-and-scaling)",
        ("amg-cube",),
        'make study-tpds2016 WHAT="larger --store"' + "`, `amg-oblong",
        "AMG with its 13,824 ranks, half of its bytes",
    ),
    Shown(
        "Fig. 17, time of simulations",
        "[table](APPENDIX.md#cost-of-simulation)",
        ("router-dearest", "amg-dragonfly", "router-rollbacks"),
        _MACHINES,
        "two threads instead of 16 to 64 cores",
    ),
    Shown(
        "Fig. 17, 110K nodes",
        "[table](APPENDIX.md#full-size)",
        ("modest-cores",),
        "make study-tpds2016 WHAT=multigrid-full",
        "the paper's ranks and bytes",
    ),
    Shown(
        "7, BigSim and SST",
        "not run here",
        ("bigsim-speed", "sst-speed"),
        "",
        "",
    ),
    Shown(
        "Fig. 18, speed beside BookSim",
        "[table](APPENDIX.md#speed-beside-booksim)",
        ("booksim-speed-minimal", "booksim-speed-adaptive"),
        "benches/booksim_speed.py --booksim BINARY",
        "the paper's 1,056 nodes; 2,000 cycles instead of 60,000; BookSim 2 instead of 1",
    ),
)
