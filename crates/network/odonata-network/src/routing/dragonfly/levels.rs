//! Levels of virtual channels on the paths of a dragonfly.
//!
//! Levels that never decrease along a path prevent deadlock. With [`VcRule::Stage`], the level of
//! a global link is the number of global links taken before; that of a local link is its place on the longest path of
//! the algorithm:
//!
//! | algorithm | local links by level | local/global VCs |
//! |---|---|---|
//! | minimal | source, destination | 2/1 |
//! | Valiant by group | source, intermediate, destination | 3/2 |
//! | Valiant by router | source, to via, from via, destination | 4/2 |
//! | UGAL-L | as Valiant | |
//! | PAR by group | source, source after diverting there, intermediate, destination | 4/2 |
//! | PAR by router | source, source after diverting there, to via, from via, destination | 5/2 |
//!
//! The second cable of a detour inside a group has the level of the destination group: nothing but the node follows it.

use super::{Algorithm, Intermediate};
use odonata_topology::LinkClass;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How virtual channels are assigned to the hops of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VcRule {
    /// By the stage of the path: the fewest channels that prevent deadlock.
    #[default]
    Stage,
    /// By the group of the packet, as in CODES: source 0 or 1, intermediate 2, destination 3; four channels.
    Codes,
    /// By phase, as in BookSim's dragonfly: 0 before the intermediate, 1 on the minimal part, 2 from the global link
    /// into the destination group, and for packets inside a group; without detours 0 before and 1 from the global link.
    /// This includes the link to the node. Detours can deadlock. As in BookSim, an adaptive packet goes minimally if
    /// the intermediate, drawn from the whole machine, is in the group of its source or target.
    Phase,
}

/// Cases of the level on a port: nine bits.
pub(super) const CASES: usize = 512;

/// The facts that determine the level on a port.
#[derive(Clone, Copy)]
pub(super) struct Stage {
    pub(super) class: LinkClass,
    /// Global links taken, at most 3.
    pub(super) globals: u8,
    /// A local link has been taken.
    pub(super) moved: bool,
    pub(super) has_via: bool,
    pub(super) via_reached: bool,
    /// The packet is in the group of its target.
    pub(super) at_destination: bool,
    /// Its path inside the only group leads over another router.
    pub(super) inside: bool,
}

impl Stage {
    /// The number of the case.
    #[inline(always)]
    pub(super) fn number(self) -> usize {
        // Those of `Header::notes` come first and beside each other, as there.
        let flag = |bit: bool, place: u32| usize::from(bit) << place;
        let flags = flag(self.moved, 4)
            | flag(self.inside, 5)
            | flag(self.via_reached, 6)
            | flag(self.at_destination, 7)
            | flag(self.has_via, 8);
        usize::from(self.globals & 3) << 2 | flags | self.class as usize
    }

    /// All cases.
    fn all() -> impl Iterator<Item = Stage> {
        (0..CASES).map(|number| Stage {
            class: LinkClass::ALL[number & 3],
            globals: (number >> 2 & 3) as u8,
            moved: number >> 4 & 1 != 0,
            inside: number >> 5 & 1 != 0,
            via_reached: number >> 6 & 1 != 0,
            at_destination: number >> 7 & 1 != 0,
            has_via: number >> 8 & 1 != 0,
        })
    }
}

/// The level of a local link by its place on the path.
#[derive(Clone, Copy, Debug)]
pub(in crate::routing) struct Levels {
    pub(in crate::routing) second_in_source: u8,
    pub(in crate::routing) to_via: u8,
    pub(in crate::routing) from_via: u8,
    pub(in crate::routing) destination: u8,
}

impl Levels {
    pub(in crate::routing) fn new(algorithm: Algorithm, intermediate: Intermediate) -> Self {
        // Level 0 is the first local link in the source group; places that the algorithm does not have take no level.
        let mut level = 0;
        let mut place = |exists: bool| {
            level += u8::from(exists);
            level
        };
        let nonminimal = algorithm != Algorithm::Minimal;
        Levels {
            second_in_source: place(algorithm == Algorithm::ProgressiveAdaptive),
            to_via: place(nonminimal && intermediate == Intermediate::Router),
            from_via: place(nonminimal),
            destination: place(true),
        }
    }

    /// The level of each case: a table, because the cases of the rules are hard to predict.
    pub(super) fn table(self, rule: VcRule, algorithm: Algorithm) -> [u8; CASES] {
        let mut table = [0; CASES];
        for stage in Stage::all() {
            table[stage.number()] = self.of(rule, algorithm, stage);
        }
        table
    }

    /// The level at this stage of a path.
    fn of(self, rule: VcRule, algorithm: Algorithm, stage: Stage) -> u8 {
        let minimal = u8::from(algorithm != Algorithm::Minimal);
        match rule {
            VcRule::Codes => match stage.globals {
                0 => u8::from(stage.moved),
                _ if stage.at_destination => 3,
                _ => 2,
            },
            VcRule::Phase => match stage.class {
                LinkClass::Terminal => minimal + u8::from(minimal > 0 || stage.globals > 0),
                _ if stage.has_via && !stage.via_reached => 0,
                LinkClass::Global => minimal + 1,
                _ if stage.at_destination => minimal + 1,
                _ => minimal,
            },
            VcRule::Stage => match stage.class {
                LinkClass::Terminal => 0,
                LinkClass::Global => stage.globals,
                LinkClass::Local if stage.globals == 0 && stage.inside => self.destination,
                LinkClass::Local if stage.globals == 0 && stage.moved => self.second_in_source,
                LinkClass::Local if stage.globals == 0 => 0,
                LinkClass::Local if stage.at_destination => self.destination,
                LinkClass::Local if stage.via_reached => self.from_via,
                LinkClass::Local | LinkClass::Column => self.to_via,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_has_a_number_of_its_own() {
        let numbers: Vec<usize> = Stage::all().map(Stage::number).collect();
        assert_eq!(numbers, (0..CASES).collect::<Vec<_>>());
    }

    /// The longest path of a packet that a second router of its group diverts: local links 0 and 1, global link 0, local
    /// link 2 in the intermediate group, global link 1, local link 3 in the group of the target.
    #[test]
    fn levels_rise_along_the_longest_path() {
        let levels = Levels::new(Algorithm::ProgressiveAdaptive, Intermediate::Group);
        let first = Stage {
            class: LinkClass::Local,
            globals: 0,
            moved: false,
            has_via: false,
            via_reached: false,
            at_destination: false,
            inside: false,
        };
        let second = Stage {
            moved: true,
            has_via: true,
            ..first
        };
        let to_via = Stage {
            class: LinkClass::Global,
            ..second
        };
        let in_via = Stage {
            globals: 1,
            via_reached: true,
            ..second
        };
        let from_via = Stage {
            class: LinkClass::Global,
            ..in_via
        };
        let last = Stage {
            globals: 2,
            at_destination: true,
            ..in_via
        };
        let path = [first, second, to_via, in_via, from_via, last];
        let found = path.map(|stage| levels.of(VcRule::Stage, Algorithm::ProgressiveAdaptive, stage));
        assert_eq!(found, [0, 1, 0, 2, 1, 3]);
        let inside = Stage { inside: true, ..second };
        assert_eq!(levels.of(VcRule::Stage, Algorithm::ProgressiveAdaptive, inside), 3);
    }
}
