//! A map of cables: a CSV file that gives cables of any family a class, bandwidth, latency or buffer of their own.
//!
//! The header names the columns, in any order:
//!
//! | column | content |
//! |---|---|
//! | `a`, `b` | the two routers, by number, or by name in a graph that names them |
//! | `index` | which of several cables between them, from 0, in the order of the ports of `a`; empty or absent: all |
//! | `class` | `local`, `global` or `column`: the class whose bandwidth, latency and buffer it has; empty or absent: its own |
//! | `bandwidth` | a multiple of the bandwidth of the class; empty or absent: 1 |
//! | `latency` | a time such as `300ns` in place of the latency of the class; empty or absent: that of the class |
//! | `buffer` | a size such as `64KiB` in place of the buffer of the class; empty or absent: that of the class |
//!
//! A class changes neither the routes nor the class under which results count the cable.
//!
//! Lines that begin with `#` are comments.

use odonata_units::{Bytes, Time};

use crate::family::Family;
use crate::family::graph::fnv;
use crate::graph_file::{buffer, class, latency};
use crate::{Effect, Fault, LinkClass};

/// Most rows.
const MOST_ROWS: usize = 1 << 22;
/// Largest multiple of a class's bandwidth.
const MOST_BANDWIDTH: f64 = 1000.0;

const COLUMNS: [&str; 7] = ["a", "b", "index", "bandwidth", "latency", "buffer", "class"];

/// The rows of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct CableMap {
    rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    /// Line of the file, from 1.
    line: u32,
    ends: [String; 2],
    index: Option<u32>,
    bandwidth: Option<f64>,
    latency: Option<Time>,
    buffer: Option<Bytes>,
    class: Option<LinkClass>,
}

/// An error at a line of a map of cables or a table of routes, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapError {
    /// The line, if known.
    pub line: Option<u32>,
    /// The violated rule, with the value.
    pub problem: String,
}

impl MapError {
    pub(crate) fn at(line: u32, problem: impl Into<String>) -> MapError {
        MapError {
            line: Some(line),
            problem: problem.into(),
        }
    }
}

impl MapError {
    /// The error whose text is `text`.
    pub fn parse(text: &str) -> MapError {
        let parts = text.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
        let found = parts.and_then(|(line, problem)| Some(MapError::at(line.parse().ok()?, problem)));
        found.unwrap_or(MapError {
            line: None,
            problem: text.into(),
        })
    }
}

impl std::fmt::Display for MapError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

impl std::error::Error for MapError {}

/// A map with its file.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct CableFile {
    /// The path of the file.
    pub file: String,
    /// A hash of the text (FNV-1a, 64 bits), which identifies the machine.
    pub hash: String,
    #[serde(skip)]
    map: CableMap,
}

impl CableFile {
    /// Reads the map in `text`, the content of `file`.
    ///
    /// # Errors
    /// The line and its problem.
    pub fn read(file: String, text: &str) -> Result<CableFile, MapError> {
        let map = CableMap::read(text)?;
        let hash = fnv(text.as_bytes());
        Ok(CableFile { file, hash, map })
    }

    /// Gives the cables of `family` their bandwidths and latencies.
    ///
    /// # Errors
    /// The line that names no router or cable.
    pub fn apply(&self, family: &mut Family) -> Result<(), MapError> {
        let graph = family.graph_mut();
        let rows = self.map.faults(graph.names(), graph.topology().routers())?;
        let faults: Vec<Fault> = rows.iter().map(|(_, fault)| *fault).collect();
        graph.impair(&faults).map_err(|problem| {
            // Nothing is changed then. No row takes a cable away, so that rows can be tried one after the other.
            let mut tried = graph.topology().clone();
            let refused = |(line, fault): &(u32, Fault)| {
                let problem = tried.impair(&[*fault]).err()?;
                Some(MapError::at(*line, problem))
            };
            let first = rows.iter().find_map(refused);
            first.unwrap_or(MapError { line: None, problem })
        })?;
        let checked = graph.topology().check_latencies();
        checked.map_err(|problem| MapError { line: None, problem })
    }
}

impl CableMap {
    /// Reads a map.
    ///
    /// # Errors
    /// The line and its problem.
    pub fn read(text: &str) -> Result<CableMap, MapError> {
        let mut lines = (1..)
            .zip(text.trim_start_matches('\u{feff}').lines())
            .filter(|(_, line)| is_content(line));
        let (line, header) = lines.next().ok_or_else(|| MapError::at(1, "the file is empty"))?;
        let columns = columns(&fields(line, header)?, line)?;
        let width = columns.iter().flatten().count();
        let mut rows = Vec::new();
        for (line, text) in lines {
            let record = fields(line, text)?;
            if record.len() != width {
                let problem = format!("{} values, where the header has {width} columns", record.len());
                return Err(MapError::at(line, problem));
            }
            let row = row(&record, columns, line).map_err(|problem| MapError::at(line, problem))?;
            rows.push(row);
            if rows.len() > MOST_ROWS {
                return Err(MapError::at(line, format!("more than {MOST_ROWS} rows")));
            }
        }
        Ok(CableMap { rows })
    }

    /// The differences of cables, of routers with these `names` (none: numbers), each with its line. Whether a cable
    /// exists is checked when they are [applied](crate::Topology::impair).
    ///
    /// # Errors
    /// A router that does not exist.
    pub fn faults(&self, names: &[String], routers: u32) -> Result<Vec<(u32, Fault)>, MapError> {
        let numbers: std::collections::HashMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
        let mut faults = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let number = |end: &String| {
                let named = numbers.get(end.as_str()).copied();
                let number = named.or_else(|| end.parse().ok().filter(|&number| names.is_empty() && number < routers));
                number.ok_or_else(|| {
                    let known = match names {
                        [] => format!("they are numbered from 0 to {}", routers.saturating_sub(1)),
                        [first, ..] => format!("the graph names them, the first one {first}"),
                    };
                    MapError::at(row.line, format!("there is no router {end:?}: {known}"))
                })
            };
            let routers = (number(&row.ends[0])?, number(&row.ends[1])?);
            let effects = [
                row.class.map(Effect::Medium),
                row.bandwidth.map(Effect::Degraded),
                row.latency.map(Effect::Latency),
                row.buffer.map(Effect::Buffer),
            ];
            faults.extend(effects.into_iter().flatten().map(|effect| {
                let index = row.index;
                (row.line, Fault { routers, index, effect })
            }));
        }
        Ok(faults)
    }
}

/// Pairs of routers by number, from CSV with the columns a and b, each with its line.
pub(crate) struct PairsOfRouters(pub(crate) Vec<(u32, [u32; 2])>);

impl PairsOfRouters {
    /// # Errors
    /// The line and its problem.
    pub(crate) fn read(text: &str) -> Result<PairsOfRouters, MapError> {
        let map = CableMap::read(text)?;
        let number = |line: u32, end: &str| {
            end.parse()
                .map_err(|_| MapError::at(line, format!("router {end:?}: a number is expected")))
        };
        let pair = |row: &Row| {
            if row.index.is_some()
                || row.bandwidth.is_some()
                || row.latency.is_some()
                || row.buffer.is_some()
                || row.class.is_some()
            {
                let problem = "only columns a and b are known here; machine.cables changes single cables";
                return Err(MapError::at(row.line, problem));
            }
            Ok((
                row.line,
                [number(row.line, &row.ends[0])?, number(row.line, &row.ends[1])?],
            ))
        };
        map.rows.iter().map(pair).collect::<Result<_, _>>().map(PairsOfRouters)
    }
}

/// Whether a line is neither empty nor a comment.
pub(crate) fn is_content(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with('#')
}

/// The values of a line; none holds a line break.
pub(crate) fn fields(line: u32, text: &str) -> Result<csv::StringRecord, MapError> {
    let mut reader = csv::ReaderBuilder::new();
    reader.has_headers(false).trim(csv::Trim::All).buffer_capacity(256);
    let record = reader.from_reader(text.as_bytes()).into_records().next();
    record.and_then(Result::ok).ok_or_else(|| MapError::at(line, "not CSV"))
}

/// The positions of the columns.
fn columns(header: &csv::StringRecord, line: u32) -> Result<[Option<usize>; COLUMNS.len()], MapError> {
    let mut columns = [None; COLUMNS.len()];
    for (place, name) in header.iter().enumerate() {
        let Some(column) = COLUMNS.iter().position(|&known| known == name) else {
            let problem = format!("no column {name:?}: {} are known", COLUMNS.join(", "));
            return Err(MapError::at(line, problem));
        };
        if columns[column].replace(place).is_some() {
            return Err(MapError::at(line, format!("column {name:?} is given twice")));
        }
    }
    match columns {
        [Some(_), Some(_), ..] => Ok(columns),
        _ => Err(MapError::at(line, "columns a and b, the two routers, are required")),
    }
}

fn row(record: &csv::StringRecord, columns: [Option<usize>; COLUMNS.len()], line: u32) -> Result<Row, String> {
    let value = |column: usize| {
        let value = columns[column].and_then(|place| record.get(place)).unwrap_or("");
        (!value.is_empty()).then_some(value)
    };
    let end = |column: usize| {
        value(column)
            .map(str::to_owned)
            .ok_or_else(|| format!("{:?} is empty: a router is expected", COLUMNS[column]))
    };
    let index = value(2).map(|text| {
        text.parse()
            .map_err(|_| format!("index {text:?}: a number from 0 is expected"))
    });
    let bandwidth = value(3).map(|text| match text.parse::<f64>() {
        Ok(factor) if factor > 0.0 && factor <= MOST_BANDWIDTH => Ok(factor),
        _ => Err(format!(
            "bandwidth {text:?}: a multiple above 0, at most {MOST_BANDWIDTH}, is expected"
        )),
    });
    Ok(Row {
        line,
        ends: [end(0)?, end(1)?],
        index: index.transpose()?,
        bandwidth: bandwidth.transpose()?,
        latency: value(4).map(latency).transpose()?,
        buffer: value(5).map(buffer).transpose()?,
        class: value(6).map(class).transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_may_stand_in_any_order_and_values_may_be_absent() {
        let text = "latency,a,b,index\n# a comment\n300ns,0,1,\n,1,2,0\n1 us,0,2,1\n";
        let faults = CableMap::read(text).unwrap().faults(&[], 3).unwrap();
        let fault = |routers, index, ns| Fault {
            routers,
            index,
            effect: Effect::Latency(Time::from_ns(ns)),
        };
        assert_eq!(
            faults,
            [(3, fault((0, 1), None, 300)), (5, fault((0, 2), Some(1), 1000))]
        );
    }

    /// The class comes before what else the row sets, whatever the order of the columns.
    #[test]
    fn a_cable_may_have_another_class() {
        let faults = CableMap::read("class,bandwidth,a,b\ncolumn,2,0,1\n")
            .unwrap()
            .faults(&[], 2)
            .unwrap();
        let effects: Vec<Effect> = faults.iter().map(|(_, fault)| fault.effect).collect();
        assert_eq!(effects, [Effect::Medium(LinkClass::Column), Effect::Degraded(2.0)]);
    }

    #[test]
    fn routers_of_a_graph_go_by_their_names() {
        let names = ["x".to_owned(), "7".to_owned()];
        let map = CableMap::read("a,b,bandwidth\nx,7,0.5\n").unwrap();
        let faults = map.faults(&names, 2).unwrap();
        let effect = Effect::Degraded(0.5);
        assert_eq!(
            faults,
            [(
                2,
                Fault {
                    routers: (0, 1),
                    index: None,
                    effect
                }
            )]
        );
        let error = CableMap::read("a,b\nx,0\n").unwrap().faults(&names, 2).unwrap_err();
        assert_eq!((error.line, error.problem.contains("no router \"0\"")), (Some(2), true));
    }

    /// Delays are numbered by 16 bits: one latency more is refused.
    #[test]
    fn latencies_are_few_enough_to_be_numbered() {
        let routers = crate::Topology::MOST_LATENCIES as u32 + 2;
        let line = |cables: u32| {
            let rows = (0..cables).map(|router| format!("{router} {} latency={}ps\n", router + 1, router + 1));
            crate::GraphFile::from_edge_list(&rows.collect::<String>(), 1)
        };
        assert!(line(routers - 2).is_ok());
        let error = line(routers - 1).unwrap_err();
        assert!(error.contains("different latencies"), "{error}");
    }

    #[test]
    fn errors_name_line_and_value() {
        for (text, line, part) in [
            ("a,b,lenght\n", Some(1), "no column \"lenght\""),
            ("a,a,b\n", Some(1), "given twice"),
            ("a,latency\n0,1ns\n", Some(1), "columns a and b"),
            ("a,b,latency\n0,1,300\n", Some(2), "not \"300\""),
            ("a,b,bandwidth\n0,1,-1\n", Some(2), "bandwidth \"-1\""),
            ("a,b,bandwidth\n0,1,nan\n", Some(2), "bandwidth \"nan\""),
            ("a,b,index\n0,1,x\n", Some(2), "index \"x\""),
            ("a,b,buffer\n0,1,0 B\n", Some(2), "1 B to"),
            ("a,b,buffer\n0,1,64\n", Some(2), "buffer"),
            ("a,b,class\n0,1,terminal\n", Some(2), "one of local, global, column"),
            ("a,b\n0\n", Some(2), "1 values"),
            ("a,b\n,1\n", Some(2), "\"a\" is empty"),
        ] {
            let error = CableMap::read(text).unwrap_err();
            assert_eq!(error.line, line, "{text}: {}", error.problem);
            assert!(error.problem.contains(part), "{text}: {}", error.problem);
        }
    }
}
