//! Kinds of groups of a dragonfly: groups with other numbers of nodes and of cables than the first ones.
//!
//! The first groups have the sizes of the family's table; those of each kind in `other_groups` follow in their order. A
//! pair of groups of one kind has that kind's cables, a pair of two kinds those that the later one has to the earlier.
//! Routers of all groups have as many ports; those without a node or cable are free.
//!
//! Global ports of a group have numbers k = 0, 1, ... Cable q of the pair of a group and the group in direction d (see
//! [`Arrangement`]) takes the next free number, in ascending order of (q, d). If all pairs have the same number of cables,
//! that is `k = q (g - 1) + d`.

use odonata_units::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings;
use crate::Arrangement;

/// Groups that differ from the first ones; the last groups of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherGroups {
    /// Number of these groups, part of `groups`.
    #[schemars(range(min = 1))]
    pub groups: u32,
    /// Nodes per router with nodes. Default: as in the first groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub nodes: Option<u32>,
    /// Cables between each pair of these groups. Default: `cables`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub cables: Option<u32>,
    /// Cables between one of these groups and each group before: one number for the first groups, then one for each
    /// earlier entry of the list. Default: `cables` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cables_to: Option<Vec<u32>>,
}

/// The kinds of groups of a dragonfly; the first kind has the sizes of its shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupKinds(Vec<GroupKind>);

/// A kind of groups after the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupKind {
    /// Number of groups.
    pub groups: u32,
    /// Nodes per router with nodes.
    pub nodes: u32,
    /// Cables between each pair of its groups.
    pub cables: u32,
    /// Cables to each group of the kinds before, from the first kind on.
    pub cables_to: Vec<u32>,
}

impl GroupKinds {
    /// One kind of groups.
    pub const NONE: GroupKinds = GroupKinds(Vec::new());

    /// These kinds, after the first.
    ///
    /// # Errors
    /// A kind does not state its cables to every kind before, or two groups would have no cable between them.
    pub fn new(kinds: Vec<GroupKind>) -> Result<GroupKinds, String> {
        for (before, kind) in kinds.iter().enumerate() {
            if kind.cables_to.len() != before + 1 {
                return Err(format!(
                    "{} numbers of cables to {} kinds of groups",
                    kind.cables_to.len(),
                    before + 1
                ));
            }
            if kind.groups == 0 || kind.nodes == 0 || kind.cables == 0 || kind.cables_to.contains(&0) {
                return Err("a kind of groups needs a group, nodes, and cables to all groups".into());
            }
        }
        Ok(GroupKinds(kinds))
    }

    /// Whether all groups are of one kind.
    pub fn is_one(&self) -> bool {
        self.0.is_empty()
    }

    /// Most nodes per router of any kind; `first` are those of the first.
    pub(crate) fn most_nodes(&self, first: u32) -> u32 {
        self.0.iter().map(|kind| kind.nodes).fold(first, u32::max)
    }

    /// The kind of `group`, of `groups`: 0 is the first.
    #[inline]
    fn of(&self, group: u32, groups: u32) -> usize {
        let mut end = groups;
        for (at, kind) in self.0.iter().enumerate().rev() {
            end = end.saturating_sub(kind.groups);
            if group >= end {
                return at + 1;
            }
        }
        0
    }

    /// Nodes per router of `group`, of `groups`; `first` are those of the first kind.
    pub(crate) fn nodes(&self, group: u32, groups: u32, first: u32) -> u32 {
        match self.of(group, groups) {
            0 => first,
            kind => self.0[kind - 1].nodes,
        }
    }

    /// Cables between groups `x` and `y`, of `groups`; `first` are those of a pair of the first kind.
    pub(crate) fn cables(&self, (x, y): (u32, u32), groups: u32, first: u32) -> u32 {
        let (a, b) = (self.of(x, groups), self.of(y, groups));
        match (a.min(b), a.max(b)) {
            (0, 0) => first,
            (low, high) if low == high => self.0[high - 1].cables,
            (low, high) => self.0[high - 1].cables_to[low],
        }
    }
}

/// A cable between two groups: each with the number of its global port.
pub(crate) type GroupCable = [(u32, u32); 2];

/// The cables between `groups` groups with `ports` global ports each; `first` per pair of the first kind.
///
/// # Errors
/// A group has too few ports.
pub(crate) fn cables(
    groups: u32,
    ports: u64,
    (first, kinds): (u32, &GroupKinds),
    arrangement: Arrangement,
) -> Result<Vec<GroupCable>, String> {
    // Of pairs that exist: a kind of one group has no pair of its own.
    let pairs = (0..groups).flat_map(|y| (0..y).map(move |x| (x, y)));
    let most = match kinds.is_one() {
        true => first,
        false => pairs.map(|pair| kinds.cables(pair, groups, first)).max().unwrap_or(0),
    };
    // The numbers of a group's ports, by (q, direction); not needed if all groups are of one kind.
    let directions = groups.saturating_sub(1);
    let table = if kinds.is_one() {
        0
    } else {
        groups as usize * most as usize * directions as usize
    };
    let mut numbers = vec![u32::MAX; table];
    let place = |x: u32, q: u32, d: u32| (x as usize * most as usize + q as usize) * directions as usize + d as usize;
    for x in (0..groups).filter(|_| !kinds.is_one()) {
        let mut next = 0;
        for q in 0..most {
            for d in 0..directions {
                let y = arrangement.far_side(x, d, groups).0;
                if q < kinds.cables((x, y), groups, first) {
                    numbers[place(x, q, d)] = next;
                    next += 1;
                }
            }
        }
        if u64::from(next) > ports {
            return Err(format!(
                "group {x} has {next} cables to other groups, and {ports} global ports"
            ));
        }
    }
    let number = |x, q, d| match kinds.is_one() {
        true => q * directions + d,
        false => numbers[place(x, q, d)],
    };
    let mut list = Vec::new();
    for x in 0..groups {
        for q in 0..most {
            for d in 0..directions {
                let (y, back) = arrangement.far_side(x, d, groups);
                if x < y && q < kinds.cables((x, y), groups, first) {
                    list.push([(x, number(x, q, d)), (y, number(y, q, back))]);
                }
            }
        }
    }
    Ok(list)
}

/// Cables between the first half of the groups and the others.
pub(crate) fn bisection(groups: u32, first: u32, kinds: &GroupKinds) -> u64 {
    let half = groups / 2;
    let pairs = (0..half).flat_map(|x| (half..groups).map(move |y| (x, y)));
    pairs.map(|pair| u64::from(kinds.cables(pair, groups, first))).sum()
}

/// Checks the kinds of groups in `list`, of a machine with `groups` groups with `ports` global ports each; `first` is the
/// number of cables of a pair of the first kind, if given, and `nodes` that of nodes.
///
/// # Errors
/// A value is out of range, or the numbers do not fit each other.
pub(super) fn resolve(
    list: &[OtherGroups],
    (groups, ports): (u32, u64),
    (first, nodes): (Option<u32>, u32),
) -> Result<GroupKinds, Problem> {
    let Some(first) = first.filter(|_| !list.is_empty()) else {
        if list.is_empty() {
            return Ok(GroupKinds::NONE);
        }
        let problem = "groups of several kinds, and no number of cables for the first";
        return Err(Problem::new("cables", problem, "a number"));
    };
    let (mut kinds, mut left) = (Vec::new(), groups);
    for (at, other) in list.iter().enumerate() {
        let key = |name: &str| format!("other_groups.{at}.{name}");
        let count = settings::size(&key("groups"), other.groups, 1)?;
        // One group of the first kind is left.
        if count >= left {
            let problem = format!("{count} groups, of which {} are left", left - 1);
            return Err(Problem::new(
                key("groups"),
                problem,
                format!("fewer than groups, {groups}, in all"),
            ));
        }
        left -= count;
        let own = settings::size(&key("cables"), other.cables.unwrap_or(first), 1)?;
        let cables_to = match &other.cables_to {
            None => vec![first; at + 1],
            Some(list) if list.len() == at + 1 => list.clone(),
            Some(list) => {
                let problem = format!("{} numbers, and {} kinds of groups before", list.len(), at + 1);
                return Err(Problem::new(key("cables_to"), problem, format!("{} numbers", at + 1)));
            }
        };
        settings::sizes(&key("cables_to"), &cables_to)?;
        kinds.push(GroupKind {
            groups: count,
            nodes: settings::size(&key("nodes"), other.nodes.unwrap_or(nodes), 1)?,
            cables: own,
            cables_to,
        });
    }
    let kinds = GroupKinds(kinds);
    // One group of each kind stands for all.
    for x in (0..groups).filter(|&x| x == 0 || kinds.of(x, groups) != kinds.of(x - 1, groups)) {
        let others = (0..groups).filter(|&y| y != x);
        let needed: u64 = others.map(|y| u64::from(kinds.cables((x, y), groups, first))).sum();
        if needed > ports {
            let problem = format!("group {x} needs {needed} global ports and has {ports}");
            return Err(Problem::new(
                "other_groups",
                problem,
                "fewer cables, or more global ports",
            ));
        }
    }
    Ok(kinds)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 24 groups with 20 cables per pair, 8 groups with 16 among them and 4 to the others, one with 2 to all.
    fn lumi() -> GroupKinds {
        let kind = |groups, nodes, cables, cables_to: &[u32]| GroupKind {
            groups,
            nodes,
            cables,
            cables_to: cables_to.to_vec(),
        };
        GroupKinds::new(vec![kind(8, 5, 16, &[4]), kind(1, 1, 1, &[2, 2])]).unwrap()
    }

    /// Groups of the first kind have 23 x 20 + 8 x 4 + 2 cables, of the second 7 x 16 + 24 x 4 + 2, the last 32 x 2. Each
    /// has its ports numbered from 0 without a gap, and each pair its own number of cables.
    #[test]
    fn every_pair_has_its_cables_and_ports_are_numbered_without_gaps() {
        for arrangement in Arrangement::ALL {
            let (groups, kinds) = (33, lumi());
            let list = cables(groups, 500, (20, &kinds), arrangement).unwrap();
            let mut ports = vec![Vec::new(); groups as usize];
            let mut pairs = std::collections::BTreeMap::new();
            for &[(x, k), (y, l)] in &list {
                ports[x as usize].push(k);
                ports[y as usize].push(l);
                *pairs.entry((x, y)).or_insert(0) += 1;
            }
            for (group, own) in ports.iter_mut().enumerate() {
                own.sort_unstable();
                let expected = match group {
                    0..24 => 23 * 20 + 8 * 4 + 2,
                    24..32 => 7 * 16 + 24 * 4 + 2,
                    _ => 32 * 2,
                };
                assert_eq!(
                    *own,
                    (0..expected).collect::<Vec<u32>>(),
                    "{arrangement:?}, group {group}"
                );
            }
            for ((x, y), count) in pairs {
                let expected = match (x, y) {
                    (_, 32) => 2,
                    (..24, ..24) => 20,
                    (24.., 24..) => 16,
                    _ => 4,
                };
                assert_eq!(count, expected, "{arrangement:?}, {x} and {y}");
            }
            assert!(
                cables(groups, 493, (20, &kinds), arrangement)
                    .unwrap_err()
                    .contains("has 494 cables")
            );
        }
        // 16 groups of the first kind against 8 of it, 8 of the second and the last.
        assert_eq!(bisection(33, 20, &lumi()), 16 * (8 * 20 + 8 * 4 + 2));
    }

    /// With one kind of groups, cable q in direction d is at port q (g - 1) + d.
    /// A kind of one group has no pair of its own: its number of cables takes neither time nor memory.
    #[test]
    fn cables_inside_a_kind_of_one_group_do_not_count() {
        let of = |cables| {
            GroupKinds::new(vec![GroupKind {
                groups: 1,
                nodes: 1,
                cables,
                cables_to: vec![2],
            }])
            .unwrap()
        };
        let list = |kinds: GroupKinds| super::cables(5, 20, (3, &kinds), Arrangement::Relative).unwrap();
        assert_eq!(list(of(u32::MAX)), list(of(1)));
    }

    #[test]
    fn one_kind_of_groups_has_the_ports_of_the_paper() {
        for arrangement in Arrangement::ALL {
            let list = cables(5, 12, (3, &GroupKinds::NONE), arrangement).unwrap();
            let mut expected = Vec::new();
            for x in 0..5 {
                for q in 0..3 {
                    for d in 0..4 {
                        let (y, back) = arrangement.far_side(x, d, 5);
                        if x < y {
                            expected.push([(x, q * 4 + d), (y, q * 4 + back)]);
                        }
                    }
                }
            }
            assert_eq!(list, expected);
        }
    }

    #[test]
    fn kinds_that_do_not_fit_are_refused_with_their_key() {
        let kind = |groups, cables_to: Option<Vec<u32>>| OtherGroups {
            groups,
            nodes: Some(3),
            cables: Some(2),
            cables_to,
        };
        let refused = |list: &[OtherGroups], ports, first| resolve(list, (5, ports), (first, 4)).unwrap_err();
        assert_eq!(refused(&[kind(2, None)], 20, None).key, "cables");
        assert_eq!(refused(&[kind(5, None)], 20, Some(2)).key, "other_groups.0.groups");
        assert_eq!(
            refused(&[kind(2, None), kind(3, None)], 20, Some(2)).key,
            "other_groups.1.groups"
        );
        assert_eq!(
            refused(&[kind(2, Some(vec![1, 1]))], 20, Some(2)).key,
            "other_groups.0.cables_to"
        );
        assert_eq!(
            refused(&[kind(2, Some(vec![0]))], 20, Some(2)).key,
            "other_groups.0.cables_to.0"
        );
        // 2 x 3 cables inside the first kind, 2 x 1 to the others.
        assert_eq!(refused(&[kind(2, Some(vec![1]))], 7, Some(3)).key, "other_groups");
        assert!(resolve(&[kind(2, Some(vec![1]))], (5, 8), (Some(3), 4)).is_ok());
        assert!(
            GroupKinds::new(vec![GroupKind {
                groups: 1,
                nodes: 1,
                cables: 1,
                cables_to: vec![]
            }])
            .is_err()
        );
    }
}
