//! Which keys of `network.routing` go with which algorithm, on which machines.
//!
//! Every family defines the keys of its own algorithms ([`algorithms`]). Keys that the chosen algorithm does not use
//! are refused, and a test compares these rules with the table of `docs/routing.md`. Keys that are not a [`RoutingKey`]
//! go with every algorithm.

use std::collections::BTreeSet;

use odonata_network::routing::{OF_ANY_GRAPH, algorithms};
use odonata_network::settings::{Routing, RoutingKey};
use odonata_topology::FamilyName;

use crate::scenario::error::Problem;
use crate::scenario::resolved::Algorithm;

/// The algorithms of `family` that take `key`, in the order of the family.
fn takers(family: FamilyName, key: RoutingKey) -> Vec<Algorithm> {
    let takes = algorithms(family).into_iter().filter(|(_, keys)| keys.contains(&key));
    takes.map(|(name, _)| name).collect()
}

/// Whether `algorithm` takes `key` on machines of `family`.
pub(super) fn takes(family: FamilyName, algorithm: Algorithm, key: RoutingKey) -> bool {
    takers(family, key).contains(&algorithm)
}

/// Keeps in `routing` the keys that `algorithm` takes on `family`, and removes those of the others that are in
/// `leftovers`, which were written for another algorithm (see [`Document::leftovers`](crate::scenario::Document)).
///
/// # Errors
/// Any other key that is given and that the algorithm does not take.
pub(super) fn take(
    routing: &mut Routing,
    leftovers: &BTreeSet<String>,
    family: FamilyName,
    algorithm: Algorithm,
) -> Result<(), Problem> {
    for &key in RoutingKey::ALL {
        if !key.is_given(routing) || takes(family, algorithm, key) {
            continue;
        }
        if !leftovers.contains(key.name()) {
            return Err(refuse(key, family, algorithm));
        }
        key.forget(routing);
    }
    Ok(())
}

fn refuse(key: RoutingKey, family: FamilyName, algorithm: Algorithm) -> Problem {
    let here: Vec<String> = takers(family, key)
        .into_iter()
        .map(|algorithm| format!("{:?}", algorithm.name()))
        .collect();
    let expected = match here.as_slice() {
        [] => format!("no such key; it is for {}", places(key)),
        names => format!("no such key, or algorithm = {}", names.join(" or ")),
    };
    let problem = format!(
        "the routing {:?} of machines of kind {} does not use it",
        algorithm.name(),
        family.key()
    );
    Problem::new(format!("network.routing.{}", key.name()), problem, expected)
}

/// Describes where `key` is accepted: consecutive families with the same algorithms are combined; algorithms of all
/// families come last.
fn places(key: RoutingKey) -> String {
    let mut groups: Vec<(Vec<Algorithm>, Vec<&str>)> = Vec::new();
    for &family in FamilyName::ALL {
        let mut own = takers(family, key);
        own.retain(|name| OF_ANY_GRAPH.iter().all(|(other, _)| other != name));
        match groups.last_mut() {
            Some((algorithms, kinds)) if *algorithms == own => kinds.push(family.key()),
            _ => groups.push((own, vec![family.key()])),
        }
    }
    groups.retain(|(algorithms, _)| !algorithms.is_empty());
    let of_any_graph = OF_ANY_GRAPH.iter().filter(|(_, keys)| keys.contains(&key));
    let of_any_graph: Vec<Algorithm> = of_any_graph.map(|&(name, _)| name).collect();
    if !of_any_graph.is_empty() {
        groups.push((of_any_graph, vec!["every machine"]));
    }
    let one = |(algorithms, kinds): &(Vec<Algorithm>, Vec<&str>)| {
        let algorithms: Vec<&str> = algorithms.iter().map(|algorithm| algorithm.name()).collect();
        format!("{} on {}", algorithms.join(", "), kinds.join(", "))
    };
    groups.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{self, resolved as r};

    const DRAGONFLY: &str =
        "dragonfly = { groups = 5, routers_per_group = 4, nodes_per_router = 2, global_ports_per_router = 1 }";
    const DRAGONFLY_2D: &str =
        "dragonfly-2d = { groups = 3, rows = 2, columns = 2, nodes_per_router = 1, global_ports_per_router = 1 }";
    const MESH: &str = "mesh = { dims = [4, 4] }";

    /// A machine of every family except graphs.
    fn machines() -> Vec<String> {
        let first = |family: &FamilyName| {
            let example = family.examples().first()?;
            Some(format!("[machine.{}]\n{example}\n", family.key()))
        };
        FamilyName::ALL.iter().filter_map(first).collect()
    }

    /// A valid value for each key.
    const VALUES: &[(&str, &str)] = &[
        ("via", "\"group\""),
        ("candidates", "3"),
        ("threshold", "\"1 KiB\""),
        ("bias", "1.5"),
        ("comparison", "\"sum\""),
        ("weigh_hops", "true"),
        ("knowledge", "\"local\""),
        ("in_group", "\"minimal\""),
        ("divert", "\"any\""),
        ("selection", "\"random\""),
        ("ties", "\"first\""),
        ("up", "\"random\""),
        ("vc_rule", "\"stage\""),
        ("spread", "\"packet\""),
        ("paths", "2"),
    ];

    fn load(text: &str, overrides: &[&str]) -> Result<scenario::Hardware, scenario::InputError> {
        let overrides: Vec<String> = overrides.iter().map(|text| text.to_string()).collect();
        scenario::load_hardware(text, "m.toml", &overrides, "")
    }

    /// Tests every key with every algorithm of every kind of machine: it is either accepted, or refused with the
    /// algorithms that accept it.
    #[test]
    fn a_key_is_accepted_where_the_algorithm_takes_it_and_nowhere_else() {
        let mut refused = 0;
        for machine in machines() {
            let kind = load(&machine, &[]).unwrap().machine.kind;
            for (algorithm, keys) in algorithms(kind.family()) {
                if algorithm == Algorithm::Table {
                    // It needs a file.
                    continue;
                }
                for (key, value) in VALUES {
                    let taken = keys.iter().any(|known| known.name() == *key);
                    // Ways are compared where they are adaptive.
                    let chosen_by = ["up", "spread"];
                    let chosen_by = chosen_by
                        .into_iter()
                        .find(|&name| keys.iter().any(|known| known.name() == name));
                    let compared = chosen_by.filter(|_| taken && *key == "candidates");
                    let text = format!(
                        "[network.routing]\nalgorithm = {:?}\n{key} = {value}\n{}{machine}",
                        algorithm.name(),
                        compared.map_or(String::new(), |name| format!("{name} = \"adaptive\"\n")),
                    );
                    match load(&text, &[]) {
                        Ok(_) => assert!(taken, "{text}"),
                        Err(error) => {
                            refused += 1;
                            assert!(!taken, "{text}\n{error}");
                            assert_eq!((error.key, error.line), (format!("network.routing.{key}"), Some(3)));
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
        let dragonfly = format!("[machine]\n{}\n[network.routing]\nbias = 3\n", DRAGONFLY);
        let error = load(&dragonfly, &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "m.toml:4:8: network.routing.bias: the routing \"minimal\" of machines of kind dragonfly does not use it; \
             expected no such key, or algorithm = \"ugal\" or \"progressive-adaptive\""
        );
        let mesh = format!("[machine]\n{}\n[network.routing]\nvia = \"group\"\n", MESH);
        let error = load(&mesh, &[]).unwrap_err();
        assert_eq!(
            error.expected,
            "no such key; it is for valiant, ugal, progressive-adaptive on dragonfly, dragonfly-2d"
        );
    }

    /// Keys that a preset or the file sets for one algorithm do not prevent selecting another one in a higher layer.
    #[test]
    fn keys_of_a_layer_below_the_algorithm_are_left_out() {
        // The preset has minimal routing, and keys for progressive adaptive routing, if that is selected.
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
            DRAGONFLY
        );
        let minimal = load(&file, &["network.routing.algorithm=minimal"]).unwrap();
        assert_eq!(minimal.network.routing.bias, None);
        let adaptive = load(&file, &["network.routing.algorithm=progressive-adaptive"]).unwrap();
        assert_eq!(adaptive.network.routing.bias, Some(3.0));
        // Within one layer the combination is an error.
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
        for (machine, classes) in [
            (DRAGONFLY, "terminal local global"),
            (DRAGONFLY_2D, "local column global"),
            (MESH, "terminal local"),
        ] {
            for class in ["terminal", "local", "global", "column"] {
                let found = with(machine, class);
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

    /// The table of docs/routing.md has a row for every key.
    #[test]
    fn the_documented_table_is_this_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/routing.md");
        let page = std::fs::read_to_string(path).unwrap();
        let mut table = String::from("| key | taken by |\n|---|---|\n");
        for &key in RoutingKey::ALL {
            table += &format!("| `{}` | {} |\n", key.name(), places(key));
        }
        assert!(
            page.contains(&table),
            "docs/routing.md should have this table:\n{table}"
        );
    }
}
