"""CODES and MFNetSim: a network configuration, its allocation and its workload files as a scenario.

The models are those of codes-org/codes (src/networks/model-net) and, for storage, of MFNetSim's branch of it.
Missing settings get CODES' defaults; comments mark constants from the source of its MPI layer. Bandwidths are
in GiB/s, sizes in bytes, times in ns.
"""

from __future__ import annotations

import contextlib
import re
import struct
import xml.etree.ElementTree as tree
from collections import Counter
from pathlib import Path

from odonata import _core
from odonata.errors import InputError
from odonata.imports.codes_conf import Section
from odonata.imports.draft import Beside, Draft, number

GIB = 1 << 30
#: The largest accepted number.
MOST = 1 << 50

#: Keys without effect on results, at least in the supported models.
SILENT = {
    "message_size": "the size of ROSS's events",
    "modelnet_order": "the order of ROSS's processes",
    "minimal-bias": "no effect in dragonfly-dally",
    "df-dally-vc": "no effect in dragonfly-dally",
    "counting_bool": "what is counted",
    "counting_start": "what is counted",
    "counting_windows": "what is counted",
    "counting_interval": "what is counted",
    "num_apps": "what is counted",
    "offset": "what is counted",
}
#: Defaults (GiB/s, bytes) of the dragonflies.
BANDWIDTH = {"local": 5.25, "global": 4.7, "cn": 5.25}
BUFFER = {"local": 1024, "global": 2048, "cn": 1024}


class _Import:
    """One configuration."""

    def __init__(self, path: Path, conf: Section) -> None:
        self.path = path
        self.params = conf.sections.get("PARAMS", Section())
        self.conf = conf
        self.used = {"modelnet_scheduler"}
        self.draft = Draft(path.stem, [f"From the CODES configuration {path.name}."], path)

    def wrong(self, key: str, problem: str, expected: str, value: str | None = None) -> InputError:
        """The error for a configuration that cannot be converted."""
        return InputError(problem, file=str(self.path), key=key, value=value, expected=expected)

    def text(self, key: str, default: str | None = None) -> str:
        """A value of PARAMS."""
        self.used.add(key)
        found = self.params.get(key)
        if found is None:
            if default is None:
                raise self.wrong(f"PARAMS.{key}", "the key is missing", "a value")
            return default
        return found

    def real(self, key: str, default: float | None = None) -> float:
        """A number of PARAMS."""
        value = self.text(key, None if default is None else repr(default))
        with contextlib.suppress(ValueError):
            if 0 <= (found := float(value)) <= MOST:
                return found
        raise self.wrong(f"PARAMS.{key}", "out of range", f"0 to {MOST}", value)

    def whole(self, key: str, default: int | None = None) -> int:
        """A whole number of PARAMS."""
        return int(self.real(key, default))

    def where(self, key: str) -> str:
        """A comment on the origin of a value."""
        return key if key in self.params.values else f"{key}, CODES' default"

    def shown(self, key: str, value: int) -> str:
        """The origin of a value: the file, or a default."""
        return str(value) if key in self.params.values else f"{value}, CODES' default: the file has no {key}"

    def make(self) -> Draft:
        """Makes the scenario, without jobs."""
        models = [name for name in self.params.values.get("modelnet_order", []) if "router" not in name]
        self.used.add("modelnet_order")
        families = {
            "dragonfly_dally": self.dally, "dragonfly_custom": self.custom, "dragonfly": self.first,
            "dragonfly_plus": self.plus, "torus": self.torus, "slimfly": self.slim, "fattree": self.tree,
        }  # fmt: skip
        name = next((model for model in models if model in families), None)
        if name is None:
            raise self.wrong(
                "PARAMS.modelnet_order", 'no network with a counterpart', "one of " + ", ".join(families),
                ", ".join(models) or "nothing",
            )  # fmt: skip
        families[name]()
        self.mpi()
        self.storage([model for model in models if model not in families])
        for key, values in self.params.values.items():
            if key in SILENT:
                self.draft.leave(key, ", ".join(values), SILENT[key])
            elif key not in self.used:
                self.draft.leave(key, ", ".join(values), "no counterpart")
        if self.text("modelnet_scheduler", "fcfs") != "fcfs":
            self.draft.leave(
                "modelnet_scheduler", self.text("modelnet_scheduler"), "a NIC sends in order of arrival"
            )
        return self.draft

    def packets(self, delay: float) -> int:
        """Packets and routers; returns the size of a chunk, in bytes."""
        packet = self.whole("packet_size", 512)
        chunk = self.whole("chunk_size", 512)
        put = self.draft.put
        put("network", "packet", f'"{packet} B"', self.where("packet_size"))
        put("network", "flit", f'"{min(chunk, packet)} B"', self.where("chunk_size"))
        if chunk < packet:
            put("network", "switching", '"cut-through"')
            self.draft.leave(
                "chunk_size", str(chunk),
                "chunks of a packet are routed together here, one after the other (cut-through)",
            )  # fmt: skip
        else:
            put("network", "switching", '"store-and-forward"', "whole packets, as chunks are as large")
        put("network", "router", '"output-queued"')
        put("network", "arbitration", '"first-come"', "an output sends what was queued first")
        put(
            "network",
            "router_delay",
            f'"{number(self.real("router_delay", delay))} ns"',
            self.where("router_delay"),
        )
        return chunk

    def links(self, chunk: int, links: dict[str, tuple[str, float, str, int]], credit_of: str) -> None:
        """Links by class: keys of bandwidth and buffer with their defaults."""
        credit_bytes = self.whole("credit_size", 8)
        rates = {name: self.real(key, default) for name, (key, default, _, _) in links.items()}
        if rates[credit_of] <= 0:
            raise self.wrong(f"PARAMS.{links[credit_of][0]}", "not a bandwidth", "more than 0", "0")
        credit = round(credit_bytes / (rates[credit_of] * GIB) * 1e9, 3)
        for name, (key, _, buffer, default) in links.items():
            table, rate = f"network.links.{name}", rates[name]
            self.draft.put(table, "bandwidth", f'"{number(rate)} GiB/s"', self.where(key))
            if rate <= 0:
                raise self.wrong(f"PARAMS.{key}", "not a bandwidth", "more than 0", str(rate))
            latency = number(chunk / (rate * GIB) * 1e9)
            self.draft.put(table, "latency", f'"{latency} ns"', "one chunk at its bandwidth, as in CODES")
            size, packet = self.whole(buffer, default), self.whole("packet_size", 512)
            if size < packet:
                # CODES accepts it, and never sends; the error names the key that the file has or lacks.
                raise self.wrong(
                    f"PARAMS.{buffer}", 'the buffer does not hold a packet',
                    f"at least packet_size, {self.shown('packet_size', packet)}", self.shown(buffer, size),
                )  # fmt: skip
            self.draft.put(table, "buffer", f'"{size} B"', self.where(buffer))
            self.draft.put(
                table, "credit_delay", f'"{number(credit)} ns"', f"{credit_bytes} B at {credit_of} bandwidth"
            )

    def dragonfly_links(self, chunk: int, column: bool = False) -> None:
        """Links of any of the dragonflies."""
        classes = {
            "terminal": "cn",
            "local": "local",
            **({"column": "local"} if column else {}),
            "global": "global",
        }
        self.links(
            chunk,
            {
                here: (f"{name}_bandwidth", BANDWIDTH[name], f"{name}_vc_size", BUFFER[name])
                for here, name in classes.items()
            },
            "local",
        )

    def routing(
        self, ways: dict[str, dict[str, str]], default: str = "minimal", *, vcs: int | None = None
    ) -> None:
        """The algorithm, out of those of the network."""
        name = self.text("routing", default)
        keys = ways.get(name)
        if keys is None:
            raise self.wrong(
                "PARAMS.routing", "this routing has no counterpart", "one of " + ", ".join(ways), name
            )
        for key, value in keys.items():
            self.draft.put("network.routing", key, value, self.where("routing") if key == "algorithm" else "")
        if vcs is not None:
            self.draft.put("network.routing", "vcs", str(vcs), "as many per port as in CODES")

    def adaptive(self, kind: str, **more: str) -> dict[str, str]:
        """An adaptive algorithm of a dragonfly: the load of a detour counts twice (scoring `delta`)."""
        threshold = self.whole("adaptive_threshold", 0)
        if (metric := self.text("route_scoring_metric", "delta")) != "delta":
            self.draft.leave("route_scoring_metric", metric, "loads are compared as by delta")
        picks = self.text("global_k_picks", "")
        if picks:
            self.draft.leave(
                "global_k_picks", picks, "of parallel cables the one with the least before it is taken"
            )
        return {
            "algorithm": f'"{kind}"', "via": '"group"', "threshold": f'"{threshold} B"', "bias": "2.0",
            "candidates": "1", **more,
        }  # fmt: skip

    def sizes(self, table: str, sizes: dict[str, tuple[int, str]]) -> None:
        """Keys of the machine, with their origins."""
        for key, (value, origin) in sizes.items():
            self.draft.put(f"machine.{table}", key, str(value), origin)

    def dally(self) -> None:
        """One-dimensional groups, cabled by a file."""
        routers, origin = self.routers_of_a_group()
        groups = self.whole("num_groups")
        ports = self.whole("num_global_channels")
        self.sizes("dragonfly", {
            "groups": (groups, "num_groups"), "routers_per_group": (routers, origin),
            "nodes_per_router": (self.whole("num_cns_per_router"), "num_cns_per_router"),
            "global_ports_per_router": (ports, "num_global_channels"),
        })  # fmt: skip
        self.cabling(groups, routers)
        self.dragonfly_links(self.packets(100.0))
        name = self.text("routing", "minimal")
        par = self.adaptive("progressive-adaptive", divert='"own-global-ports"', vc_rule='"codes"')
        ways = {"minimal": {"algorithm": '"minimal"', "vc_rule": '"codes"'}, "prog-adaptive": par}
        ways["nonminimal"] = {"algorithm": '"valiant"', "via": '"group"', "vc_rule": '"codes"'}
        self.routing(ways, name, vcs=4)
        self.rails()

    def routers_of_a_group(self) -> tuple[int, str]:
        """Routers of a group of dragonfly-dally, and the origin of the number.

        Older configurations without `num_routers` give rows and columns, as for dragonfly-custom; the default
        number of rows is 1.
        """
        rows, columns = "num_router_rows", "num_router_cols"
        if self.params.get("num_routers") is None and self.params.get(columns) is not None:
            return self.whole(rows, 1) * self.whole(columns), f"{rows} x {columns}"
        if self.params.get("num_routers") is None:
            raise self.wrong(
                "PARAMS.num_routers", "the key is missing", f"routers of a group, or {rows} and {columns}"
            )
        found = self.whole("num_routers")
        for key in (rows, columns):
            if key in self.params.values:
                self.draft.leave(key, self.text(key), "num_routers says how many routers a group has")
        return found, "num_routers"

    def cabling(self, groups: int, routers: int) -> None:
        """The cabling of groups, from the file with the global cables if it exists."""
        self.used |= {"intra-group-connections", "inter-group-connections"}
        named = self.params.get("inter-group-connections")
        pairs = None if named is None else _pairs(self.path.parent / Path(named).name)
        if named is None or pairs is None:
            self.draft.put("machine.dragonfly", "arrangement", '"relative"', "not compared, see above")
            self.draft.leave(
                "inter-group-connections", named,
                "no such file beside the configuration; the cabling is "
                '"relative", as in the files of MFNetSim',
            )  # fmt: skip
            return
        ports = len(pairs) // max(1, groups * routers)
        arrangement = _arrangement(pairs, groups, routers, ports)
        if arrangement is None:
            self.draft.put(
                "machine.dragonfly", "global_cables", "", "all cables of the file inter-group-connections"
            )
            self.draft.beside = Beside(
                "machine.dragonfly", "global_cables", ".cables.csv", self.global_cables(pairs, str(named))
            )
            return
        self.draft.put(
            "machine.dragonfly", "arrangement", f'"{arrangement}"', "compared with all cables of the file"
        )

    def global_cables(self, pairs: list[tuple[int, int]], named: str) -> str:
        """The cables between groups as CSV; the file has each of them in both directions."""
        counts = Counter(pairs)
        for (a, b), count in counts.items():
            if counts[b, a] != count:
                raise self.wrong(
                    "PARAMS.inter-group-connections",
                    f"{count} links from router {a} to {b}, {counts[b, a]} back",
                    "every cable in both directions", named,
                )  # fmt: skip
        rows = [f"{a},{b}" for (a, b), count in sorted(counts.items()) if a < b for _ in range(count)]
        return "\n".join(["a,b", *rows]) + "\n"

    def rails(self) -> None:
        """Refuses several rails, which have no counterpart."""
        if (rails := self.whole("num_rails", 1)) != 1:
            self.draft.leave("num_rails", str(rails), "nodes have one rail")

    def custom(self) -> None:
        """Two-dimensional groups, Cray XC."""
        self.sizes("dragonfly-2d", {
            "groups": (self.whole("num_groups"), "num_groups"),
            "rows": (self.whole("num_router_rows"), "num_router_rows"),
            "columns": (self.whole("num_router_cols"), "num_router_cols"),
            "nodes_per_router": (self.whole("num_cns_per_router"), "num_cns_per_router"),
            "global_ports_per_router": (self.whole("num_global_channels"), "num_global_channels"),
        })  # fmt: skip
        for key in ("intra-group-connections", "inter-group-connections"):
            self.draft.leave(
                key, self.text(key, ""), "not read: cables are those of the family's default arrangement"
            )
        self.dragonfly_links(self.packets(90.0), column=True)
        ugal = {"algorithm": '"ugal"', "via": '"group"'}
        par = {"algorithm": '"progressive-adaptive"', "via": '"group"'}
        self.routing(
            {"minimal": {"algorithm": '"minimal"'}, "nonminimal": {"algorithm": '"valiant"'},
             "adaptive": ugal, "prog-adaptive": par}, "minimal"
        )  # fmt: skip
        if self.text("routing", "minimal") in ("adaptive", "prog-adaptive"):
            self.draft.leave(
                "routing", self.text("routing"), "how loads are compared is by the defaults here"
            )

    def first(self) -> None:
        """CODES' first dragonfly: num_routers = a, p = h = a / 2, a h + 1 groups."""
        a = self.whole("num_routers")
        self.sizes("dragonfly", {
            "groups": (a * (a // 2) + 1, "num_routers^2 / 2 + 1"), "routers_per_group": (a, "num_routers"),
            "nodes_per_router": (a // 2, "num_routers / 2"),
            "global_ports_per_router": (a // 2, "num_routers / 2"),
        })  # fmt: skip
        self.draft.leave(
            "machine", None, "which global cable goes where is that of the default arrangement here"
        )
        self.dragonfly_links(self.packets(100.0))
        ways = {
            "minimal": {"algorithm": '"minimal"'},
            "nonminimal": {"algorithm": '"valiant"', "via": '"group"'},
            "adaptive": {"algorithm": '"ugal"', "via": '"group"'},
            "prog-adaptive": {"algorithm": '"progressive-adaptive"', "via": '"group"'},
        }
        self.routing(ways)
        if self.text("routing", "minimal") in ("adaptive", "prog-adaptive"):
            self.draft.leave(
                "routing", self.text("routing"), "how loads are compared is by the defaults here"
            )
        self.text("num_vcs", "")

    def plus(self) -> None:
        """Dragonfly+."""
        self.sizes("dragonfly-plus", {
            "groups": (self.whole("num_groups"), "num_groups"),
            "leaves_per_group": (self.whole("num_router_leaf"), "num_router_leaf"),
            "spines_per_group": (self.whole("num_router_spine"), "num_router_spine"),
            "local_cables": (self.whole("num_level_chans", 1), "num_level_chans"),
            "nodes_per_leaf": (self.whole("num_cns_per_router"), "num_cns_per_router"),
            "global_ports_per_spine": (self.whole("num_global_connections"), "num_global_connections"),
        })  # fmt: skip
        for key in ("intra-group-connections", "inter-group-connections"):
            self.draft.leave(
                key, self.text(key, ""), "not read: cables are those of the family's default arrangement"
            )
        self.dragonfly_links(self.packets(90.0))
        self.routing({
            "minimal": {"algorithm": '"minimal"'}, "non-minimal-leaf": {"algorithm": '"valiant"'},
            "prog-adaptive": {"algorithm": '"progressive-adaptive"'},
        })  # fmt: skip
        if self.text("routing", "minimal") != "minimal":
            self.draft.leave(
                "routing", self.text("routing"), "detours go over what the family's default is here"
            )
        for key in ("adaptive_threshold", "route_scoring_metric"):
            if self.text(key, "") and self.text("routing", "minimal") == "minimal":
                self.draft.leave(key, self.text(key), "minimal routing compares nothing")
        if (levels := self.whole("num_qos_levels", 1)) > 1:
            shares = self.text("qos_bandwidth", "")
            self.draft.leave(
                "num_qos_levels", f"{levels} ({shares})", "the file does not assign jobs to classes"
            )

    def torus(self) -> None:
        """Tori: one bandwidth, one buffer."""
        dims = self.params.values.get("dim_length", [])
        self.used |= {"dim_length", "n_dims"}
        texts = [text.strip() for part in dims for text in part.split(",")]
        lengths = [int(text) for text in texts if re.fullmatch(r"[0-9]{1,9}", text)]
        if len(lengths) != self.whole("n_dims"):
            raise self.wrong(
                "PARAMS.dim_length",
                "the number of lengths differs from the dimensions",
                self.text("n_dims"),
                str(dims),
            )
        self.draft.put("machine.torus", "dims", str(lengths), "dim_length")
        chunk = self.packets(0.0)
        keys = ("link_bandwidth", 2.0, "buffer_size", 2048)
        self.links(chunk, {"terminal": keys, "local": keys}, "local")
        self.draft.put("network.routing", "algorithm", '"dimension-order"', "as in CODES, which has no other")
        if (vcs := self.whole("num_vc", 1)) < 2:
            self.draft.leave("num_vc", str(vcs), "dimension order on a ring takes two to be free of deadlock")
        for key in ("net_startup_ns", "net_bw_mbps"):
            if self.text(key, ""):
                self.draft.leave(key, self.text(key), "of simplenet, not of the torus")

    def slim(self) -> None:
        """Slim Fly: two halves of q groups of q routers."""
        self.sizes("slim-fly", {
            "q": (self.whole("num_routers"), "num_routers"),
            "nodes_per_router": (self.whole("num_terminals"), "num_terminals"),
        })  # fmt: skip
        for key in (
            "generator_set_X",
            "generator_set_X_prime",
            "local_channels",
            "global_channels",
            "sf_type",
        ):
            self.used.add(key)
        for key in ("generator_set_X", "generator_set_X_prime"):
            if key in self.params.values:
                values = ", ".join(self.params.values[key])
                self.draft.leave(
                    key, values, "generators follow from q here; equal up to the names of routers"
                )
        self.dragonfly_links(self.packets(90.0))
        self.routing({
            "minimal": {"algorithm": '"minimal"'}, "nonminimal": {"algorithm": '"valiant"'},
            "adaptive": {"algorithm": '"ugal"'},
        })  # fmt: skip
        if self.text("csf_ratio", "") and self.text("routing", "minimal") == "adaptive":
            self.draft.leave(
                "csf_ratio", self.text("csf_ratio"), "loads count times the links of a path here"
            )
        self.rails()
        self.text("num_vcs", "")

    def tree(self) -> None:
        """Full fat trees (type 0) of three or two levels."""
        kind, levels, radix = self.whole("ft_type", 0), self.whole("num_levels"), self.whole("switch_radix")
        if kind != 0 or radix % 2:
            raise self.wrong(
                "PARAMS.ft_type", "this fat tree has no counterpart that is derived here", "0", str(kind)
            )
        half = max(1, radix // 2)
        switches = self.whole("switch_count")
        pods, rest = divmod(switches, half)
        if levels == 3 and rest == 0:
            down, up = [half, half, pods], [1, half, half]
        elif levels == 2:
            down, up = [half, switches], [1, half]
        else:
            raise self.wrong(
                "PARAMS.num_levels", "this fat tree has no counterpart that is derived here", "2 or 3"
            )
        self.draft.put("machine.fat-tree", "down", str(down), "switch_radix, switch_count, num_levels")
        self.draft.put("machine.fat-tree", "up", str(up))
        chunk = self.packets(90.0)
        inner = ("link_bandwidth", 12.5, "vc_size", 65536)
        own = ("cn_bandwidth", 12.5, "cn_vc_size", 65536)
        self.links(chunk, {"terminal": own, "local": inner, "global": inner}, "local")
        way = '"nearest-common-ancestor"'
        self.routing(
            {"adaptive": {"algorithm": way, "up": '"adaptive"'}, "static": {"algorithm": way}}, "adaptive"
        )
        if self.text("routing", "adaptive") == "static":
            self.draft.leave("routing", "static", "tables of CODES; here d-mod-k")
        for key in ("rail_routing", "terminal_radix", "soft_delay"):
            if self.text(key, ""):
                self.draft.leave(key, self.text(key), "no counterpart")
        self.text("ft_type", "")

    def mpi(self) -> None:
        """Constants of CODES' MPI layer (codes-nw-workload, nw-mpi)."""
        put = self.draft.put
        put("nic", "message_delay", '"10 ns"', "CODES' source")
        put("nic", "queue", "8", "CODES' source")
        put("nic", "handoff", '{ min = "0.5 ns", max = "1 ns" }', "CODES' source: codes_local_latency")
        put("mpi", "send_delay", '"3510 ns"', "CODES' source: 10 own + 2,500 software + 1,000 interface")
        put("mpi", "send_per_byte", '"0.55 ns/B"', "CODES' source: copy of an eager message")
        put("mpi", "send_overhead", '"0 s"')
        put("mpi", "recv_overhead", '"0 s"')
        put("mpi", "call_jitter", '{ min = "0.5 ns", max = "1 ns" }')
        put("mpi", "eager_threshold", '"none"', "as online workloads; of traces, an option of CODES' command")
        put("mpi.collectives", "allreduce", '"auto"')
        put("mpi.collectives", "broadcast", '"auto"')
        put("mpi.collectives", "allreduce_recursive_doubling_up_to", '"81920 B"', "CODES' source")
        put("mpi.collectives", "broadcast_binomial_below", '"12288 B"', "CODES' source")
        put("mpi.collectives", "broadcast_min_ranks", "8", "CODES' source")
        put("mpi.collectives", "broadcast_recursive_doubling_below", '"512 KiB"', "CODES' source")

    def storage(self, others: list[str]) -> None:
        """Burst buffers of MFNetSim: codes-store, lsm, and the store behind them."""
        groups = self.conf.sections.get("LPGROUPS", Section()).sections
        group = next((one for one in groups.values() if "codes-store" in one.values), None)
        if group is None:
            for model in others:
                self.draft.leave("modelnet_order", model, "a second network has no counterpart")
            return
        per_group = group.whole("codes-store", self.path)
        store = self.conf.sections.get("codes-store", Section())
        device = self.conf.sections.get("lsm", Section())
        put = self.draft.put
        put("storage", "nodes", f'{{ per_group = {per_group}, position = "last" }}', "LPGROUPS.codes-store")
        put("storage", "assignment", '"by-group"', "MFNetSim's source")
        manager = "storage.manager"
        put(
            manager,
            "block",
            f'"{store.whole("thread_buf_sz", self.path) or 16384} B"',
            "codes-store.thread_buf_sz",
        )
        put(
            manager,
            "pieces_in_flight",
            str(store.whole("req_threads", self.path) or 4),
            "codes-store.req_threads",
        )
        put(manager, "memory", f'"{store.whole("memory_size", self.path)} B"', "codes-store.memory_size")
        put(manager, "control_message", '"128 B"', "MFNetSim's source")
        put(manager, "object_per_file", "false", "MFNetSim's source: every request is for object 0")
        rates = {}
        for here, key, unit in (
            ("read", "read_rates", "MiB/s"), ("write", "write_rates", "MiB/s"),
            ("overhead", "write_overheads", "us"), ("seek", "write_seeks", "us"),
        ):  # fmt: skip
            found = device.values.get(key)
            if not found:
                raise self.wrong(f"lsm.{key}", "the key is missing", "a list of numbers")
            if len(set(found)) > 1:
                raise self.wrong(
                    f"lsm.{key}", "rates by size of requests have no counterpart", "one value", str(found)
                )
            if not re.fullmatch(r"[0-9]+(\.[0-9]*)?", found[0]):
                raise self.wrong(f"lsm.{key}", "not a number", "a list of numbers", found[0])
            rates[here] = f'"{number(float(found[0]))} {unit}"'
        for one, other in (("write_overheads", "read_overheads"), ("write_seeks", "read_seeks")):
            if device.values.get(one) != device.values.get(other):
                self.draft.leave(
                    f"lsm.{other}", ", ".join(device.values.get(other, [])), f"that of {one} is taken"
                )
        rates["seek_window"] = '"512 B"'
        inside = ", ".join(f"{key} = {value}" for key, value in rates.items())
        put("storage.device", "rate", f"{{ {inside} }}", "lsm; 1 MB/s is 2^20 B/s there")
        put(
            "storage.device",
            "capacity",
            f'"{store.whole("storage_size", self.path)} B"',
            "codes-store.storage_size",
        )
        if "simplenet" in others:
            rate, delay = self.real("net_bw_mbps"), self.real("net_startup_ns")
            put("storage.drain", "bandwidth", f'"{number(rate)} MB/s"', "simplenet: net_bw_mbps")
            put("storage.drain", "latency", f'"{number(delay)} ns"', "simplenet: net_startup_ns")
            threshold = store.whole("bb_threshold", self.path)
            if threshold:
                put("storage.drain", "threshold", f'"{threshold} B"', "codes-store.bb_threshold")
            self.draft.leave(
                "EXTERNAL_STR_GRP", None, "the store behind the buffers; here the drain of each server"
            )
        for name in ("resource", "test-checkpoint-client"):
            if name in self.conf.sections:
                values = self.conf.sections[name].values
                listed = ", ".join(f"{key} = {value[0]}" for key, value in values.items() if value)
                self.draft.leave(name, listed, "of other workloads, or the room of a server")


def _pairs(path: Path) -> list[tuple[int, int]] | None:
    """The cables of a file for dragonfly-dally: pairs of routers, 4 bytes each."""
    if not path.is_file() or path.stat().st_size > 1 << 28:
        return None
    data = path.read_bytes()
    return list(struct.iter_unpack("<ii", data[: len(data) // 8 * 8]))


def _arrangement(pairs: list[tuple[int, int]], groups: int, routers: int, ports: int) -> str | None:
    """The arrangement that has exactly these cables between routers."""
    if ports * routers * groups != len(pairs):
        return None
    for name in ("relative", "absolute", "circulant"):
        if sorted(pairs) == sorted(_cables(name, groups, routers, ports)):
            return name
    return None


def _cables(arrangement: str, groups: int, routers: int, ports: int) -> list[tuple[int, int]]:
    """Both directions of all global cables of a dragonfly, as pairs of routers, by the core."""
    text = (
        f"[machine.dragonfly]\ngroups = {groups}\nrouters_per_group = {routers}\nnodes_per_router = 1\n"
        f'global_ports_per_router = {ports}\narrangement = "{arrangement}"\n'
    )
    try:
        root = tree.fromstring(_core.graphml(text, "cabling.toml"))
    except _core.InputError:
        return []
    space = "{http://graphml.graphdrawing.org/xmlns}"
    names = {node.get("id"): place for place, node in enumerate(root.iter(f"{space}node"))}
    found = []
    for edge in root.iter(f"{space}edge"):
        one, other = names[edge.get("source")], names[edge.get("target")]
        if one // routers != other // routers:
            found += [(one, other), (other, one)]
    return found


def load(path: Path, conf: Section) -> Draft:
    """The scenario of the configuration at `path`, without jobs; raises `InputError` if there is none."""
    return _Import(path, conf).make()
