"""`odonata calibrate` finds the parameters of a machine that was measured by simulating it."""

from __future__ import annotations

import json

import pytest

from odonata.calibration import machine as calibration
from odonata.errors import InputError

MACHINE = """\
[machine.dragonfly]
groups = 3
routers_per_group = 2
nodes_per_router = 2
global_ports_per_router = 1
[network.links.local]
bandwidth = "40 GB/s"
[network.links.global]
bandwidth = "40 GB/s"
"""
SIZES = (0, 64, 1024, 4096, 16384, 131072, 1048576)


def measure(folder, truth, pairs=((0, 5),), sizes=SIZES, error=lambda number: 0.0):
    """Writes the machine, and its measurements with the keys of `truth`, to files."""
    machine = folder / "machine.toml"
    machine.write_text(MACHINE)
    asked = [calibration.Measurement(size, 1.0, pair) for pair in pairs for size in sizes]
    times = calibration.Machine(machine, asked).latencies(truth)
    lines = [
        f"{one.bytes},{time * (1 + error(number)) * 1e6:.6f} us,{one.pair[0]},{one.pair[1]}\n"
        for number, (one, time) in enumerate(zip(asked, times, strict=True))
    ]
    (folder / "measured.csv").write_text("bytes,latency,from,to\n" + "".join(lines))
    return machine


def calibrated(shell, *options):
    done = shell("calibrate", "measured.csv", "machine.toml", "--json", *options)
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_software_overhead_and_link_rate_are_found_again(tmp_path, shell):
    measure(tmp_path, {"mpi.send_delay": "912 ns", "network.links.terminal.bandwidth": "7.3 GB/s"})
    found = calibrated(shell)
    assert found["values"]["software"] == pytest.approx(912e-9, rel=1e-3)
    assert found["values"]["bandwidth"] == pytest.approx(7.3e9, rel=1e-3)
    assert found["residual"] < 1e-4
    assert [row["bytes"] for row in found["sizes"]] == list(SIZES)
    # The machine with the printed settings gives the measurements.
    again = measure(tmp_path, found["settings"])
    times = calibration.Machine(again, calibration.read(tmp_path / "measured.csv")).latencies(
        found["settings"]
    )
    assert times == pytest.approx([row["simulated_s"] for row in found["sizes"]], rel=1e-9)


def test_printed_ping_pongs_of_osu_and_imb_are_read_as_they_are(tmp_path):
    """Half a round trip in us: column 2 of osu_latency, column 3 of IMB. Other tables of IMB are skipped."""
    osu = (
        "srun: job 17 has been allocated resources\n# OSU MPI Latency Test v7.3\n# Datatype: MPI_CHAR.\n"
        "# Size       Avg Latency(us)      P50 Tail Lat(us)\n1             1.85     1.80\r\n"
        "1048576     149.25   140\n"
        "\nslurmstepd: done\n"
    )
    line = "#" + 55 * "-" + "\n"
    head = "#bytes #repetitions      t[usec]   Mbytes/sec\n"
    imb = (
        f"{line}#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part\n{line}\n{line}# Benchmarking PingPong \n"
        f"# #processes = 2 \n# ( 62 additional processes waiting in MPI_Barrier)\n{line}       {head}"
        f"            0         1000         1.85         0.00\n"
        f"      1048576           40       149.25      7025.6\n\n"
        f"{line}# Benchmarking PingPing \n# #processes = 2 \n{line}       {head}"
        f"            0         1000         9.99         0.00\n\n# All processes entering MPI_Finalize\n"
    )
    for text, small in ((osu, 1), (imb, 0)):
        (tmp_path / "out.txt").write_text(text)
        found = calibration.read(tmp_path / "out.txt", (2, 3))
        assert [(one.bytes, one.pair) for one in found] == [(small, (2, 3)), (1 << 20, (2, 3))]
        assert [one.latency_s for one in found] == pytest.approx([1.85e-6, 149.25e-6])
    for text, number, value in (
        (
            "# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n1   1.83\n",
            1,
            "OSU MPI Bandwidth Test",
        ),
        ("# OSU MPI Allreduce Latency Test v7.3\n# Size   Avg Latency(us)\n4   1.83\n", 1, "Allreduce"),
        (imb.replace("Benchmarking PingPong ", "Benchmarking Sendrecv "), 2, "IMB Sendrecv, IMB PingPing"),
        ("IOR-3.3.0: MPI Coordinated Test of Parallel I/O\n", 1, "IOR-3.3.0"),
        (osu.replace("149.25", "nan"), 6, "nan"),
        (osu.replace("1.85", "0.00"), 5, "0.00"),
        (osu.replace("1048576 ", "99999999999999 "), 6, "99999999999999"),
        (osu.replace("149.25   140", ""), 6, "1048576"),
    ):
        (tmp_path / "out.txt").write_text(text)
        with pytest.raises(InputError) as caught:
            calibration.read(tmp_path / "out.txt")
        assert (caught.value.line, value in caught.value.value) == (number, True)


def test_the_eager_threshold_is_found_between_two_sizes(tmp_path, shell):
    truth = {"mpi.send_delay": "912 ns", "mpi.eager_threshold": "4096 B"}
    measure(tmp_path, truth)
    found = calibrated(shell, "--fit", "software,bandwidth,eager")
    assert found["settings"]["mpi.eager_threshold"] == "4096 B"
    assert found["values"]["software"] == pytest.approx(912e-9, rel=1e-3)


def test_errors_of_measurement_show_as_residuals_and_standard_errors(tmp_path, shell):
    truth = {"mpi.send_delay": "2 us", "network.links.terminal.bandwidth": "5 GB/s"}
    measure(tmp_path, truth, error=lambda number: 0.04 if number % 2 else -0.04)
    found = calibrated(shell)
    assert found["residual"] == pytest.approx(0.04, abs=0.01)
    assert found["values"]["software"] == pytest.approx(2e-6, rel=0.1)
    assert 0.001 < found["standard_errors"]["bandwidth"] < 0.1
    page = shell("calibrate", "measured.csv", "machine.toml").out
    assert 'mpi.send_delay = "' in page
    assert "Residual 4" in page or "Residual 3" in page


def test_pairs_of_different_distance_separate_hops_from_software(tmp_path, shell):
    truth = {"mpi.send_delay": "912 ns", "network.router_delay": "250 ns"}
    measure(tmp_path, truth, pairs=((0, 1), (0, 2), (0, 5)), sizes=(0, 64, 1024, 65536))
    found = calibrated(shell, "--fit", "software,hop,bandwidth")
    assert found["values"]["hop"] == pytest.approx(250e-9, rel=1e-2)
    assert found["values"]["software"] == pytest.approx(912e-9, rel=1e-2)


@pytest.mark.parametrize(
    ("fit", "sizes", "words"),
    [
        ("software,hop", SIZES, "do not determine software and hop"),
        ("software,bandwidth,per-byte", SIZES, "do not determine bandwidth and per-byte"),
        ("bandwidth", (0, 8), "do not determine bandwidth"),
        ("software,bandwidth", (0, 8), "2 measurements do not determine 2 parameters"),
        ("software,eager", (0, 8, 64, 512), "show no step"),
        ("magic", SIZES, "no such parameter"),
    ],
)
def test_what_the_data_cannot_determine_is_refused(tmp_path, shell, fit, sizes, words):
    measure(tmp_path, {"mpi.eager_threshold": "none"}, sizes=sizes)
    refused = shell("calibrate", "measured.csv", "machine.toml", "--fit", fit)
    assert refused.code == 2
    assert words in refused.err


def test_a_machine_that_is_slower_without_software_is_reported(tmp_path, shell):
    measure(tmp_path, {"mpi.send_delay": "300 ns"}, error=lambda number: -0.5)
    refused = shell("calibrate", "measured.csv", "machine.toml", "--fit", "software")
    assert refused.code == 2
    assert "slower than the measurements even without software" in refused.err


def test_slow_links_on_the_way_are_named_where_terminal_links_have_no_influence(tmp_path, shell):
    measure(tmp_path, {"mpi.send_delay": "912 ns", "network.links.terminal.bandwidth": "7.3 GB/s"})
    (tmp_path / "machine.toml").write_text(MACHINE.replace('"40 GB/s"', '"5 GB/s"', 1))
    refused = shell("calibrate", "measured.csv", "machine.toml")
    assert refused.code == 2
    message = " ".join(refused.err.split())
    assert "terminal links have no influence: 1048576 B take" in message
    assert "--> machine.toml key network.links.terminal.bandwidth" in message
    assert "network.links.local.bandwidth is 5 GB/s" in message
    assert "faster links on the path than the measured 7." in message


def test_missing_nodes_are_reported_at_the_option_or_the_row(tmp_path, shell):
    (tmp_path / "machine.toml").write_text(MACHINE)
    (tmp_path / "measured.csv").write_text("bytes,latency\n0,1 us\n8,1 us\n64 KiB,9 us\n")
    refused = shell("calibrate", "measured.csv", "machine.toml", "--nodes", "0,500")
    assert refused.code == 2
    message = " ".join(refused.err.split())
    assert "there is no node 500 key --nodes found 500 expected 0 to 11" in message
    assert "<dict>" not in message
    (tmp_path / "measured.csv").write_text(
        "bytes,latency,from,to\n0,1 us,0,1\n8,1 us,0,1\n64 KiB,9 us,0,77\n"
    )
    refused = shell("calibrate", "measured.csv", "machine.toml")
    assert "--> measured.csv:4" in refused.err
    assert "key       to" in refused.err
    # Other errors are reported for the machine.
    (tmp_path / "machine.toml").write_text(MACHINE.replace("groups = 3", "groups = 0"))
    refused = shell("calibrate", "measured.csv", "machine.toml")
    assert "--> machine.toml" in refused.err
    assert "machine.dragonfly.groups" in refused.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bytes,latency\n8,1.3\n", "not a time"),
        ("bytes,latency\neight,1 us\n", "not a size"),
        ("bytes,speed\n8,1 us\n", "unknown column"),
        ("bytes\n8\n", "a column is missing"),
        ("bytes,latency\n", "no measurements"),
        ("bytes,latency\n8,1 us,3\n", "more cells than columns"),
        ("bytes,latency,from,to\n8,1 us,x,1\n", "not a node"),
        ("bytes,latency\n8,1e9 s\n", "not a time"),
        ("bytes,latency\n9999999 GiB,1 s\n", "size out of range"),
    ],
)
def test_measurements_that_are_none_are_refused_with_their_line(tmp_path, shell, text, words):
    (tmp_path / "machine.toml").write_text(MACHINE)
    (tmp_path / "measured.csv").write_text(text)
    refused = shell("calibrate", "measured.csv", "machine.toml")
    assert refused.code == 2
    assert words in refused.err
    assert "measured.csv:" in refused.err


def test_sizes_and_nodes_are_read_as_people_write_them(tmp_path):
    path = tmp_path / "measured.csv"
    path.write_text("bytes, latency\n0, 900 ns\n64 KiB, 1.5e1 us\n1 MB, 0.2 ms\n\n")
    found = calibration.read(path, (3, 7))
    assert [(one.bytes, one.pair) for one in found] == [(0, (3, 7)), (65536, (3, 7)), (1_000_000, (3, 7))]
    assert [one.latency_s for one in found] == pytest.approx([9e-7, 1.5e-5, 2e-4])
