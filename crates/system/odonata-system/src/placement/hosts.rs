//! Nodes by the names of their hosts, on the presets of machines with published names.
//!
//! | preset | name | node |
//! |---|---|---|
//! | `lumi` | `x1302c0s3b0n0` or `nid006742` | network interface 0 of the host, on the switch of its chassis and board |
//! | `leonardo` | `lrdn0183`, with or without a domain | the host, on the leaf of its place in the rack |
//! | `marenostrum5` | `as03r2b17` | the host: island, rack, place in the rack |
//!
//! LUMI: `x` cabinet `c` chassis `s` slot `b` board `n` 0; a cabinet is a group of 124 hosts, numbered by chassis, slot and
//! board; four rows of six cabinets from x1100 on, whose first host is nid005000. Leonardo: cells of 6 racks of 30 hosts
//! on 3 leaves. Derived from the allocations of PICO (HLC-Lab/pico), which name host, switch and group.

/// The presets whose hosts have names.
pub const NAMED: [&str; 3] = ["lumi", "leonardo", "marenostrum5"];

/// The node of `host` in the machine of `preset`.
///
/// # Errors
/// The preset has no names, or no such host; the error is the expected form.
pub fn node(preset: &str, host: &str) -> Result<u32, String> {
    let (found, expected) = match preset {
        "lumi" => (lumi(host), "a name such as x1302c0s3b0n0 (x1100 to x1405) or nid006742"),
        "leonardo" => (leonardo(host), "a name from lrdn0001 to lrdn3456"),
        "marenostrum5" => (marenostrum5(host), "a name from as01r1b01 to as07r5b32"),
        _ => return Err(format!("a preset with names of hosts: {}", NAMED.join(", "))),
    };
    found.ok_or_else(|| expected.to_owned())
}

/// The numbers in `text`, which has the form of `letters`, each letter before a number of decimal digits.
fn numbers<const N: usize>(text: &str, letters: [&str; N]) -> Option<[u32; N]> {
    let mut rest = text;
    let mut found = [0; N];
    for (number, letter) in found.iter_mut().zip(letters) {
        rest = rest.strip_prefix(letter)?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        *number = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
    }
    rest.is_empty().then_some(found)
}

fn lumi(host: &str) -> Option<u32> {
    const HOSTS_OF_A_CABINET: u32 = 124;
    let (group, chassis, slot, board) = match numbers(host, ["nid"]) {
        Some([number]) => {
            let number = number.checked_sub(5_000)?;
            let within = number % HOSTS_OF_A_CABINET;
            (number / HOSTS_OF_A_CABINET, within / 16, within % 16 / 2, within % 2)
        }
        None => {
            let [cabinet, chassis, slot, board, _] = numbers(host, ["x", "c", "s", "b", "n"])?;
            let (row, place) = ((cabinet / 100).checked_sub(11)?, cabinet % 100);
            if row >= 4 || place >= 6 {
                return None;
            }
            (6 * row + place, chassis, slot, board)
        }
    };
    if group >= 24 || chassis >= 8 || slot >= 8 || board >= 2 {
        return None;
    }
    // 16 interfaces on a switch: two of each of 8 hosts. Interfaces 2 and 3 are on the switches from 16 on.
    let router = 32 * group + 2 * chassis + board;
    Some(16 * router + 2 * slot)
}

fn leonardo(host: &str) -> Option<u32> {
    /// The leaf of each host of a rack, in the order of the hosts.
    const LEAVES: [u32; 30] = [
        0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 0, 0, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2,
    ];
    let name = host.split('.').next()?;
    let [number] = numbers(name, ["lrdn"])?;
    let index = number.checked_sub(1).filter(|&index| index < 3_456)?;
    let (rack, place) = (index / 30, (index % 30) as usize);
    let leaf = LEAVES[place];
    let before = LEAVES[..place].iter().filter(|&&other| other == leaf).count() as u32;
    let router = 3 * rack + leaf;
    // The first 19 cells have 10 hosts on each of 18 leaves, cell 20 has 18.
    let first = 10 * router.min(19 * 18) + 18 * router.saturating_sub(19 * 18);
    Some(first + before)
}

fn marenostrum5(host: &str) -> Option<u32> {
    let [island, rack, place] = numbers(host, ["as", "r", "b"])?;
    let within = |number: u32, most: u32| (1..=most).contains(&number).then(|| number - 1);
    Some(32 * (5 * within(island, 7)? + within(rack, 5)?) + within(place, 32)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn both_names_of_a_host_of_lumi_mean_the_same_node() {
        // As PICO's allocations pair them.
        for (nid, xname) in [
            ("nid005193", "x1101c4s2b1n0"),
            ("nid006742", "x1302c0s3b0n0"),
            ("nid005421", "x1103c3s0b1n0"),
            ("nid007544", "x1402c4s0b0n0"),
        ] {
            assert_eq!(node("lumi", nid), node("lumi", xname), "{nid}");
        }
        // Eight hosts of a chassis and board are on one switch of 16 interfaces.
        let router = |slot: u32| node("lumi", &format!("x1302c0s{slot}b1n0")).unwrap() / 16;
        assert!((0..8).all(|slot| router(slot) == router(0)));
    }

    #[test]
    fn every_host_has_a_node_of_its_own() {
        let hosts = |names: Vec<String>, preset: &str, nodes: u32| {
            let found: BTreeSet<u32> = names.iter().map(|name| node(preset, name).unwrap()).collect();
            assert_eq!(found.len(), names.len(), "{preset}");
            assert!(found.iter().all(|&node| node < nodes), "{preset}");
        };
        hosts((5_000..7_976).map(|n| format!("nid{n:06}")).collect(), "lumi", 12_288);
        hosts(
            (1..=3_456).map(|n| format!("lrdn{n:04}.leonardo.local")).collect(),
            "leonardo",
            5_004,
        );
        let island = |island| {
            (1..=5).flat_map(move |rack| (1..=32).map(move |place| format!("as{island:02}r{rack}b{place:02}")))
        };
        hosts((1..=7).flat_map(island).collect(), "marenostrum5", 1_120);
    }

    #[test]
    fn hosts_of_a_leaf_of_leonardo_are_those_of_its_switch() {
        // PICO names the switches 10100, 10104 and 10102 of these hosts of rack 1.
        let leaf = |number: u32| node("leonardo", &format!("lrdn{number:04}")).unwrap() / 10;
        assert_eq!([1, 2].map(leaf), [0, 0]);
        assert_eq!([10, 11].map(leaf), [2, 2]);
        assert_eq!([15, 16].map(leaf), [1, 1]);
    }

    #[test]
    fn other_names_are_refused() {
        for (preset, host) in [
            ("lumi", "x1399c0s0b0n0"),
            ("lumi", "x1302c8s0b0n0"),
            ("lumi", "nid004999"),
            ("lumi", "x1302c0s3b0"),
            ("leonardo", "lrdn0000"),
            ("leonardo", "lrdn3457"),
            ("marenostrum5", "as08r1b01"),
            ("marenostrum5", "as01r1b01x"),
            ("theta", "nid00001"),
        ] {
            assert!(node(preset, host).is_err(), "{host}");
        }
    }
}
