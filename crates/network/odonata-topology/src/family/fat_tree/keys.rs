//! The keys of a fat tree in a scenario, and the sizes that they give.

use super::{FatTree, FatTreeShape, MOST_LEVELS};
use crate::family::settings::{self, ReadFile, Size};
use crate::family::{FamilySettings, WorstCase};
use odonata_units::{Filled, Number, Problem, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fat tree: of routers with `radix` ports, by `levels` and `oversubscription` (a folded Clos network); a k-ary
/// n-tree (`k` and `n`; F. Petrini, M. Vanneschi, IPPS 1997); or an extended generalized fat tree XGFT(h; m_1, ...,
/// m_h; w_1, ..., w_h) (`down` and `up`; S. Öhring et al., IPPS 1995), with parallel cables given by `parallel` (E.
/// Zahavi, 2010). Nodes are level 0; the pods of the top level are its groups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "FatTree")]
pub struct Settings {
    /// Ports of a router, all in use: below the top level half of them go down, at the top all. Required, with
    /// `levels`, or `k` and `n`, or `down` and `up`. Without oversubscription there are 2 (radix / 2)^levels nodes; M.
    /// Al-Fares, A. Loukissas, A. Vahdat, SIGCOMM 2008, for three levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2), extend("default" = null))]
    pub radix: Option<u32>,
    /// Levels of routers with `radix` ports. Required with `radix`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = null))]
    pub levels: Option<u32>,
    /// With `radix`: nodes per uplink of a leaf router, e.g. 3 for 3:1; the levels above are not oversubscribed. It
    /// must give whole numbers of ports. Default: 1, full bisection.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = null))]
    pub oversubscription: Option<f64>,
    /// Children of a router of a k-ary n-tree, and parents of a router below the top: k^n nodes. Required, with `n`, or
    /// one of the other two descriptions.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = null))]
    pub k: Option<u32>,
    /// Levels of routers of a k-ary n-tree. Required with `k`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = null))]
    pub n: Option<u32>,
    /// m: children of a router per level, from the lowest: the first number is nodes per leaf router. Required without
    /// `k` and `n`.
    pub down: Filled<Vec<u32>>,
    /// w: parents of a member of each level below, from the nodes up, e.g. [1, 4, 4]. Nodes have one parent. Required
    /// with `down`.
    pub up: Filled<Vec<u32>>,
    /// Parallel cables between a member of each level below and a parent, from the nodes up; nodes have 1. Default: 1
    /// everywhere.
    pub parallel: Filled<Vec<u32>>,
}

impl Settings {
    /// Converts a tree given by radix, or a k-ary n-tree, to the equivalent extended generalized fat tree.
    fn general(&mut self) -> Result<(), Problem> {
        let by_radix = (self.radix, self.levels);
        match (by_radix, (self.k, self.n), (self.down.given(), self.up.given())) {
            ((Some(radix), Some(levels)), (None, None), (None, None)) => {
                let levels = within("levels", levels, 1, MOST_LEVELS as u32)?;
                let FatTreeShape { down, up, .. } =
                    by_radix_shape(radix, levels, self.oversubscription.unwrap_or(1.0))?;
                (self.radix, self.levels, self.oversubscription) = (None, None, None);
                (self.down, self.up) = (down.into(), up.into());
                Ok(())
            }
            ((None, None), (Some(k), Some(n)), (None, None)) if self.oversubscription.is_none() => {
                let k = settings::size("k", k, 1)?;
                let n = within("n", n, 1, MOST_LEVELS as u32)?;
                let FatTreeShape { down, up, .. } = FatTreeShape::k_ary(k, n);
                (self.k, self.n) = (None, None);
                (self.down, self.up) = (down.into(), up.into());
                Ok(())
            }
            ((None, None), (None, None), (Some(_), Some(_))) if self.oversubscription.is_none() => Ok(()),
            _ => {
                let keys = [
                    ("radix", self.radix.is_some()),
                    ("levels", self.levels.is_some()),
                    ("oversubscription", self.oversubscription.is_some()),
                    ("k", self.k.is_some()),
                    ("n", self.n.is_some()),
                    ("down", !self.down.is_empty()),
                    ("up", !self.up.is_empty()),
                ];
                let there: Vec<&str> = keys.iter().filter(|(_, there)| *there).map(|(key, _)| *key).collect();
                let problem = match there.len() {
                    0 => "the sizes are missing".into(),
                    _ => format!("the sizes are not defined by {}", there.join(", ")),
                };
                Err(settings::whole(problem, "radix and levels, or k and n, or down and up"))
            }
        }
    }

    fn shape(&self) -> FatTreeShape {
        FatTreeShape {
            down: self.down.to_vec(),
            up: self.up.to_vec(),
            parallel: self.parallel.to_vec(),
        }
    }
}

/// The folded Clos network of routers with `radix` ports on `levels` levels, with `oversubscription` nodes per uplink
/// of a leaf router: XGFT(h; d, r/2, ..., r/2, r; 1, u, r/2, ..., r/2) with d + u = r, d / u the oversubscription.
pub(super) fn by_radix_shape(radix: u32, levels: u32, oversubscription: f64) -> Result<FatTreeShape, Problem> {
    let radix = settings::size("radix", radix, 2)?;
    let ratio = Number(oversubscription);
    if !(oversubscription > 0.0 && oversubscription.is_finite()) {
        return Err(Problem::new(
            "oversubscription",
            format!("{ratio} nodes per uplink"),
            "above 0",
        ));
    }
    if levels == 1 {
        if oversubscription != 1.0 {
            let problem = format!("{ratio} nodes per uplink, but a single level has no uplinks");
            return Err(Problem::new("oversubscription", problem, "levels = 2 or more"));
        }
        return Ok(FatTreeShape {
            down: vec![radix],
            up: vec![1],
            parallel: vec![1],
        });
    }
    if levels > 2 && radix % 2 == 1 {
        let problem = format!("{radix} ports, of which half go down on the levels between leaves and top");
        return Err(Problem::new("radix", problem, "an even number"));
    }
    let up = f64::from(radix) / (1.0 + oversubscription);
    if (up - up.round()).abs() > 1e-6 || up.round() < 1.0 || up.round() >= f64::from(radix) {
        let problem = format!("{ratio} nodes per uplink do not divide {radix} ports into whole numbers");
        let possible = (1..radix).filter(|up| radix % up == 0).map(|up| radix / up - 1);
        let possible: Vec<String> = possible
            .filter(|ratio| *ratio > 0)
            .map(|ratio| ratio.to_string())
            .collect();
        let expected = match possible.is_empty() {
            true => "another radix".into(),
            false => format!(
                "one of {}, or a ratio of nodes to uplinks that fits {radix} ports",
                possible.join(", ")
            ),
        };
        return Err(Problem::new("oversubscription", problem, expected));
    }
    let (up, half, between) = (up.round() as u32, radix / 2, levels as usize - 2);
    let mut shape = FatTreeShape {
        down: vec![radix - up],
        up: vec![1, up],
        parallel: vec![1; levels as usize],
    };
    shape.down.extend(vec![half; between]);
    shape.down.push(radix);
    shape.up.extend(vec![half; between]);
    Ok(shape)
}

impl FamilySettings for Settings {
    type Graph = FatTree;

    const EXAMPLES: &'static [&'static str] = &[
        "k = 3\nn = 3",
        "radix = 4\nlevels = 3",
        "down = [4, 3, 2]\nup = [1, 2, 2]\nparallel = [1, 2, 1]",
    ];

    const ALTERNATIVES: &'static [&'static [&'static str]] =
        &[&["radix", "levels", "oversubscription"], &["k", "n"], &["down", "up"]];

    fn resolve(&mut self, _: ReadFile<'_>) -> Result<Size, Problem> {
        self.general()?;
        let levels = self.down.len();
        if levels == 0 || levels > MOST_LEVELS {
            let problem = format!("{levels} levels");
            return Err(Problem::new("down", problem, format!("1 to {MOST_LEVELS} numbers")));
        }
        self.parallel.fill(vec![1; levels]);
        for (name, list) in [("up", &self.up), ("parallel", &self.parallel)] {
            if list.len() != levels {
                let problem = format!("{} numbers for {levels} levels", list.len());
                return Err(Problem::new(name, problem, format!("{levels} numbers, as in down")));
            }
        }
        for (name, list) in [("down", &self.down), ("up", &self.up), ("parallel", &self.parallel)] {
            settings::sizes(name, list)?;
        }
        for (name, list, of) in [("up.0", &self.up, "parents"), ("parallel.0", &self.parallel, "cables")] {
            if list[0] != 1 {
                let problem = format!("a node with {} {of}", list[0]);
                return Err(Problem::new(name, problem, "1: a node has one link"));
            }
        }
        let (routers, ports) = self.shape().sizes();
        settings::all_ports(routers, ports)
    }

    fn build(&self) -> Result<FatTree, String> {
        FatTree::new(self.shape())
    }

    fn smaller(&self, _: bool) -> Option<(Self, String)> {
        let most = if self.down.len() > 3 { 2 } else { 4 };
        let cut =
            |list: &[u32]| -> Filled<Vec<u32>> { list.iter().map(|&count| count.min(most)).collect::<Vec<_>>().into() };
        let small = Settings {
            down: cut(&self.down),
            up: cut(&self.up),
            parallel: cut(&self.parallel),
            ..Settings::default()
        };
        Some((small, format!("fat tree with at most {most} children and parents")))
    }

    fn worst_case(&self) -> WorstCase {
        let below = self.down[..self.down.len() - 1].iter();
        let nodes = below.fold(1u32, |product, &children| product.saturating_mul(children));
        WorstCase::NextSubtree { nodes }
    }
}
