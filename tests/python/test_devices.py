"""`odonata device`: presets, a device alone, parameters from measurements."""

import json

import pytest
from conftest import ROOT

import odonata
from odonata.errors import InputError

#: Table 1 of MFNetSim, the column "Model" of its SSD.
TABLE_ONE = """\
operation,pattern,record,queue_depth,iops,bandwidth,latency
read,random,4 KiB,1,8474.58,,
read,sequential,512 KiB,1,,392.04 MB/s,
write,random,4 KiB,1,,,71 us
write,sequential,512 KiB,1,,388.26 MB/s,
"""


def test_the_model_of_a_product_leads_to_its_preset():
    """People remember the end of a name, exactly or nearly: P3608, p4510."""
    for asked, meant in (("P3608", "datawarp-p3608"), ("p4510", "intel-d3-s4510"), ("cori", "cori-bb")):
        with pytest.raises(InputError) as raised:
            odonata.device_preset(asked)
        assert raised.value.hint == f"did you mean {meant}?"


def test_a_kind_of_device_leads_to_a_preset_of_it():
    for asked, meant in (("hdd", "seagate-st2000nx0253"), ("ssd", "intel-d3-s4510")):
        with pytest.raises(InputError) as raised:
            odonata.device_preset(asked)
        assert raised.value.hint == f"did you mean {meant}?"


def test_presets_are_listed_and_shown_with_their_sources(shell):
    names = shell("device", "show").out.split()
    assert names == ["cori-bb", "datawarp-p3608", "intel-d3-s4510", "seagate-st2000nx0253"]
    assert shell("device", "show", "--json").json == names
    shown = shell("device", "show", "intel-d3-s4510").out
    assert "# 1 / 8,474.58 IOPS." in shown
    assert 'page_read = "118 us"' in shown
    # The output is a valid device file.
    shell.write(shown, "mine.toml")
    preset = shell("device", "bench", "intel-d3-s4510", "--json", "--accesses", "100").json
    mine = shell("device", "bench", "mine.toml", "--json", "--accesses", "100").json
    assert preset["figures"] == mine["figures"]
    done = shell("device", "show", "floppy")
    assert done.code == 2
    assert "cori-bb" in done.err


def test_the_page_shows_what_the_command_says(shell):
    page = (ROOT / "docs/storage-devices.md").read_text()
    done = shell("device", "bench", "intel-d3-s4510", "--pattern", "random-read")
    assert (done.code, done.err) == (0, "")
    for line in done.out.splitlines():
        assert f"    {line}\n" in page
    csv = "".join(f"    {line}\n" for line in TABLE_ONE.splitlines())
    assert csv in page


def test_a_device_alone_answers_in_json(shell):
    report = shell(
        "device", "bench", "datawarp-p3608", "--pattern=random-read", "--queue-depth=64", "--json"
    ).json
    assert report["name"] == "datawarp-p3608"
    assert report["device"]["nvme"]["lanes"] == 18
    figures = report["figures"]
    assert figures["accesses"] == 131_072
    # Little's law: 18 lanes of 20 us + 4,096 B / 5 GB/s.
    assert figures["iops"] == pytest.approx(18 / 20.8192e-6, rel=1e-3)
    assert figures["latency_us"]["min"] == pytest.approx(20.8192)
    assert figures["workload"]["record"] == "4 KiB"


def test_seeds_and_mixtures_are_options(shell):
    def figures(*options):
        common = ("--accesses", "2000", "--json")
        return shell("device", "bench", "seagate-st2000nx0253", *common, *options).json["figures"]

    reads = figures("--pattern", "random-read")
    assert reads == figures("--pattern", "random-read")
    assert reads["seconds"] != figures("--pattern", "random-read", "--seed", "2")["seconds"]
    mixed = figures("--pattern", "random-mixed", "--reads", "0.7")
    writes = figures("--pattern", "random-write")
    assert reads["iops"] < mixed["iops"] < writes["iops"]
    assert writes["flush_s"] > 0
    assert reads["flush_s"] == 0


def test_what_cannot_be_measured_is_refused(shell):
    def refused(*arguments):
        done = shell("device", "bench", *arguments)
        assert (done.code, done.out) == (2, ""), arguments
        return done.err

    assert "cori-bb, datawarp-p3608" in refused("floppy")
    assert "--record" in refused("cori-bb", "--record", "0 B")
    assert "--file" in refused("cori-bb", "--file", "512 KB")
    assert 'write "kB"' in refused("cori-bb", "--file", "512 KB")
    assert "--accesses" in refused("cori-bb", "--file", "1 PiB", "--record", "1 B")
    assert "--reads" in refused("cori-bb", "--reads", "0.5")
    assert "cannot be read" in refused("there/is/none.toml")
    shell.write("[hdd]\nrpm = 0\n", "disk.toml")
    error = refused("disk.toml")
    for part in ("disk.toml", "hdd.rpm", "60 to 100000"):
        assert part in error
    shell.write("[hdd]\n\nrpn = 7200\n", "disk.toml")
    assert "disk.toml:3" in refused("disk.toml")
    error = shell("device", "bench", "disk.toml", "--json").json["error"]
    assert (error["line"], error["key"]) == (3, "hdd.rpn")


def test_a_device_is_derived_and_can_be_measured(shell):
    shell.write(TABLE_ONE, "table.csv")
    done = shell("device", "fit", "table.csv", "--model", "ssd")
    assert (done.code, done.err) == (0, "")
    assert "as many measurements as parameters" in done.out
    shell.write(done.out, "ssd.toml")
    report = shell("device", "bench", "ssd.toml", "--json").json
    assert report["figures"]["bandwidth_mb_s"] == pytest.approx(392.04, abs=0.01)
    fitted = shell("device", "fit", "table.csv", "--model", "ssd", "--json").json
    assert fitted["device"] == report["device"]
    assert [row["row"] for row in fitted["residuals"]] == [1, 2, 3, 4]
    assert all(abs(row["error"]) < 1e-6 for row in fitted["residuals"])


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("read,random,4 KiB,1,8474.58,,", ["read_switch", "one page and of many pages"]),
        ("read,random,4 KB,1,8474.58,,", ["m.csv:2", "record", 'write "kB"']),
        ("read,random,4 KiB,one,8474.58,,", ["m.csv:2", "queue_depth", "a number"]),
        ("read,random,4 KiB,1,nan,,", ["m.csv:2", "iops"]),
        ("read,random,4 KiB,1,,,", ["m.csv:2", "one of iops, bandwidth, latency"]),
        ("peek,random,4 KiB,1,1,,", ["m.csv:2", "operation", "peek"]),
        ("read,random,4 KiB,1,1,,,9", ["m.csv:2", "more cells than columns"]),
        ("read,random,4 KiB,8,1,,", ["one access outstanding"]),
        ("", ["no measurements"]),
    ],
)
def test_measurements_that_say_too_little_are_refused(shell, text, parts):
    head = TABLE_ONE.splitlines()[0]
    shell.write(f"{head}\n{text}\n", "m.csv")
    done = shell("device", "fit", "m.csv", "--model", "ssd")
    assert (done.code, done.out) == (2, "")
    for part in ["m.csv", *parts]:
        assert part in done.err
    assert json.loads(shell("device", "fit", "m.csv", "--model", "ssd", "--json").out)["error"]["message"]


def test_a_hard_disk_is_not_derived(shell):
    shell.write(TABLE_ONE, "table.csv")
    done = shell("device", "fit", "table.csv", "--model", "hdd")
    assert done.code == 2
    assert "cannot separate" in done.err
    assert shell("device", "fit", "table.csv", "--model", "rate", "--page", "4 KiB").code == 2
