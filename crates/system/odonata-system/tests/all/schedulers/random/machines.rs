//! Machines, intact and with failed cables.

use super::author::Author;
use super::network::Network;
use odonata_network::routing::algorithms;
use odonata_system::scenario;
use odonata_topology::FamilyName;

/// A machine and its routing.
pub(super) struct Machine {
    pub(super) table: String,
    pub(super) family: &'static str,
    routers: u32,
    pub(super) nodes: u32,
    /// Number of groups, all with nodes; 0 if there are none that could have servers.
    pub(super) groups: u32,
    pub(super) algorithm: &'static str,
}

/// The routings of all dragonflies, including the one whose routers may publish their loads more often than others.
const DRAGONFLY: [&str; 7] = [
    "minimal",
    "valiant",
    "ugal",
    "ugal",
    "ugal",
    "progressive-adaptive",
    "up-down",
];

impl Author {
    /// A machine of 8 to 90 nodes and one of its routings.
    pub(super) fn machine(&mut self) -> Machine {
        // Family, keys, routers, nodes, groups that can have servers of their own, routings.
        let (family, keys, routers, nodes, groups, algorithms): (_, _, _, _, _, &[&'static str]) = match self.below(15)
        {
            0..=4 => {
                let (groups, routers, each) = (3 + self.below(4), 2 + self.below(2), 2 + self.below(3));
                let keys = format!(
                    "groups = {groups}\nrouters_per_group = {routers}\nnodes_per_router = {each}\n\
                     global_ports_per_router = 3\n"
                );
                let all = groups * routers;
                ("dragonfly", keys, all, all * each, groups, &DRAGONFLY)
            }
            5 | 6 => {
                let (groups, columns, each) = (3 + self.below(2), 2 + self.below(2), 1 + self.below(2));
                let keys = format!(
                    "groups = {groups}\nrows = 2\ncolumns = {columns}\nnodes_per_router = {each}\n\
                     global_ports_per_router = 2\n"
                );
                let all = groups * 2 * columns;
                ("dragonfly-2d", keys, all, all * each, groups, &DRAGONFLY)
            }
            7 | 8 => {
                let (groups, each) = (3 + self.below(3), 2 + self.below(2));
                let keys = format!(
                    "groups = {groups}\nleaves_per_group = 2\nspines_per_group = 2\nnodes_per_leaf = {each}\n\
                     global_ports_per_spine = 2\n"
                );
                (
                    "dragonfly-plus",
                    keys,
                    groups * 4,
                    groups * 2 * each,
                    groups,
                    &DRAGONFLY,
                )
            }
            9 => {
                let (dims, routers) = self.one_of(&[("[4, 3, 2]", 24), ("[5, 4]", 20)]);
                let algorithms = &[
                    "dimension-order",
                    "bubble",
                    "minimal-adaptive",
                    "valiant",
                    "romm",
                    "up-down",
                ];
                ("torus", format!("dims = {dims}\n"), routers, routers, 0, algorithms)
            }
            10 => {
                let algorithms = &["dimension-order", "minimal-adaptive", "romm"];
                let keys = "dims = [4, 3]\nnodes_per_router = 2\n".to_owned();
                ("mesh", keys, 12, 24, 0, algorithms)
            }
            11 => {
                let (dims, routers) = self.one_of(&[("[4, 4]", 16), ("[3, 3, 2]", 18)]);
                let keys = format!("dims = {dims}\nnodes_per_router = 2\n");
                let algorithms = &["minimal", "valiant", "ugal", "dal", "dal"];
                ("hyperx", keys, routers, 2 * routers, 0, algorithms)
            }
            // Upper levels, and so parts, without nodes.
            12 => {
                let (k, n, routers, nodes) = self.one_of(&[(4, 2, 8, 16), (3, 3, 27, 27), (2, 3, 12, 8)]);
                let algorithms = &["nearest-common-ancestor", "up-down"];
                ("fat-tree", format!("k = {k}\nn = {n}\n"), routers, nodes, 0, algorithms)
            }
            13 => {
                let algorithms = &["minimal", "ugal", "valiant"];
                let keys = "q = 3\nnodes_per_router = 2\n".to_owned();
                ("slim-fly", keys, 18, 36, 0, algorithms)
            }
            _ => return self.example(),
        };
        Machine {
            table: format!("[machine.{family}]\n{keys}"),
            family,
            routers,
            nodes,
            groups,
            algorithm: self.one_of(algorithms),
        }
    }

    /// An example of any family, including those not drawn above.
    fn example(&mut self) -> Machine {
        let examples = |family: FamilyName| family.examples().iter().map(move |table| (family, *table));
        let all: Vec<_> = FamilyName::ALL.iter().copied().flat_map(examples).collect();
        let (family, keys) = self.one_of(&all);
        let known = algorithms(family).into_iter().map(|(name, _)| name.name());
        let known: Vec<&'static str> = known.filter(|&name| name != "table").collect();
        let table = format!("[machine.{}]\n{keys}\n", family.key());
        let hardware = scenario::load_hardware(&table, "test.toml", &[], ".").unwrap_or_else(|error| panic!("{error}"));
        Machine {
            table,
            family: family.key(),
            routers: hardware.layout.routers(),
            nodes: hardware.layout.nodes(),
            groups: 0,
            algorithm: self.one_of(&known),
        }
    }

    /// Cables that have failed or carry less, among those that the routing does not need; mostly none.
    pub(super) fn faults(&mut self, machine: &Machine, network: &Network) -> String {
        if !self.chance(40) {
            return String::new();
        }
        let mut faults = String::new();
        for _ in 0..30 {
            let (a, b) = (self.below(machine.routers), self.below(machine.routers));
            let links = match self.chance(70) {
                true => format!("[machine]\nfailed_links = [{{ routers = [{a}, {b}], index = 0 }}]\n"),
                false => format!("[machine]\ndegraded_links = [{{ routers = [{a}, {b}], factor = 0.3 }}]\n"),
            };
            let job = "[[jobs]]\nranks = 2\nworkload = { uniform = { messages = 1 } }\n";
            let text = format!("{links}{}{}{job}", machine.table, network.tables);
            if scenario::load(&text, "test.toml", &[], None, ".").is_ok() {
                faults = links;
                break;
            }
        }
        faults
    }
}
