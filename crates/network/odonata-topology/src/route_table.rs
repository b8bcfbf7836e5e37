//! A table of routes: a CSV file with paths, or with the next router toward each destination.
//!
//! | form | columns | content of a row |
//! |---|---|---|
//! | paths | `from`, `to`, `path` | a path, as the routers from `from` to `to`, separated by white space |
//! | next routers | `at`, `to`, `next` | packets to `to` go from `at` to `next` |
//!
//! Routers go by number, or by name in a graph that names them. Several rows of one pair are several paths; of two equal
//! rows the path has twice the weight. `#` begins a comment. Paths visit no router twice.

use std::collections::{BTreeMap, HashMap};

use crate::cable_map::{fields, is_content};
use crate::{MapError, Topology};

/// Most rows.
const MOST_ROWS: usize = 1 << 24;
/// Most paths of a pair of routers.
const MOST_PATHS: usize = 64;

/// The paths of each pair of routers, as routers from the first to the last.
pub type Routes = BTreeMap<(u32, u32), Vec<Vec<u32>>>;

/// The rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteTable {
    form: Form,
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Paths,
    NextRouters,
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    /// Line of the file, from 1.
    line: u32,
    /// The three values, in the order of the columns above.
    values: [String; 3],
}

impl RouteTable {
    /// Reads a table.
    ///
    /// # Errors
    /// The line and its problem.
    pub fn read(text: &str) -> Result<RouteTable, MapError> {
        let lines = (1..).zip(text.trim_start_matches('\u{feff}').lines());
        let mut lines = lines.filter(|(_, line)| is_content(line));
        let (line, header) = lines.next().ok_or_else(|| MapError::at(1, "the file is empty"))?;
        let header = fields(line, header)?;
        let place = |name: &str| header.iter().position(|column| column == name);
        let columns = |names: [&str; 3]| Some([place(names[0])?, place(names[1])?, place(names[2])?]);
        let paths = columns(["from", "to", "path"]).map(|columns| (Form::Paths, columns));
        let found = paths.or_else(|| Some((Form::NextRouters, columns(["at", "to", "next"])?)));
        let Some((form, columns)) = found.filter(|_| header.len() == 3) else {
            let found: Vec<&str> = header.iter().collect();
            let problem = format!(
                "the columns are {}: from, to, path or at, to, next are expected",
                found.join(", ")
            );
            return Err(MapError::at(line, problem));
        };
        let mut rows = Vec::new();
        for (line, text) in lines {
            let record = fields(line, text)?;
            if record.len() != 3 {
                let problem = format!("{} values, where the header has 3 columns", record.len());
                return Err(MapError::at(line, problem));
            }
            let value = |column: usize| record.get(columns[column]).unwrap_or("").to_owned();
            rows.push(Row {
                line,
                values: [value(0), value(1), value(2)],
            });
            if rows.len() > MOST_ROWS {
                return Err(MapError::at(line, format!("more than {MOST_ROWS} rows")));
            }
        }
        Ok(RouteTable { form, rows })
    }

    /// The routes between routers with these `names` (none: numbers) of `topology`.
    ///
    /// # Errors
    /// The line that names no router or no working cable, or that leads a packet in a circle.
    pub fn routes(&self, names: &[String], topology: &Topology) -> Result<Routes, MapError> {
        let numbers: HashMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
        let find = |line: u32, name: &str| {
            let named = numbers.get(name).copied();
            let routers = topology.routers();
            let number = named.or_else(|| name.parse().ok().filter(|&number| names.is_empty() && number < routers));
            number.ok_or_else(|| {
                let known = match names {
                    [] => format!("they are numbered from 0 to {}", routers.saturating_sub(1)),
                    [first, ..] => format!("the graph names them, the first one {first}"),
                };
                MapError::at(line, format!("there is no router {name:?}: {known}"))
            })
        };
        let name = |router: u32| match names.get(router as usize) {
            Some(name) => name.clone(),
            None => router.to_string(),
        };
        let cable = |line: u32, a: u32, b: u32| {
            let mut ports = topology.ports_of(a);
            if ports.any(|port| topology.neighbour(port) == Some(b)) {
                return Ok(());
            }
            let failed = topology.failed().iter().any(|&(x, y)| {
                let ends = (topology.router_of_port(x), topology.router_of_port(y));
                ends == (a, b) || ends == (b, a)
            });
            let problem = match failed {
                true => format!("the cables between routers {} and {} failed", name(a), name(b)),
                false => format!("no cable connects routers {} and {}", name(a), name(b)),
            };
            Err(MapError::at(line, problem))
        };
        let mut routes = Routes::new();
        match self.form {
            Form::Paths => {
                for row in &self.rows {
                    let line = row.line;
                    let (from, to) = (find(line, &row.values[0])?, find(line, &row.values[1])?);
                    let path = row.values[2].split_whitespace().map(|name| find(line, name));
                    let path: Vec<u32> = path.collect::<Result<_, _>>()?;
                    if path.first() != Some(&from) || path.last() != Some(&to) || from == to {
                        let problem = format!(
                            "the path {:?} does not lead from router {} to another router {}",
                            row.values[2],
                            name(from),
                            name(to)
                        );
                        return Err(MapError::at(line, problem));
                    }
                    visits_once(&path).map_err(|router| {
                        let problem = format!("the path visits router {} twice", name(router));
                        MapError::at(line, problem)
                    })?;
                    path.windows(2).try_for_each(|two| cable(line, two[0], two[1]))?;
                    let paths = routes.entry((from, to)).or_default();
                    paths.push(path);
                    if paths.len() > MOST_PATHS {
                        return Err(too_many(line, &name, (from, to)));
                    }
                }
            }
            Form::NextRouters => {
                let mut next: BTreeMap<(u32, u32), Vec<(u32, u32)>> = BTreeMap::new();
                for row in &self.rows {
                    let line = row.line;
                    let [at, to, far] = [0, 1, 2].map(|column| find(line, &row.values[column]));
                    let (at, to, far) = (at?, to?, far?);
                    if at == to {
                        let problem = format!("packets at router {} to itself need no route", name(at));
                        return Err(MapError::at(line, problem));
                    }
                    cable(line, at, far)?;
                    next.entry((to, at)).or_default().push((far, line));
                }
                let has_nodes = |router: u32| {
                    let mut ports = topology.ports_of(router);
                    ports.any(|port| matches!(topology.peer(port), crate::Peer::Node(_)))
                };
                for &(to, from) in next.keys().filter(|&&(to, from)| has_nodes(to) && has_nodes(from)) {
                    routes.insert((from, to), expand(&next, from, to, &name)?);
                }
            }
        }
        Ok(routes)
    }
}

/// All paths of packets from `from` to `to` by the next routers.
fn expand(
    next: &BTreeMap<(u32, u32), Vec<(u32, u32)>>,
    from: u32,
    to: u32,
    name: &impl Fn(u32) -> String,
) -> Result<Vec<Vec<u32>>, MapError> {
    let mut found = Vec::new();
    let mut open = vec![vec![from]];
    while let Some(path) = open.pop() {
        let last = path[path.len() - 1];
        let Some(choices) = next.get(&(to, last)) else {
            let line = next
                .get(&(to, from))
                .and_then(|rows| rows.first())
                .map(|&(_, line)| line);
            let problem = format!(
                "packets from router {} to router {} reach router {}, which has no row for that destination",
                name(from),
                name(to),
                name(last)
            );
            return Err(MapError { line, problem });
        };
        // Backward, so that the first row is continued first.
        for &(far, line) in choices.iter().rev() {
            let whole = [path.as_slice(), &[far]].concat();
            if path.contains(&far) {
                let problem = format!(
                    "packets from router {} to router {} come back to router {}",
                    name(from),
                    name(to),
                    name(far)
                );
                return Err(MapError::at(line, problem));
            }
            if far == to {
                found.push(whole);
            } else {
                open.push(whole);
            }
            if found.len() + open.len() > MOST_PATHS {
                return Err(too_many(line, name, (from, to)));
            }
        }
    }
    Ok(found)
}

fn too_many(line: u32, name: &impl Fn(u32) -> String, (from, to): (u32, u32)) -> MapError {
    let problem = format!(
        "more than {MOST_PATHS} paths from router {} to router {}",
        name(from),
        name(to)
    );
    MapError::at(line, problem)
}

/// # Errors
/// The router that `path` visits twice.
fn visits_once(path: &[u32]) -> Result<(), u32> {
    let mut sorted = path.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|two| two[0] == two[1]) {
        Some(two) => Err(two[0]),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GraphFile;

    fn routes(text: &str) -> Result<Routes, MapError> {
        let graph = GraphFile::from_edge_list("a b\nb c\nc d\nd a\n", 1).unwrap();
        RouteTable::read(text)?.routes(graph.names(), graph.topology())
    }

    #[test]
    fn paths_and_next_routers_give_the_same_routes() {
        let paths = routes("from,to,path\na,c,a b c\na,c,a d c\nb,c,b c\nd,c,d c\n").unwrap();
        let next = routes("to,at,next\n# toward c\nc,a,b\nc,a,d\nc,b,c\nc,d,c\n").unwrap();
        let sorted = |routes: Routes| -> Vec<_> {
            let sorted = routes.into_iter().map(|(pair, mut paths)| {
                paths.sort();
                (pair, paths)
            });
            sorted.collect()
        };
        assert_eq!(paths[&(0, 2)], [[0, 1, 2], [0, 3, 2]]);
        assert_eq!(sorted(paths), sorted(next));
    }

    #[test]
    fn errors_name_line_and_router() {
        for (text, line, part) in [
            ("", Some(1), "empty"),
            ("a,b,c\n", Some(1), "from, to, path or at, to, next"),
            ("from,to,path,weight\n", Some(1), "from, to, path or at, to, next"),
            ("from,to,path\na,c\n", Some(2), "2 values"),
            ("from,to,path\na,x,a x\n", Some(2), "no router \"x\""),
            ("from,to,path\na,c,a c\n", Some(2), "no cable connects routers a and c"),
            (
                "from,to,path\na,c,a b\n",
                Some(2),
                "does not lead from router a to another router c",
            ),
            ("from,to,path\na,a,a\n", Some(2), "does not lead"),
            ("from,to,path\na,c,\n", Some(2), "does not lead"),
            ("from,to,path\na,c,a b a d c\n", Some(2), "visits router a twice"),
            ("at,to,next\na,c,b\nb,c,a\n", Some(3), "come back to router a"),
            ("at,to,next\na,c,b\n", Some(2), "reach router b, which has no row"),
            ("at,to,next\na,a,b\n", Some(2), "need no route"),
        ] {
            let error = routes(text).unwrap_err();
            assert_eq!(error.line, line, "{text}: {}", error.problem);
            assert!(error.problem.contains(part), "{text}: {}", error.problem);
        }
        let many = "a,b,a b\n".repeat(65);
        let error = routes(&format!("from,to,path\n{many}")).unwrap_err();
        assert!(error.problem.contains("more than 64 paths"), "{error}");
    }
}
