//! Which keys of `network.routing` go with which algorithm, on which machines.
//!
//! [`KEYS`] is the one table of it: keys that the chosen algorithm has no use for are refused by it, and the table of
//! `docs/routing.md` is held against it. Keys that it does not list go with every algorithm (`algorithm`, `vcs`,
//! `deadlock_check`).

use std::collections::BTreeSet;

use crate::scenario::error::Problem;
use crate::scenario::resolved::{self as r, Algorithm};
use crate::scenario::written as w;

/// Kinds of machines, and which of their algorithms take a key.
type Takers = (&'static [&'static str], &'static [Algorithm]);

/// A key, who takes it, and where it is kept.
struct Key {
    name: &'static str,
    takers: &'static [Takers],
    given: fn(&w::Routing) -> bool,
    forget: fn(&mut w::Routing),
}

macro_rules! keys {
    ($($name:ident: $takers:expr;)*) => {
        &[$(Key {
            name: stringify!($name),
            takers: $takers,
            given: |routing| routing.$name.is_some(),
            forget: |routing| routing.$name = None,
        },)*]
    };
}

const ONE_DIMENSIONAL: &[&str] = &["dragonfly"];
const WITH_ROUTERS_BETWEEN: &[&str] = &["dragonfly", "dragonfly-2d"];
const DRAGONFLIES: &[&str] = &["dragonfly", "dragonfly-2d", "dragonfly-plus"];
const GRIDS: &[&str] = &["torus", "mesh"];
const FLAT: &[&str] = &["slim-fly", "hyperx"];
const ALL: &[&str] = &w::Machine::KINDS;

/// Those that draw non-minimal paths and compare them.
const COMPARING: &[Takers] = &[
    (DRAGONFLIES, &[Algorithm::Ugal, Algorithm::ProgressiveAdaptive]),
    (FLAT, &[Algorithm::Ugal]),
];

/// Those that hold a non-minimal path against a minimal one.
const LEAVING: &[Takers] = &[
    (DRAGONFLIES, &[Algorithm::Ugal, Algorithm::ProgressiveAdaptive]),
    (&["slim-fly"], &[Algorithm::Ugal]),
    (&["hyperx"], &[Algorithm::Ugal, Algorithm::Dal]),
];

/// Those whose source routers may be told of other routers' ports.
const TOLD: &[Takers] = &[(DRAGONFLIES, &[Algorithm::Ugal])];

const KEYS: &[Key] = keys! {
    via: &[(
        WITH_ROUTERS_BETWEEN,
        &[Algorithm::Valiant, Algorithm::Ugal, Algorithm::ProgressiveAdaptive],
    )];
    candidates: COMPARING;
    threshold: LEAVING;
    bias: LEAVING;
    comparison: LEAVING;
    weigh_hops: LEAVING;
    knowledge: &[(DRAGONFLIES, &[Algorithm::Ugal]), (FLAT, &[Algorithm::Ugal])];
    knowledge_interval: TOLD;
    knowledge_delay: TOLD;
    congestion_factor: TOLD;
    congestion_threshold: TOLD;
    divert: &[(ONE_DIMENSIONAL, &[Algorithm::ProgressiveAdaptive])];
    selection: &[(GRIDS, &[Algorithm::MinimalAdaptive])];
    up: &[(&["fat-tree"], &[Algorithm::NearestCommonAncestor]), (ALL, &[Algorithm::UpDown])];
    vc_rule: &[(
        ONE_DIMENSIONAL,
        &[
            Algorithm::Minimal,
            Algorithm::Valiant,
            Algorithm::Ugal,
            Algorithm::ProgressiveAdaptive,
        ],
    )];
};

/// Whether `algorithm` takes the key `name` on machines of `kind`.
pub(super) fn takes(kind: &r::Kind, algorithm: Algorithm, name: &str) -> bool {
    KEYS.iter()
        .find(|key| key.name == name)
        .is_none_or(|key| key.algorithms_on(kind.name()).any(|other| other == algorithm))
}

/// The keys of `routing` that `algorithm` takes on `kind`. Of the others those in `leftovers` are left out, which were
/// written for another algorithm (see [`Document::leftovers`](crate::scenario::Document)).
///
/// # Errors
/// Any other key that is given and that the algorithm does not take.
pub(super) fn taken(
    routing: &w::Routing,
    leftovers: &BTreeSet<String>,
    kind: &r::Kind,
    algorithm: Algorithm,
) -> Result<w::Routing, Problem> {
    let mut taken = routing.clone();
    for key in KEYS {
        if !(key.given)(routing) || takes(kind, algorithm, key.name) {
            continue;
        }
        if !leftovers.contains(key.name) {
            return Err(key.refuse(kind.name(), algorithm));
        }
        (key.forget)(&mut taken);
    }
    Ok(taken)
}

impl Key {
    fn algorithms_on(&self, kind: &str) -> impl Iterator<Item = Algorithm> {
        let on_it = self.takers.iter().filter(move |(kinds, _)| kinds.contains(&kind));
        on_it.flat_map(|(_, algorithms)| algorithms.iter().copied())
    }

    fn refuse(&self, kind: &str, algorithm: Algorithm) -> Problem {
        let here: Vec<String> = self
            .algorithms_on(kind)
            .map(|algorithm| format!("{:?}", algorithm.name()))
            .collect();
        let expected = match here.as_slice() {
            [] => format!("no such key; it is for {}", self.places()),
            names => format!("no such key, or algorithm = {}", names.join(" or ")),
        };
        let problem = format!(
            "the routing {:?} of machines of kind {kind} does not use it",
            algorithm.name()
        );
        Problem::new(format!("network.routing.{}", self.name), problem, expected)
    }

    /// Who takes it, in words.
    fn places(&self) -> String {
        let one = |(kinds, algorithms): &Takers| {
            let algorithms: Vec<&str> = algorithms.iter().map(|algorithm| algorithm.name()).collect();
            let kinds = match kinds.len() == ALL.len() {
                true => "every machine".into(),
                false => kinds.join(", "),
            };
            format!("{} on {kinds}", algorithms.join(", "))
        };
        self.takers.iter().map(one).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    const MACHINES: &[&str] = &[
        "dragonfly = { groups = 5, routers_per_group = 4, nodes_per_router = 2, global_ports_per_router = 1 }",
        "dragonfly-2d = { groups = 3, rows = 2, columns = 2, nodes_per_router = 1, global_ports_per_router = 1 }",
        "dragonfly-plus = { groups = 3, leaves_per_group = 2, spines_per_group = 2, nodes_per_leaf = 1, \
         global_ports_per_spine = 1 }",
        "torus = { dims = [4, 4] }",
        "mesh = { dims = [4, 4] }",
        "fat-tree = { k = 2, n = 2 }",
        "slim-fly = { q = 5 }",
        "hyperx = { dims = [3, 3] }",
    ];

    /// A value of each key that is possible wherever the key is.
    const VALUES: &[(&str, &str)] = &[
        ("via", "\"group\""),
        ("candidates", "3"),
        ("threshold", "\"1 KiB\""),
        ("bias", "1.5"),
        ("comparison", "\"sum\""),
        ("weigh_hops", "true"),
        ("knowledge", "\"local\""),
        ("divert", "\"any\""),
        ("selection", "\"random\""),
        ("up", "\"random\""),
        ("vc_rule", "\"stage\""),
    ];

    fn load(text: &str, overrides: &[&str]) -> Result<scenario::Hardware, scenario::InputError> {
        let overrides: Vec<String> = overrides.iter().map(|text| text.to_string()).collect();
        scenario::load_hardware(text, "m.toml", &overrides, "")
    }

    /// Every key is taken or refused, with every algorithm of every kind of machine, and what is refused names those that
    /// take it.
    #[test]
    fn a_key_is_accepted_where_the_algorithm_takes_it_and_nowhere_else() {
        let mut refused = 0;
        for machine in MACHINES {
            let kind = load(&format!("[machine]\n{machine}\n"), &[]).unwrap().machine.kind;
            for algorithm in kind.algorithms() {
                for (key, value) in VALUES {
                    let text = format!(
                        "[machine]\n{machine}\n[network.routing]\nalgorithm = {:?}\n{key} = {value}\n",
                        algorithm.name()
                    );
                    match load(&text, &[]) {
                        Ok(_) => assert!(takes(&kind, algorithm, key), "{text}"),
                        Err(error) => {
                            refused += 1;
                            assert!(!takes(&kind, algorithm, key), "{text}\n{error}");
                            assert_eq!((error.key, error.line), (format!("network.routing.{key}"), Some(5)));
                            assert_eq!(error.value.as_deref(), Some(*value));
                            assert!(error.expected.starts_with("no such key"), "{}", error.expected);
                        }
                    }
                }
            }
        }
        assert!(refused > 200, "{refused}");
    }

    #[test]
    fn a_refused_key_names_the_algorithms_that_take_it() {
        let dragonfly = format!("[machine]\n{}\n[network.routing]\nbias = 3\n", MACHINES[0]);
        let error = load(&dragonfly, &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "m.toml:4:8: network.routing.bias: the routing \"minimal\" of machines of kind dragonfly does not use it; \
             expected no such key, or algorithm = \"ugal\" or \"progressive-adaptive\""
        );
        let mesh = format!("[machine]\n{}\n[network.routing]\ncandidates = 3\n", MACHINES[4]);
        let error = load(&mesh, &[]).unwrap_err();
        assert_eq!(
            error.expected,
            "no such key; it is for ugal, progressive-adaptive on dragonfly, dragonfly-2d, dragonfly-plus; ugal on \
             slim-fly, hyperx"
        );
    }

    /// What a preset or the file says for one algorithm does not stand in the way of another one that is named above it.
    #[test]
    fn keys_of_a_layer_below_the_algorithm_are_left_out() {
        // The preset has minimal routing, and keys of progressive adaptive routing for those who take that.
        let routing =
            |overrides: &[&str]| load("preset = \"codes-compatible\"\n", overrides).map(|h| h.network.routing);
        let minimal = routing(&[]).unwrap();
        assert_eq!((minimal.bias, minimal.divert), (None, None));
        let adaptive = routing(&["network.routing.algorithm=progressive-adaptive"]).unwrap();
        assert_eq!(
            (adaptive.candidates, adaptive.divert),
            (Some(1), Some(r::Divert::OwnGlobalPorts))
        );
        let other = routing(&["network.routing.algorithm=ugal"]).unwrap();
        assert_eq!((other.candidates, other.divert), (Some(1), None));
        let torus = routing(&["machine.torus.dims=[4, 4]", "network.routing.algorithm=dimension-order"]).unwrap();
        assert_eq!((torus.via, torus.vc_rule), (None, None));

        let file = format!(
            "[machine]\n{}\n[network.routing]\nalgorithm = \"ugal\"\nbias = 3.0\n",
            MACHINES[0]
        );
        let minimal = load(&file, &["network.routing.algorithm=minimal"]).unwrap();
        assert_eq!(minimal.network.routing.bias, None);
        let adaptive = load(&file, &["network.routing.algorithm=progressive-adaptive"]).unwrap();
        assert_eq!(adaptive.network.routing.bias, Some(3.0));
        // In one layer there is no excuse.
        let both = ["network.routing.algorithm=minimal", "network.routing.bias=3.0"];
        let error = load(&file, &both).unwrap_err();
        assert_eq!(error.file, "--set network.routing.bias=3.0");
        let error = load("preset = \"codes-compatible\"\n[network.routing]\nbias = 3.0\n", &[]).unwrap_err();
        assert_eq!((error.file.as_str(), error.line), ("m.toml", Some(3)));
    }

    #[test]
    fn channels_of_links_that_a_machine_does_not_have_are_refused() {
        let with = |machine: &str, class: &str| {
            let text = format!("[machine]\n{machine}\n[network.routing]\nvcs = {{ {class} = 2 }}\n");
            load(&text, &[]).map(|_| ())
        };
        for (number, classes) in [
            (0, "terminal local global"),
            (1, "local column global"),
            (4, "terminal local"),
        ] {
            for class in ["terminal", "local", "global", "column"] {
                let found = with(MACHINES[number], class);
                if classes.contains(class) {
                    found.unwrap_or_else(|error| panic!("{error}"));
                } else if class != "terminal" {
                    let error = found.unwrap_err();
                    assert_eq!(error.key, format!("network.routing.vcs.{class}"));
                    assert!(error.expected.starts_with("one of terminal, local"), "{error}");
                }
            }
        }
    }

    /// The table of docs/routing.md, which has a row for every key.
    #[test]
    fn the_documented_table_is_this_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/routing.md");
        let page = std::fs::read_to_string(path).unwrap();
        let mut table = String::from("| key | taken by |\n|---|---|\n");
        for key in KEYS {
            table += &format!("| `{}` | {} |\n", key.name, key.places());
        }
        assert!(
            page.contains(&table),
            "docs/routing.md should have this table:\n{table}"
        );
    }
}
