"""Configurations of CODES, MFNetSim and BookSim as scenarios."""

from __future__ import annotations

import json
import random
import struct
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT

from odonata import _core
from odonata.errors import InputError
from odonata.imports import files

#: The settings of the curves of studies/booksim, as a BookSim configuration.
BOOKSIM = """\
// Settings that all of them share.
packet_size = 1; injection_rate_uses_flits = 1; injection_rate = 0.1;
routing_delay = 0; credit_delay = 2; use_noc_latency = 0; num_vcs = 4;
vc_allocator = separable_input_first; sw_allocator = separable_input_first;
"""
CUBE, FLAT = "topology = {}; k = 8; n = {};", "topology = flatfly; k = 4; n = 2; c = 4;"
DRAGONFLY = "topology = dragonflynew; k = 4; n = 1; vc_buf_size = 256; internal_speedup = 2.0;"
CASES = {
    "torus2d_dor_neighbor": CUBE.format("torus", 2) + "routing_function = dim_order; traffic = neighbor;",
    "torus2d_dor_tornado": CUBE.format("torus", 2) + "routing_function = dim_order; traffic = tornado;",
    "torus2d_dor_uniform": CUBE.format("torus", 2) + "routing_function = dim_order;",
    "torus2d_minadapt_tornado": CUBE.format("torus", 2) + "routing_function = min_adapt; traffic = tornado;",
    "torus2d_minadapt_uniform": CUBE.format("torus", 2) + "routing_function = min_adapt;",
    "torus3d_dor_uniform": CUBE.format("torus", 3) + "routing_function = dim_order;",
    "mesh2d_dor_uniform": CUBE.format("mesh", 2) + "routing_function = dor;",
    "mesh2d_valiant_transpose": CUBE.format("mesh", 2) + "routing_function = valiant; traffic = transpose;",
    "mesh2d_valiant_uniform": CUBE.format("mesh", 2) + "routing_function = valiant;",
    "fattree_nca_uniform": "topology = fattree; k = 4; n = 3; routing_function = nca;",
    "flatfly_ranmin_bitcomp": FLAT + "routing_function = ran_min; traffic = bitcomp;",
    "flatfly_ranmin_uniform": FLAT + "routing_function = ran_min;",
    "flatfly_ugal_uniform": FLAT + "routing_function = ugal;",
    "dragonfly_min_baddragon": DRAGONFLY + "routing_function = min; num_vcs = 2; traffic = bad_dragon;",
    "dragonfly_min_uniform": DRAGONFLY + "routing_function = min; num_vcs = 2;",
    "dragonfly_ugal_baddragon": DRAGONFLY + "routing_function = ugal; num_vcs = 3; traffic = bad_dragon;",
    "dragonfly_ugal_uniform": DRAGONFLY + "routing_function = ugal; num_vcs = 3;",
}

#: The network of the MFNetSim case study, as a CODES configuration.
DALLY = """\
LPGROUPS
{
    # Two servers and 30 clients in each group.
    GROUP { repetitions = "33"; codes-store = "2"; lsm = "2"; test-checkpoint-client = "30";
            modelnet_simplenet = "1"; modelnet_dragonfly_dally = "32";
            modelnet_dragonfly_dally_router = "8"; }
    OUTSIDE { repetitions = "1"; codes-external-store = "1"; modelnet_simplenet = "1"; }
}
PARAMS
{
    modelnet_order = ( "dragonfly_dally", "dragonfly_dally_router", "simplenet" );
    packet_size = "4096"; chunk_size = "4096"; modelnet_scheduler = "fcfs"; message_size = "872";
    num_routers = "8"; num_groups = "33"; num_cns_per_router = "4"; num_global_channels = "4";
    local_vc_size = "16384"; global_vc_size = "16384"; cn_vc_size = "32768";
    local_bandwidth = "5.25"; global_bandwidth = "4.7"; cn_bandwidth = "16.0";
    inter-group-connections = "/somewhere/inter"; routing = "prog-adaptive"; surprise = "17";
    net_bw_mbps = "1600.0"; net_startup_ns = "1000";
}
codes-store { req_threads = "4"; thread_buf_sz = "1000000"; memory_size = "64000000000";
              storage_size = "6400000000000"; bb_threshold = "1000000000000"; }
lsm { request_sizes = ("0"); write_rates = ("5700.0"); read_rates = ("5700.0"); write_seeks = ("2500.0");
      read_seeks = ("2500.0"); write_overheads = ("20.0"); read_overheads = ("20.0"); }
"""
WORKLOAD = "300 milc\n300 conceptual-checkpoint\n300 conceptual-cosmo\n"
PLACES = "".join(" ".join(str(300 * job + rank) for rank in range(300)) + " \n" for job in range(3))


def differences(one, other, place=""):
    """Keys of two resolved scenarios that differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = sorted(set(one) | set(other))
        return [
            found for key in keys for found in differences(one.get(key), other.get(key), f"{place}/{key}")
        ]
    return [] if one == other else [place]


@pytest.mark.parametrize("name", CASES)
def test_a_booksim_configuration_is_the_scenario_that_its_curve_is_held_against(tmp_path, name):
    path = tmp_path / name
    path.write_text(BOOKSIM + CASES[name].replace(";", ";\n"))
    text = files.load([path]).text()
    study = ROOT / f"studies/booksim/scenarios/{name}.toml"
    workload = next(iter(tomllib.loads(text)["jobs"][0]["workload"]))
    stop = [f'jobs.0.workload.{workload}.stop="10000 ns"']
    mine, theirs = (json.loads(_core.resolve(one, str(study), stop)) for one in (text, study.read_text()))
    assert differences(mine, theirs) == []


def test_an_mfnetsim_run_is_the_scenario_of_its_study(tmp_path, shell):
    for name, text in (("dally.conf", DALLY), ("jobs.conf", WORKLOAD), ("nodes.conf", PLACES)):
        (tmp_path / name).write_text(text)
    done = shell("import", "dally.conf", "jobs.conf", "nodes.conf", "-o", "run.toml")
    assert done.code == 0, done.err
    assert "not imported: surprise = 17: no counterpart" in done.err
    text = (tmp_path / "run.toml").read_text()
    assert "# - surprise = 17: no counterpart" in text
    assert 'bandwidth = "4.7 GiB/s"  # global_bandwidth' in text
    study = ROOT / "studies/mfnetsim/scenarios/cont-par-wkld2.toml"
    mine, theirs = (
        json.loads(_core.resolve(one.read_text(), str(one))) for one in (tmp_path / "run.toml", study)
    )
    found = differences(mine, theirs)
    # The study leaves out the store behind the buffers, which is never used, and names nodes by a file.
    assert found == ["/jobs", "/machine/dragonfly/cables", "/name", "/preset", "/storage/drain"]
    for job, other in zip(mine["jobs"], theirs["jobs"], strict=True):
        assert job["placement"]["clients"] == list(
            range(int(job["placement"]["clients"][0]), 300 + job["placement"]["clients"][0])
        )
        assert [key for key in differences(job, other) if not key.startswith(("/placement", "/name"))] == []


def test_the_file_of_global_cables_says_the_arrangement(tmp_path):
    groups, routers, ports = 33, 8, 4
    relative = [
        (8 * g + i, 8 * ((g + 4 * i + p + 1) % groups) + 7 - i)
        for g in range(groups)
        for i in range(routers)
        for p in range(ports)
    ]
    path = tmp_path / "dally.conf"
    path.write_text(DALLY)
    (tmp_path / "inter").write_bytes(b"".join(struct.pack("<ii", *pair) for pair in relative))
    text = files.load([path]).text()
    assert 'arrangement = "relative"  # compared with all cables of the file' in text
    wrong = [(*relative[0][:1], 9), *relative[1:]]
    (tmp_path / "inter").write_bytes(b"".join(struct.pack("<ii", *pair) for pair in wrong))
    with pytest.raises(InputError, match="1 links from router 0 to 9, 0 back"):
        files.load([path])
    # Cables by no arrangement: two routers exchange the far ends of a cable.
    (one, far), (other, end) = relative[0], relative[4]
    moved = {
        (one, far): (one, end),
        (far, one): (end, one),
        (other, end): (other, far),
        (end, other): (far, other),
    }
    own = [moved.get(pair, pair) for pair in relative]
    (tmp_path / "inter").write_bytes(b"".join(struct.pack("<ii", *pair) for pair in own))
    draft = files.load([path])
    assert draft.beside is not None
    rows = draft.beside.text.splitlines()
    assert (len(rows), rows[0], draft.beside.key) == (1 + len(own) // 2, "a,b", "global_cables")


def test_groups_of_dally_are_given_as_rows_and_columns_too(tmp_path, shell):
    rows = 'num_router_rows = "2"; num_router_cols = "4";'
    for name, sizes in (("both", rows), ("columns", 'num_router_cols = "8";')):
        (tmp_path / name).write_text(DALLY.replace('num_routers = "8";', sizes))
        message = shell("import", name).out
        assert "routers_per_group = 8  # num_router_rows x num_router_cols" in message
    (tmp_path / "all").write_text(DALLY.replace('num_routers = "8";', f'num_routers = "8"; {rows}'))
    done = shell("import", "all")
    assert "routers_per_group = 8  # num_routers" in done.out
    assert "num_router_cols = 4: num_routers says how many routers a group has" in done.err
    (tmp_path / "none").write_text(DALLY.replace('num_routers = "8";', ""))
    refused = shell("import", "none")
    assert refused.code == 2
    message = " ".join(refused.err.split())
    assert "--> none key PARAMS.num_routers expected routers of a group, or num_router_rows and" in message


def test_a_buffer_that_is_too_small_is_reported_at_the_key_of_the_configuration(tmp_path, shell):
    (tmp_path / "dally.conf").write_text(DALLY.replace('cn_vc_size = "32768";', ""))
    refused = shell("import", "dally.conf", "-o", "run.toml")
    assert refused.code == 2
    message = " ".join(refused.err.split())
    assert "--> dally.conf key PARAMS.cn_vc_size" in message
    assert "found 1024, CODES' default: the file has no cn_vc_size" in message
    assert "expected at least packet_size, 4096" in message
    assert "run.toml" not in message
    assert not (tmp_path / "run.toml").exists()


def test_what_the_scenario_would_refuse_is_reported_at_the_configuration(tmp_path, shell):
    (tmp_path / "dally.conf").write_text(DALLY.replace('num_groups = "33";', 'num_groups = "0";'))
    refused = shell("import", "dally.conf", "-o", "run.toml")
    assert refused.code == 2
    message = " ".join(refused.err.split())
    assert "--> dally.conf key machine.dragonfly.groups" in message
    assert "machine.dragonfly.groups of the scenario comes from: num_groups" in message
    assert "run.toml" not in message


#: Other networks of CODES: PARAMS, and required parts of the scenario.
NETWORKS = {
    "torus": (
        'n_dims = "3"; dim_length = "4,4,2"; link_bandwidth = "10.0"; buffer_size = "8192";',
        ["[machine.torus]", "dims = [4, 4, 2]", 'bandwidth = "10 GiB/s"'],
    ),
    "slimfly": (
        'num_routers = "13"; num_terminals = "9"; generator_set_X = ("1","10"); routing = "adaptive";',
        ["[machine.slim-fly]", "q = 13", 'algorithm = "ugal"'],
    ),
    "dragonfly": ('num_routers = "4"; routing = "nonminimal";', ["groups = 9", 'algorithm = "valiant"']),
    "dragonfly_custom": (
        'num_groups = "9"; num_router_rows = "6"; num_router_cols = "16"; num_cns_per_router = "4"; '
        'num_global_channels = "10"; routing = "adaptive";',
        ["[machine.dragonfly-2d]", "rows = 6", "[network.links.column]"],
    ),
    "dragonfly_plus": (
        'num_groups = "7"; num_router_leaf = "12"; num_router_spine = "12"; num_cns_per_router = "12"; '
        'num_global_connections = "12"; routing = "minimal";',
        ["[machine.dragonfly-plus]", "spines_per_group = 12"],
    ),
    "fattree": (
        'ft_type = "0"; num_levels = "3"; switch_count = "32"; switch_radix = "8"; routing = "adaptive";',
        ["down = [4, 4, 8]", "up = [1, 4, 4]"],
    ),
}


@pytest.mark.parametrize("model", NETWORKS)
def test_every_network_of_codes_that_has_a_counterpart_is_a_machine(tmp_path, shell, model):
    params, expected = NETWORKS[model]
    sizes = 'packet_size = "512"; chunk_size = "512";'
    (tmp_path / "net.conf").write_text(f'PARAMS {{ modelnet_order = ( "{model}" ); {sizes} {params} }}\n')
    done = shell("import", "net.conf")
    assert done.code == 0, done.err
    for text in expected:
        assert text in done.out


def test_json_has_the_scenario_and_the_unused_settings(tmp_path, shell):
    (tmp_path / "mesh").write_text(
        "topology = mesh; k = 4; n = 2; routing_function = dor; wait_for_tail_credit = 1;"
    )
    answer = json.loads(shell("import", "mesh", "--json").out)
    assert "dims = [4, 4]" in answer["scenario"]
    assert answer["not_taken_over"] == [
        {
            "key": "wait_for_tail_credit",
            "value": "1",
            "reason": "no counterpart; the router works as with 0",
        }
    ]
    # A missing setting gets BookSim's default, with a comment.
    assert "vcs = 16  # num_vcs, BookSim's default" in answer["scenario"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("topology = anynet; network_file = x;", "cannot be read"),
        ("topology = torus; routing_function = chaos;", "this routing has no counterpart"),
        ("topology = torus; k 8;", "not a setting of BookSim"),
        ("topology = torus; routing_function = dim_order; k = eight;", "not a number"),
        ('PARAMS { modelnet_order = ( "simplenet" ); }', "no network with a counterpart"),
        ('PARAMS { modelnet_order = ( "torus" ; }', "not a configuration of CODES"),
        (
            'PARAMS { modelnet_order = ( "torus" ); n_dims = "2"; dim_length = "4"; }',
            "the number of lengths differs",
        ),
        ("300 milc\n", "no network configuration among the files"),
        ("1 2 3\n", "no network configuration among the files"),
        ("", "unknown kind of file"),
    ],
)
def test_what_cannot_be_taken_over_is_refused_with_the_place(tmp_path, shell, content, words):
    (tmp_path / "given").write_text(content)
    refused = shell("import", "given", "-o", "out.toml")
    assert refused.code == 2
    assert words in refused.err
    assert "given" in refused.err
    assert not (tmp_path / "out.toml").exists()


def test_files_that_do_not_fit_together_are_refused(tmp_path, shell):
    for name, text in (("dally.conf", DALLY), ("jobs.conf", WORKLOAD), ("nodes.conf", PLACES)):
        (tmp_path / name).write_text(text)
    (tmp_path / "few.conf").write_text("1 2 3\n")
    assert "another number of lines" in shell("import", "dally.conf", "jobs.conf", "few.conf").err
    assert "nodes of no jobs" in shell("import", "dally.conf", "nodes.conf").err
    assert "a second file" in shell("import", "dally.conf", "jobs.conf", "jobs.conf").err
    (tmp_path / "short.conf").write_text("1 2\n3 4\n5 6\n")
    assert "more ranks than nodes in its line" in shell("import", "dally.conf", "jobs.conf", "short.conf").err


def test_damaged_configurations_are_refused_or_taken_and_nothing_else():
    lot = random.Random(1)
    folder = Path("unused")
    whole = [DALLY, BOOKSIM + CASES["dragonfly_ugal_uniform"]]
    for _ in range(400):
        text = list(lot.choice(whole))
        for _ in range(lot.choice([1, 3, 10])):
            place = lot.randrange(len(text))
            match lot.randrange(3):
                case 0:
                    del text[place : place + lot.choice([1, 5, 50])]
                case 1:
                    text[place] = lot.choice('{}()=;",#\n\0a9-e.')
                case _:
                    text[place:place] = list(lot.choice(["9" * 30, "-1", "nan", "1e400", "{" * 20, '"']))
            if not text:
                text = ["x"]
        try:
            _taken("".join(text), folder)
        except InputError:
            continue


def _taken(text, folder):
    from odonata.imports import booksim, codes, codes_conf

    if "PARAMS" in text:
        draft = codes.load(folder, codes_conf.parse(text, folder))
    else:
        draft = booksim.load(folder, text)
    assert draft.text()
