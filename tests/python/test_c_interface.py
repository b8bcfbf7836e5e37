"""The library for C: its header, its installation, and its times beside those of `odonata.Network`."""

from __future__ import annotations

import random
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import launcher
import pytest
from conftest import ROOT

import odonata

CRATE = ROOT / "crates/system/odonata-c"

#: The crate's types in C.
C_TYPES = {
    "Status": "odonata_status",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "f64": "double",
    "c_char": "char",
    "c_void": "void",
    "Network": "odonata_network",
    "Message": "odonata_message",
    "Event": "odonata_event",
    "Callback": "odonata_callback",
    "Totals": "odonata_totals",
    "Link": "odonata_link",
}


def c_type(rust: str) -> str:
    """A type in C, without spaces around asterisks."""
    if found := re.fullmatch(r"\*(mut|const) (.+)", rust):
        inner = c_type(found[2])
        if found[1] == "mut":
            return f"{inner}*"
        return f"{inner}const*" if inner.endswith("*") else f"const {inner}*"
    return C_TYPES[rust]


def declared(text: str) -> str:
    """A declaration of C with single spaces, and none around asterisks and brackets."""
    return re.sub(r" ?([*(),\[\]]) ?", r"\1", " ".join(text.split()))


def header() -> str:
    """The header without comments and directives."""
    text = re.sub(r"/\*.*?\*/", " ", (CRATE / "include/odonata.h").read_text(), flags=re.DOTALL)
    return re.sub(r"(?m)^#.*$", "", text)


def test_the_header_declares_the_functions_of_the_library() -> None:
    source = (CRATE / "src/lib.rs").read_text()
    functions = re.findall(
        r'#\[unsafe\(no_mangle\)\]\npub (?:unsafe )?extern "C" fn (\w+)\(([^)]*)\) -> ([^{]+) \{', source
    )
    expected = set()
    for name, arguments, result in functions:
        pairs = [one.split(": ") for one in re.split(r",\s*", arguments.strip()) if one]
        parameters = ", ".join(f"{c_type(rust)} {argument}" for argument, rust in pairs)
        expected.add(declared(f"{c_type(result)} {name}({parameters or 'void'})"))
    found = {declared(text) for text in re.findall(r"(?m)^([\w* ]+\bodonata_\w+\([^;{]*\));", header())}
    assert len(functions) == source.count("no_mangle") > 10
    assert found == expected


def test_structures_of_the_header_have_the_fields_of_the_library() -> None:
    rust = (CRATE / "src/network.rs").read_text()
    structures = re.findall(r"#\[repr\(C\)\]\n(?:#[^\n]*\n)*pub struct (\w+) \{(.*?)\n\}", rust, re.DOTALL)
    assert {name for name, _ in structures} == {"Event", "Message", "Totals", "Link"}
    for name, body in structures:
        expected = []
        for field, kind in re.findall(r"pub (\w+): ([^\n]+),\n", body + "\n"):
            array = re.fullmatch(r"\[(\w+); (\d+)\]", kind)
            expected.append(f"{c_type(array[1])} {field}[{array[2]}]" if array else f"{c_type(kind)} {field}")
        found = re.search(
            rf"typedef struct {C_TYPES[name]} \{{(.*?)\}} {C_TYPES[name]};", header(), re.DOTALL
        )
        assert found is not None
        fields = [declared(field) for field in found[1].split(";") if field.strip()]
        assert fields == [declared(field) for field in expected]


def test_constants_of_the_header_are_those_of_the_library() -> None:
    given = (CRATE / "include/odonata.h").read_text()
    source = "".join(path.read_text() for path in (CRATE / "src").glob("*.rs"))
    constants = re.findall(r"pub const ([A-Z_]+): (?:Status|u32) = (\d+);", source)
    assert sorted(constants) == sorted(re.findall(r"ODONATA_([A-Z_]+) = (\d+)", given))
    (abi,) = re.findall(r"#define ODONATA_ABI (\d+)", given)
    assert f'pub extern "C" fn odonata_abi() -> u32 {{\n    {abi}\n}}' in source
    assert f"libodonata.so.{abi}" in (CRATE / "build.rs").read_text()


Compile = Callable[..., Path]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the installed library."""
    built = ROOT / "target/release/deps"
    if not (built / "libodonata.a").exists():
        pytest.skip("the library for C is not built: cargo test --release -p odonata-c")
    prefix = tmp_path_factory.mktemp("c library")
    done = launcher.run([ROOT / "packaging/c-library.sh", built, prefix])
    assert done.returncode == 0, done.stderr
    return prefix


@pytest.fixture(scope="module")
def compiled(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compiles a program in C or C++ against the shared library."""
    folder = tmp_path_factory.mktemp("programs")

    def compiled(source: str, *options: str) -> Path:
        program = folder / Path(source).stem
        cc = ["c++", "-std=c++17"] if source.endswith(".cc") else ["cc", "-std=c11"]
        if shutil.which(cc[0]) is None:
            pytest.skip(f"there is no compiler {cc[0]}")
        lib = installed / "lib"
        command = [*cc, "-Wall", "-Wextra", "-Werror", "-O1", *options, ROOT / source]
        command += [f"-I{installed / 'include'}", f"-L{lib}", "-lodonata", f"-Wl,-rpath,{lib}", "-o", program]
        done = launcher.run(command)
        assert done.returncode == 0, done.stderr
        return program

    return compiled


def run(program: Path, *arguments: str, given: str = "") -> str:
    """What a program prints for the standard input `given`."""
    done = launcher.run([program, *arguments], input=given)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return done.stdout


def test_the_installed_library_has_a_version_and_no_other_names(installed: Path) -> None:
    described = (installed / "lib/pkgconfig/odonata.pc").read_text()
    assert f"\nVersion: {odonata.__version__}\n" in described
    assert f"prefix={installed}\n" in described
    if sys.platform == "linux" and shutil.which("nm"):
        listed = launcher.run(["nm", "-D", "--defined-only", installed / "lib/libodonata.so"]).stdout
        names = {line.split()[-1] for line in listed.splitlines()}
        assert names == set(re.findall(r"\b(odonata_\w+)\(", header()))


MACHINES = {
    "packets": 'machine.torus.dims = [4, 4]\nnetwork.routing.algorithm = "minimal-adaptive"\n',
    "flows": 'machine.torus.dims = [4, 4]\nnetwork.fidelity = "flow"\n',
    "dragonfly": (
        "machine.dragonfly = { groups = 5, routers_per_group = 4, nodes_per_router = 2, "
        'global_ports_per_router = 2 }\nnetwork.routing.algorithm = "progressive-adaptive"\n'
    ),
}


def random_calls(seed: int) -> list[str]:
    """Lines for `calls.c`, a mixture of all calls; the last ones run the network and print all counters."""
    draws = random.Random(seed)
    lines = []
    for _ in range(60):
        at_ps = draws.choice([0, 0, draws.randrange(40_000_000)])
        source, target = draws.sample(range(16), 2)
        how = draws.choice(["call", "poll"])
        size = draws.choice([0, 1, 100, 5000, 200_000])
        lines.append(f"send {source} {target} {size} {at_ps} {draws.randrange(4)} {how}")
        if draws.random() < 0.4:
            later = draws.randrange(30_000_000)
            lines.append(draws.choice([f"advance {later}", f"step {later}", "step", "run", "totals"]))
            lines.append("state")
    return [*lines, "run", "state", "totals", "links"]


def by_python(machine: Path, seed: int, lines: list[str]) -> str:
    """What `calls.c` is to print, by `odonata.Network`."""
    network = odonata.Network(machine, seed=seed)
    printed: list[str] = []
    polled: list[str] = []

    def send(source: int, target: int, size: int, at_ps: int, notify: int, how: str, answer: int) -> None:
        out = printed if how == "called" else polled

        def sent(message: int, now_ps: int) -> None:
            out.append(f"{how} {message} sent {now_ps}")

        def delivered(message: int, now_ps: int) -> None:
            out.append(f"{how} {message} delivered {now_ps}")
            if how == "called" and answer:
                send(target, source, answer, 0, 2, "called", 0)

        network.send(
            source,
            target,
            size,
            at_ps=at_ps,
            on_sent=sent if notify & 1 else None,
            on_delivered=delivered if notify & 2 else None,
        )

    for line in lines:
        name, *rest = line.split()
        if name == "send":
            *numbers, how = rest
            source, target, size, at_ps, notify = map(int, numbers)
            send(source, target, size, at_ps, notify, f"{how}ed", size // 2)
        elif name == "advance":
            network.advance(int(rest[0]))
        elif name == "step":
            network.step(int(rest[0]) if rest else None)
        elif name == "run":
            network.run()
        elif name == "totals":
            printed.append("totals " + " ".join(f"{value:.17g}" for value in network.totals().values()))
        elif name == "links":
            for link in network.links():
                ends = [
                    -1 if link[key] is None else link[key] for key in ("from_router", "to_router", "node")
                ]
                counters = f"{link['bytes']} {link['packets']} {link['busy_s']:.17g} {link['stall_s']:.17g}"
                printed.append(f"link {' '.join(map(str, ends))} {link['class']} {counters}")
        else:
            then_ps = 2**64 - 1 if network.next_event_ps is None else network.next_event_ps
            printed.append(f"state {network.nodes} {network.now_ps} {then_ps} {network.is_idle:d}")
        printed += polled
        polled.clear()
    return "\n".join(printed) + "\n"


@pytest.mark.parametrize("name", MACHINES)
def test_calls_give_the_same_times_as_in_python(compiled: Compile, tmp_path: Path, name: str) -> None:
    program = compiled("crates/system/odonata-c/tests/c/calls.c")
    machine = tmp_path / "machine.toml"
    machine.write_text(MACHINES[name])
    for seed in range(4):
        lines = random_calls(seed)
        found = run(program, str(machine), f"seed={seed}", given="\n".join(lines) + "\n")
        expected = by_python(machine, seed, lines)
        assert found.splitlines() == expected.splitlines()
        assert "called" in found
        assert "polled" in found


def test_a_preset_opens_by_its_name(compiled: Compile) -> None:
    program = compiled("crates/system/odonata-c/tests/c/calls.c")
    assert run(program, "theta", given="state\n").split()[1] == str(odonata.Network("theta").nodes)


def test_components_of_a_kernel_pass_a_token_at_the_times_of_python(
    compiled: Compile, tmp_path: Path
) -> None:
    program = compiled("examples/backend/components/ring.cc")
    machine = tmp_path / "machine.toml"
    machine.write_text(MACHINES["packets"])
    compute_ps = 500_000
    network = odonata.Network(machine)
    arrivals: list[str] = []

    def pass_on(node: int, at_ps: int) -> None:
        target = (node + 1) % network.nodes

        def take(_: int, now_ps: int) -> None:
            arrivals.append(f"{target} {now_ps}")
            if target != 0:
                pass_on(target, now_ps)

        # A message enters its interface a picosecond after it is sent.
        network.send(node, target, 10_000, at_ps=at_ps + compute_ps + 1, on_delivered=take)

    pass_on(0, 0)
    network.run()
    assert len(arrivals) == network.nodes
    assert run(program, str(machine), "10000", str(compute_ps)).splitlines() == arrivals


def test_astra_sim_replays_its_calls_at_the_recorded_times(compiled: Compile, tmp_path: Path) -> None:
    folder = ROOT / "examples/backend/astra_sim"
    program = compiled("examples/backend/astra_sim/replay.cc")
    log = (folder / "all_reduce.log").read_text()
    assert run(program, str(folder / "machine.toml"), str(folder / "all_reduce.log")) == log
    # Each of eight ranks has finished, and has received as often as it has sent.
    kinds = [line.split()[0] for line in log.splitlines()]
    assert kinds.count("finished") == 8
    assert kinds.count("send") == kinds.count("receive") > 100
    # At half the bandwidth, each of 4 * 14 steps in a row takes longer by the time of its 32 KiB on a link.
    slower = tmp_path / "machine.toml"
    slower.write_text((folder / "machine.toml").read_text().replace("50 GB/s", "25 GB/s"))
    done = run(program, str(slower), str(folder / "all_reduce.log"))
    ends = [int(re.findall(r"(?m)^handler \d+ (\d+)$", text)[-1]) for text in (log, done)]
    assert ends[1] - ends[0] == pytest.approx(56 * 32_768 * 20, rel=0.005)
