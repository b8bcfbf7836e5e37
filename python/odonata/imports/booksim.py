"""BookSim 2: a configuration (`key = value;`) as a scenario of its machine, its router and its traffic.

Semantics and defaults are those of its source (booksim_config.cpp, iq_router.cpp, the networks and routing
functions). The preset `booksim` maps the parameters of its router. Times are cycles, sizes flits.
"""

from __future__ import annotations

import contextlib
import math
import re
from pathlib import Path

from odonata.base import foreign
from odonata.base.wording import counted
from odonata.errors import InputError, call
from odonata.imports import anynet, network_graph
from odonata.imports.draft import Draft, number

#: Defaults of a configuration (BookSimConfig).
DEFAULTS = {
    "topology": "torus", "k": "8", "n": "2", "c": "1", "routing_function": "none", "use_noc_latency": "1",
    "num_vcs": "16", "vc_buf_size": "8", "wait_for_tail_credit": "0", "vc_busy_when_full": "0",
    "hold_switch_for_packet": "0", "speculative": "0", "router": "iq", "priority": "none",
    "vc_allocator": "islip", "sw_allocator": "islip", "alloc_iters": "1", "arb_type": "round_robin",
    "credit_delay": "0", "routing_delay": "1", "vc_alloc_delay": "1", "sw_alloc_delay": "1",
    "st_prepare_delay": "0", "st_final_delay": "1", "output_delay": "0", "output_buffer_size": "-1",
    "input_speedup": "1", "output_speedup": "1", "internal_speedup": "1.0", "buffer_policy": "private",
    "traffic": "uniform", "injection_rate": "0.1", "injection_rate_uses_flits": "0",
    "injection_process": "bernoulli", "packet_size": "1", "classes": "1", "subnets": "1",
    "link_failures": "0", "noq": "0", "sample_period": "1000", "max_samples": "10",
}  # fmt: skip
#: Bytes of the largest file of a network.
LONGEST = 1 << 24
#: The largest accepted integer.
MOST = 1 << 40
#: Keys of the duration and number of measurements.
MEASURING = {
    "sim_type", "sample_period", "warmup_periods", "max_samples", "latency_thres", "warmup_thres",
    "stopping_thres",
    "acc_warmup_thres", "acc_stopping_thres", "sim_count", "include_queuing", "measure_stats", "sim_power",
}  # fmt: skip
#: Keys that only affect output.
PRINTING = {
    "watch_out",
    "watch_file",
    "stats_out",
    "print_activity",
    "print_csv_results",
    "viewer_trace",
    "seed",
}
#: Values at which a key of the router has no effect; others have no counterpart.
NEUTRAL = {
    "wait_for_tail_credit": "0", "hold_switch_for_packet": "0", "speculative": "0", "router": "iq",
    "priority": "none", "output_delay": "0", "output_buffer_size": "-1", "output_speedup": "1",
    "buffer_policy": "private", "classes": "1", "subnets": "1", "link_failures": "0", "noq": "0",
    "arb_type": "round_robin", "physical_subnetworks": "1", "use_read_write": "0", "limit": "0",
}  # fmt: skip
ALLOCATORS = {
    "separable_input_first": "input-first",
    "separable_output_first": "output-first",
    "islip": "output-first",
}
TRAFFIC = {
    "uniform": "uniform", "transpose": "transpose", "bitcomp": "bit-complement", "bitrev": "bit-reverse",
    "shuffle": "shuffle", "tornado": "tornado", "neighbor": "grid", "randperm": "permutation",
    "asymmetric": "asymmetric", "bad_dragon": "next-group",
}  # fmt: skip

_PAIR = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*([^;=]*?)\s*(;|$)", re.MULTILINE)


def parse(text: str, path: Path) -> dict[str, str]:
    """Parses keys and values; raises `InputError` for anything else."""
    plain = re.sub(r"//[^\n]*", "", text)
    found: dict[str, str] = {}
    place = 0
    while plain[place:].strip():
        pair = _PAIR.match(plain, place)
        if pair is None:
            at = place + len(plain[place:]) - len(plain[place:].lstrip())
            raise InputError(
                "not a setting of BookSim",
                file=str(path),
                line=plain.count("\n", 0, at) + 1,
                value=repr(plain[at : at + 40].split("\n")[0]),
                expected="key = value;",
            )
        found[pair[1]] = pair[2].strip('"')
        place = pair.end()
    return found


class _Import:
    """One configuration."""

    def __init__(self, path: Path, given: dict[str, str]) -> None:
        self.path, self.given = path, given
        if "const_flits_per_packet" in given and "packet_size" not in given:
            # The older name of the key.
            self.given = {**given, "packet_size": given["const_flits_per_packet"]}
        self.used: set[str] = {"const_flits_per_packet"}
        self.draft = Draft(path.stem, [f"From the BookSim 2 configuration {path.name}."], path, "booksim")

    def text(self, key: str) -> str:
        """A value, or BookSim's default."""
        self.used.add(key)
        return self.given.get(key, DEFAULTS.get(key, ""))

    def whole(self, key: str) -> int:
        """A value as an integer."""
        value = self.real(key)
        if not (value.is_integer() and 0 <= value <= MOST):
            raise InputError(
                "out of range", file=str(self.path), key=key, value=self.text(key), expected=f"0 to {MOST}"
            )
        return int(value)

    def real(self, key: str) -> float:
        """A value as a number."""
        value = self.text(key)
        with contextlib.suppress(ValueError):
            if math.isfinite(found := float(value)):
                return found
        raise InputError("not a number", file=str(self.path), key=key, value=repr(value), expected="a number")

    def dimensions(self) -> int:
        """The value of n: dimensions, or levels."""
        n = self.whole("n")
        if n > 16:
            raise InputError("out of range", file=str(self.path), key="n", value=str(n), expected="1 to 16")
        return n

    def from_(self, key: str) -> str:
        """A comment on the origin of a value."""
        return key if key in self.given else f"{key}, BookSim's default"

    def make(self) -> Draft:
        """Makes the scenario."""
        topology = self.text("topology")
        families = {
            "torus": self.cube, "mesh": self.cube, "fattree": self.fat_tree, "flatfly": self.flat,
            "dragonflynew": self.dragonfly, "anynet": self.anynet,
        }  # fmt: skip
        family = families.get(topology)
        if family is None:
            raise InputError(
                "this topology has no exact counterpart",
                file=str(self.path),
                key="topology",
                value=topology,
                expected="one of " + ", ".join(families),
                hint=call("describe") + " lists the families of machines",
            )
        nodes, dims, group = family(topology)
        self.router()
        self.traffic(nodes, dims, group)
        self.rest()
        return self.draft

    def links(self, latencies: dict[str, int]) -> None:
        """The links: latency, and the return path of credits."""
        delay, buffer = self.whole("credit_delay"), self.whole("vc_buf_size")
        returns = f"BookSim's channel latency + {self.from_('credit_delay')}"
        for name, latency in latencies.items():
            table = f"network.links.{name}"
            self.draft.put(table, "latency", f'"{counted(latency, "cycle")}"')
            self.draft.put(table, "credit_delay", f'"{counted(latency + delay, "cycle")}"', returns)
            self.draft.put(table, "buffer", f'"{buffer} flits"', self.from_("vc_buf_size"))

    def routing(self, names: dict[str, dict[str, str]]) -> None:
        """The algorithm, out of those of the topology."""
        function = self.text("routing_function")
        keys = names.get(function)
        if keys is None:
            raise InputError(
                "this routing has no counterpart on this topology",
                file=str(self.path),
                key="routing_function",
                value=function,
                expected="one of " + ", ".join(names),
            )
        for key, value in keys.items():
            self.draft.put("network.routing", key, value, "routing_function" if key == "algorithm" else "")
        if "vcs" not in keys:
            self.draft.put("network.routing", "vcs", self.text("num_vcs"), self.from_("num_vcs"))

    def cube(self, topology: str) -> tuple[int, list[int] | None, int | None]:
        """k-ary n-cubes and meshes."""
        k, n = self.whole("k"), self.dimensions()
        dims = [k] * n
        self.draft.put(f"machine.{topology}", "dims", str(dims), "k, n")
        drawn = self.text("use_noc_latency") != "0"
        # A torus is folded, so that every channel is twice as long (kncube.cpp).
        self.links({"terminal": 1, "local": 2 if drawn and topology == "torus" else 1})
        vcs = self.whole("num_vcs")
        ways = {"valiant": {"algorithm": '"valiant"'}, "romm": {"algorithm": '"romm"'}}
        if topology == "torus":
            ways["dim_order"] = {"algorithm": '"dimension-order"'}
            # Two escape channels and the highest one; those between stay unused.
            ways["min_adapt"] = {
                "algorithm": '"minimal-adaptive"',
                "selection": '"random"',
                "vcs": f"{{ terminal = {vcs}, local = {min(vcs, 3)} }}",
            }
        else:
            ways["dor"] = ways["dim_order"] = {"algorithm": '"dimension-order"'}
            ways["min_adapt"] = {"algorithm": '"minimal-adaptive"', "selection": '"random"'}
        self.routing(ways)
        return k**n, dims, None

    def fat_tree(self, _: str) -> tuple[int, list[int] | None, int | None]:
        """k-ary n-trees."""
        k, n = self.whole("k"), self.dimensions()
        self.draft.put("machine.fat-tree", "k", str(k))
        self.draft.put("machine.fat-tree", "n", str(n))
        self.links(dict.fromkeys(("terminal", "local", "global"), 1))
        tree = {"algorithm": '"nearest-common-ancestor"'}
        self.routing({"nca": {**tree, "up": '"random"'}})
        return k**n, [k] * n, None

    def flat(self, _: str) -> tuple[int, list[int] | None, int | None]:
        """Flattened butterflies."""
        k, n, c = self.whole("k"), self.dimensions(), self.whole("c")
        self.draft.put("machine.hyperx", "dims", str([k] * n), "k, n")
        self.draft.put("machine.hyperx", "nodes_per_router", str(c), self.from_("c"))
        if self.text("use_noc_latency") != "0":
            self.draft.leave(
                "use_noc_latency", "1", "latencies of a floor plan; here every channel takes a cycle"
            )
        for key in ("x", "y", "xr", "yr"):
            if self.text(key):
                self.draft.leave(key, self.text(key), "the arrangement on a chip")
        self.links(dict.fromkeys(("terminal", "local", "global"), 1))
        ugal = {
            "algorithm": '"ugal"', "candidates": "1", "bias": "1.0", "threshold": '"2 flits"',
        }  # fmt: skip
        self.routing(
            {"ran_min": {"algorithm": '"minimal"'}, "ugal": ugal, "valiant": {"algorithm": '"valiant"'}}
        )
        return c * k**n, None, None

    def dragonfly(self, _: str) -> tuple[int, list[int] | None, int | None]:
        """The balanced dragonfly of dragonfly.cpp: a = 2 p, h = p, a h + 1 groups."""
        p = self.whole("k")
        if self.whole("n") != 1:
            raise InputError(
                "BookSim's dragonfly has n = 1", file=str(self.path), key="n", value=self.text("n")
            )
        a, groups = 2 * p, 2 * p * p + 1
        sizes = {
            "groups": groups,
            "routers_per_group": a,
            "nodes_per_router": p,
            "global_ports_per_router": p,
        }
        for key, value in sizes.items():
            self.draft.put(
                "machine.dragonfly", key, str(value), "k" if key == "nodes_per_router" else "from k"
            )
        self.draft.put("machine.dragonfly", "arrangement", '"absolute"')
        # Fixed in its source, independent of use_noc_latency.
        self.text("use_noc_latency")
        self.links({"terminal": 1, "local": 10, "global": 100})
        vcs = self.whole("num_vcs")
        minimal = {"algorithm": '"minimal"'}
        if vcs == 2:
            # Channel 0 before the global hop, 1 from it on.
            minimal["vc_rule"] = '"phase"'
        ugal = {
            "algorithm": '"ugal"', "via": '"router"', "candidates": "1", "bias": "2.0",
            "threshold": '"30 flits"',
            "weigh_hops": "false", "vc_rule": '"phase"', "deadlock_check": '"warn"',
        }  # fmt: skip
        self.routing({"min": minimal, "ugal": ugal})
        return p * a * groups, None, p * a

    def anynet(self, _: str) -> tuple[int, list[int] | None, int | None]:
        """Any network, from the file `network_file` beside the configuration."""
        file = self.path.parent / Path(self.text("network_file")).name
        try:
            data = foreign.read_bytes(file, LONGEST)
            text = data.decode() if len(data) <= LONGEST else None
        except (OSError, UnicodeDecodeError):
            text = None
        if text is None or not self.text("network_file"):
            raise InputError(
                "the file of the network cannot be read", file=str(self.path), key="network_file",
                value=self.text("network_file"), expected="a text file beside the configuration",
            )  # fmt: skip
        network = anynet.parse(text, file, self.draft)
        network_graph.put(self.draft, network)
        self.text("use_noc_latency")
        delay, buffer = self.whole("credit_delay"), self.whole("vc_buf_size")
        returns = f"BookSim's channel latency + {self.from_('credit_delay')}"
        for name in ("terminal", "local"):
            table = f"network.links.{name}"
            self.draft.put(table, "credit_delay", f'"{counted(1 + delay, "cycle")}"', returns)
            self.draft.put(table, "buffer", f'"{buffer} flits"', self.from_("vc_buf_size"))
        self.routing({"min": {"algorithm": '"shortest-paths"'}, "none": {"algorithm": '"shortest-paths"'}})
        self.draft.leave(
            "routing_function", self.text("routing_function"),
            "the fewest channels count here, the shortest latency there; flows spread over equal paths",
        )  # fmt: skip
        return sum(nodes for _, nodes in network.routers), None, None

    def router(self) -> None:
        """The router's pipeline and its allocators."""
        table = "network.pipeline"
        for key, here in (
            ("routing_delay", "routing"),
            ("vc_alloc_delay", "vc_allocation"),
            ("sw_alloc_delay", "switch_allocation"),
        ):
            cycles, least = self.whole(key), 0 if here == "routing" else 1
            if cycles < least:
                self.draft.leave(key, str(cycles), "an allocation takes a cycle at least here")
            self.draft.put(table, here, str(max(cycles, least)), self.from_(key))
        crossbar = self.whole("st_prepare_delay") + self.whole("st_final_delay")
        self.draft.put(table, "crossbar", str(crossbar), "st_prepare_delay + st_final_delay")
        self.draft.put(
            table, "internal_speedup", repr(self.real("internal_speedup")), self.from_("internal_speedup")
        )
        self.draft.put(table, "input_speedup", str(self.whole("input_speedup")), self.from_("input_speedup"))
        name = self.text("sw_allocator")
        if name in ALLOCATORS:
            self.draft.put(table, "allocator", f'"{ALLOCATORS[name]}"', self.from_("sw_allocator"))
        else:
            self.draft.leave("sw_allocator", name, "separable allocators and iSLIP have a counterpart")
        other = self.text("vc_allocator")
        if ALLOCATORS.get(other) != ALLOCATORS.get(name):
            self.draft.leave(
                "vc_allocator", other, "both allocators have the kind of the switch allocator here"
            )
        self.draft.put(table, "iterations", str(self.whole("alloc_iters")), self.from_("alloc_iters"))
        busy = "true" if self.whole("vc_busy_when_full") else "false"
        self.draft.put(table, "busy_when_full", busy, self.from_("vc_busy_when_full"))
        size = self.whole("packet_size")
        self.draft.put(
            "network", "packet", f'"{size} {"flit" if size == 1 else "flits"}"', self.from_("packet_size")
        )

    def traffic(self, nodes: int, dims: list[int] | None, group: int | None) -> None:
        """The job that makes the traffic."""
        pattern, process = self.text("traffic"), self.text("injection_process")
        here = TRAFFIC.get(pattern)
        needs_dims = here in ("tornado", "grid")
        if here is None or (needs_dims and dims is None) or (here == "next-group" and group is None):
            self.draft.leave("traffic", pattern, "no equal pattern on this machine: the scenario has no job")
            self.used |= {"injection_rate", "injection_rate_uses_flits", "injection_process"}
            return
        if process != "bernoulli":
            self.draft.leave(
                "injection_process", process, "arrivals are those of Bernoulli, with the same rate"
            )
        rate = self.real("injection_rate")
        size = self.whole("packet_size")
        # At most one packet per cycle.
        packets = rate / max(1, size) if self.whole("injection_rate_uses_flits") else rate
        load = max(0.0, min(packets, 1.0) * size)
        if load > 1:
            self.draft.leave(
                "injection_rate", self.text("injection_rate"),
                f"{number(load)} flits per cycle and node, more than a channel carries: load = 1",
            )  # fmt: skip
            load = 1.0
        keys = {"step": '"neighbor"'} if here == "grid" else {}
        if needs_dims:
            keys["dims"] = str(dims)
        if here == "next-group":
            keys["ranks_per_group"] = str(group)
        # BookSim measures until convergence, at most this many samples.
        cycles = self.whole("sample_period") * self.whole("max_samples")
        keys |= {"stop": f'"{cycles} ns"', "load": number(load), "arrival": '"bernoulli"', "self": "true"}
        inside = ", ".join(f"{key} = {value}" for key, value in keys.items())
        self.draft.jobs.append(
            [("name", '"traffic"'), ("ranks", str(nodes)), ("workload", f"{{ {here} = {{ {inside} }} }}")]
        )

    def rest(self) -> None:
        """Lists the unused settings."""
        for key, value in self.given.items():
            if key in MEASURING:
                self.draft.leave(
                    key,
                    value,
                    "the job sends for sample_period x max_samples; odonata load-sweep has warm-up and ends",
                )
            elif key in NEUTRAL:
                if value != NEUTRAL[key]:
                    self.draft.leave(key, value, f"no counterpart; the router works as with {NEUTRAL[key]}")
            elif key not in self.used and key not in PRINTING:
                self.draft.leave(key, value, "no counterpart")


def load(path: Path, text: str) -> Draft:
    """The scenario of the configuration `text` at `path`; raises `InputError` if there is none."""
    return _Import(path, parse(text, path)).make()
