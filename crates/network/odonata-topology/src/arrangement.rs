//! Global link arrangements: the assignment of a group's global ports to the other groups of a dragonfly.
//!
//! Group `x` of `g` has `g - 1` *directions*; direction `d` leads to:
//!
//! | arrangement | group | source |
//! |---|---|---|
//! | absolute | `d`, or `d + 1` where `d >= x` | Hastings et al., CLUSTER 2015 |
//! | relative | `(x + d + 1) mod g` | ibid.; the rule of the MFNetSim runs |
//! | circulant | `x + 1`, `x - 1`, `x + 2`, `x - 2`, … for `d` = 0, 1, 2, 3, … (mod g) | Hastings et al. |
//!
//! E. Hastings, D. Rincon-Cruz, M. Spehlmann, S. Meyers, A. Xu, D. Bunde, V. Leung, "Comparing global link arrangements
//! for dragonfly networks", IEEE CLUSTER 2015.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The assignment of a group's global ports to the other groups of a dragonfly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrangement {
    /// By the other group's number (Hastings et al., CLUSTER 2015).
    Absolute,
    /// By distance: global port `k = h i + p` of group `g` leads to group `(g + k + 1) mod G`. The rule of the MFNetSim
    /// runs.
    #[default]
    Relative,
    /// By alternating distance: one group forward, one back, two forward, two back, and so on (Hastings et al.).
    Circulant,
}

impl Arrangement {
    /// All arrangements.
    pub const ALL: [Arrangement; 3] = [Arrangement::Absolute, Arrangement::Relative, Arrangement::Circulant];

    /// The group at direction `d < g - 1` of group `x`, and the direction back, among `g` groups.
    pub(crate) fn far_side(self, x: u32, d: u32, g: u32) -> (u32, u32) {
        match self {
            Arrangement::Absolute if d < x => (d, x - 1),
            Arrangement::Absolute => (d + 1, x),
            Arrangement::Relative => ((x + d + 1) % g, g - 2 - d),
            // With an even number of groups, the last direction leads to the opposite group, and so does the direction
            // back.
            Arrangement::Circulant if d.is_multiple_of(2) => ((x + d / 2 + 1) % g, if d == g - 2 { d } else { d + 1 }),
            Arrangement::Circulant => ((x + g - d.div_ceil(2)) % g, d - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_lead_to_every_other_group_once_and_back() {
        for arrangement in Arrangement::ALL {
            for g in 2..12 {
                for x in 0..g {
                    let mut groups: Vec<u32> = (0..g - 1)
                        .map(|d| {
                            let (y, back) = arrangement.far_side(x, d, g);
                            assert_eq!(arrangement.far_side(y, back, g), (x, d), "{arrangement:?} {g} {x} {d}");
                            y
                        })
                        .collect();
                    groups.sort_unstable();
                    assert!(groups.into_iter().eq((0..g).filter(|&y| y != x)));
                }
            }
        }
    }

    #[test]
    fn circulant_alternates_between_forward_and_back() {
        let groups: Vec<u32> = (0..8).map(|d| Arrangement::Circulant.far_side(3, d, 9).0).collect();
        assert_eq!(groups, [4, 2, 5, 1, 6, 0, 7, 8]);
        let even: Vec<u32> = (0..5).map(|d| Arrangement::Circulant.far_side(0, d, 6).0).collect();
        assert_eq!(even, [1, 5, 2, 4, 3]);
    }
}
