//! Nodes by the names of their hosts, on the presets of machines with published names.
//!
//! | preset | name | node |
//! |---|---|---|
//! | `lumi` | `x1302c0s3b0n0` or `nid006742` | network interface 0 of the host, on the switch of its chassis and board |
//! | `leonardo` | `lrdn0183`, with or without a domain | the host, on the leaf of its place in the rack |
//! | `marenostrum5` | `as03r2b17` | the host: island, rack, place in the rack |
//! | `alps` | `x1100c0s6b1n0` | network interface 0 of the host |
//! | `aurora` | `x4109c0s5b0n0` | the host: rack, chassis, slot |
//! | `cori`, `theta-full` | `c3-0c1s15n2` | the host: cabinet and row, chassis, slot, node |
//!
//! LUMI: `x` cabinet `c` chassis `s` slot `b` board `n` 0; a cabinet is a group of 124 hosts, numbered by chassis, slot and
//! board; four rows of six cabinets from x1100 on, whose first host is nid005000. Leonardo: cells of 6 racks of 30 hosts
//! on 3 leaves. Derived from the allocations of PICO (HLC-Lab/pico), which name host, switch and group.
//!
//! Alps: four rows of six cabinets of 8 chassis of 7 slots of 2 boards (CSCS documentation); assumed: rows from x11 on.
//! Aurora: eight rows of racks, of which x4000, x4109 and x4519 are named; a rack is a group, a chassis has 8 slots (ALCF
//! user guides). Assumed: 21 racks in a row, and that the last two are the ones of 168 that do not exist. Cray XC: two
//! neighboring cabinets of a row of 12 are a group, a chassis is a row of its routers.

/// The presets whose hosts have names.
pub const NAMED: [&str; 7] = [
    "lumi",
    "leonardo",
    "marenostrum5",
    "alps",
    "aurora",
    "cori",
    "theta-full",
];

/// The node of `host` in the machine of `preset`.
///
/// # Errors
/// The preset has no names, or no such host; the error is the expected form.
pub fn node(preset: &str, host: &str) -> Result<u32, String> {
    let (found, expected) = match preset {
        "lumi" => (lumi(host), "a name such as x1302c0s3b0n0 (x1100 to x1405) or nid006742"),
        "leonardo" => (leonardo(host), "a name from lrdn0001 to lrdn3456"),
        "marenostrum5" => (marenostrum5(host), "a name from as01r1b01 to as07r5b32"),
        "alps" => (alps(host), "a name such as x1100c0s6b1n0 (x1100 to x1405)"),
        "aurora" => (aurora(host), "a name such as x4109c0s5b0n0 (x4000 to x4718)"),
        "cori" => (cray_xc(host, &CORI), "a name from c0-0c0s0n0 to c7-5c2s15n3"),
        "theta-full" => (cray_xc(host, &THETA), "a name from c0-0c0s0n0 to c11-1c2s15n3"),
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

fn alps(host: &str) -> Option<u32> {
    let [cabinet, chassis, slot, board, node] = numbers(host, ["x", "c", "s", "b", "n"])?;
    let (row, place) = ((cabinet / 100).checked_sub(11)?, cabinet % 100);
    if row >= 4 || place >= 6 || chassis >= 8 || slot >= 7 || board >= 2 || node != 0 {
        return None;
    }
    // Four switches in a chassis, an interface of each of its 14 hosts on each.
    let router = 32 * (6 * row + place) + 4 * chassis;
    Some(14 * router + 2 * slot + board)
}

fn aurora(host: &str) -> Option<u32> {
    const RACKS_OF_A_ROW: u32 = 21;
    let [rack, chassis, slot, board, node] = numbers(host, ["x", "c", "s", "b", "n"])?;
    let (row, place) = ((rack / 100).checked_sub(40)?, rack % 100);
    let group = RACKS_OF_A_ROW * row + place;
    if row >= 8 || place >= RACKS_OF_A_ROW || group >= 166 || chassis >= 8 || slot >= 8 || (board, node) != (0, 0) {
        return None;
    }
    Some(64 * group + 8 * chassis + slot)
}

/// A Cray XC whose cabinets stand in rows of 12.
struct CrayXc {
    cabinets: u32,
    /// Routers of a group with other than four nodes: the router, and its nodes.
    exceptions: &'static [(u32, u32)],
}

const CORI: CrayXc = CrayXc {
    cabinets: 68,
    exceptions: &[(15, 2), (31, 2), (47, 2), (63, 2)],
};

const THETA: CrayXc = CrayXc {
    cabinets: 24,
    exceptions: &[],
};

fn cray_xc(host: &str, machine: &CrayXc) -> Option<u32> {
    const CABINETS_OF_A_ROW: u32 = 12;
    let [place, row, chassis, slot, node] = numbers(host, ["c", "-", "c", "s", "n"])?;
    let cabinet = CABINETS_OF_A_ROW * row + place;
    if place >= CABINETS_OF_A_ROW || cabinet >= machine.cabinets || chassis >= 3 || slot >= 16 {
        return None;
    }
    let router = 16 * (3 * (cabinet % 2) + chassis) + slot;
    let nodes = |router: u32| {
        let found = machine.exceptions.iter().find(|&&(other, _)| other == router);
        found.map_or(4, |&(_, nodes)| nodes)
    };
    let before: u32 = (0..router).map(nodes).sum();
    let of_a_group: u32 = (0..96).map(nodes).sum();
    (node < nodes(router)).then(|| of_a_group * (cabinet / 2) + before + node)
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
        let cabinets = |rows: std::ops::Range<u32>, places: u32| {
            rows.flat_map(move |row| (0..places).map(move |place| 100 * row + place))
        };
        let ex = |cabinets: Vec<u32>, slots: u32, boards: u32| {
            let mut names = Vec::new();
            for (cabinet, chassis) in cabinets.iter().flat_map(|cabinet| (0..8).map(move |c| (cabinet, c))) {
                for place in 0..slots * boards {
                    let (slot, board) = (place / boards, place % boards);
                    names.push(format!("x{cabinet}c{chassis}s{slot}b{board}n0"));
                }
            }
            names
        };
        let names = ex(cabinets(11..15, 6).collect(), 7, 2);
        assert_eq!(names.len(), 2_688);
        hosts(names, "alps", 10_752);
        let names = ex(cabinets(40..48, 21).filter(|&rack| rack < 4719).collect(), 8, 1);
        assert_eq!(names.len(), 10_624);
        hosts(names, "aurora", 10_624);
        for (preset, machine, nodes) in [("cori", CORI, 34 * 376), ("theta-full", THETA, 4_608)] {
            let mut names = Vec::new();
            for (cabinet, place) in (0..machine.cabinets).flat_map(|cabinet| (0..192).map(move |p| (cabinet, p))) {
                let (chassis, slot, node) = (place / 64, place % 64 / 4, place % 4);
                let name = format!("c{}-{}c{chassis}s{slot}n{node}", cabinet % 12, cabinet / 12);
                if node_of(preset, &name) {
                    names.push(name);
                }
            }
            assert_eq!(names.len(), nodes as usize);
            hosts(names, preset, nodes);
        }
    }

    fn node_of(preset: &str, host: &str) -> bool {
        node(preset, host).is_ok()
    }

    /// Groups of two cabinets: 16 routers of a chassis are a row of the grid.
    #[test]
    fn a_cabinet_of_an_xc_is_half_a_group() {
        let of = |name: &str| node("theta-full", name).unwrap();
        assert_eq!(of("c0-0c0s0n3"), 3);
        assert_eq!(of("c0-0c2s15n3"), 191);
        assert_eq!(of("c1-0c0s0n0"), 192);
        assert_eq!(of("c0-1c0s0n0"), 6 * 384);
        // Two of the four places of a router with burst buffers do not exist.
        assert_eq!(node("cori", "c0-0c1s0n0"), Ok(62));
        assert!(node("cori", "c0-0c0s15n2").is_err());
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
            ("alps", "x1500c0s0b0n0"),
            ("alps", "x1100c0s7b0n0"),
            ("aurora", "x4719c0s0b0n0"),
            ("aurora", "x4000c0s0b1n0"),
            ("cori", "c8-5c0s0n0"),
            ("theta-full", "c12-0c0s0n0"),
            ("theta", "nid00001"),
        ] {
            assert!(node(preset, host).is_err(), "{host}");
        }
    }
}
