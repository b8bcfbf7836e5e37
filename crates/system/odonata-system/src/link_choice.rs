//! Links chosen by name: `r3>r7` from router 3 to router 7, `n5>r1` from node 5, `r3>*` all links that leave router 3.

use std::collections::BTreeSet;

use crate::results::ends;
use odonata_topology::Topology;

/// The numbers of the links of `topology` that `patterns` name, in rising order, each once.
///
/// # Errors
/// The index of the first pattern that names no link, and why.
pub(crate) fn links_named(topology: &Topology, patterns: &[String]) -> Result<Vec<u32>, (usize, String)> {
    let mut links = BTreeSet::new();
    for (at, pattern) in patterns.iter().enumerate() {
        links.extend(links_of_pattern(topology, pattern).map_err(|problem| (at, problem))?);
    }
    Ok(links.into_iter().collect())
}

/// The numbers of the links of `topology` that a pattern names, in rising order.
///
/// # Errors
/// Says that the pattern is none, or that it names no link.
fn links_of_pattern(topology: &Topology, pattern: &str) -> Result<Vec<u32>, String> {
    let ends_of_pattern = pattern.split_once('>');
    let Some((source, target)) = ends_of_pattern.filter(|&(source, target)| is_end(source) && is_end(target)) else {
        return Err(format!("\"{pattern}\" is no link"));
    };
    let matches = |pattern: &str, (kind, number): (&str, u32)| {
        pattern == "*"
            || pattern
                .strip_prefix(&kind[..1])
                .is_some_and(|of| of.parse() == Ok(number))
    };
    let links = 0..topology.ports() + topology.nodes();
    let is_named = |&link: &u32| {
        ends(topology, link).is_some_and(|ends| matches(source, ends.source) && matches(target, ends.target))
    };
    let named: Vec<u32> = links.filter(is_named).collect();
    match named.is_empty() {
        true => Err(format!("the machine has no link \"{pattern}\"")),
        false => Ok(named),
    }
}

/// Whether `text` names an end of a link: a node, a router, or all.
fn is_end(text: &str) -> bool {
    let number = |kind| {
        text.strip_prefix(kind)
            .is_some_and(|number: &str| number.parse::<u32>().is_ok())
    };
    text == "*" || number('n') || number('r')
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_topology::{Cable, LinkClass};

    /// Two routers with two nodes each and two cables between them: ports 0 to 3 of router 0, 4 to 7 of router 1, then four NICs.
    fn two_routers() -> Topology {
        let cables = [2, 3].map(|port| Cable {
            a: (0, port),
            b: (1, port),
            class: LinkClass::Local,
        });
        Topology::new(&[4, 4], &[(0, 0), (0, 1), (1, 0), (1, 1)], &cables).unwrap()
    }

    #[test]
    fn a_link_is_named_by_its_ends_and_a_star_stands_for_all() {
        let topology = two_routers();
        let named = |pattern| links_of_pattern(&topology, pattern);
        assert_eq!(named("r0>r1"), Ok(vec![2, 3]));
        assert_eq!(named("r1>n3"), Ok(vec![5]));
        assert_eq!(named("n1>r0"), Ok(vec![9]));
        assert_eq!(named("r0>*"), Ok(vec![0, 1, 2, 3]));
        assert_eq!(named("*>n0"), Ok(vec![0]));
        assert_eq!(named("*>*").map(|all| all.len()), Ok(12));
        for pattern in ["r0", "r0>", "0>1", "r0>r-1", "r0>>r1", "x0>r1", "r99999999999>r1"] {
            assert_eq!(named(pattern), Err(format!("\"{pattern}\" is no link")), "{pattern}");
        }
        for pattern in ["r0>r0", "r0>n3", "n9>*"] {
            assert_eq!(named(pattern), Err(format!("the machine has no link \"{pattern}\"")));
        }
    }

    #[test]
    fn several_patterns_name_each_link_once_and_an_error_has_the_index_of_its_pattern() {
        let topology = two_routers();
        let named = |patterns: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
            links_named(&topology, &patterns)
        };
        assert_eq!(named(&[]), Ok(vec![]));
        assert_eq!(named(&["n1>r0", "r0>*", "r0>r1"]), Ok(vec![0, 1, 2, 3, 9]));
        let refused = |at, problem: &str| Err((at, problem.to_owned()));
        assert_eq!(named(&["r0>r1", "r0-r1", "r0"]), refused(1, "\"r0-r1\" is no link"));
        assert_eq!(named(&["r0>r0"]), refused(0, "the machine has no link \"r0>r0\""));
    }
}
