//! Reads and writes GraphML; the supported subset is in the [parent module](super).

use super::draft::{CableSettings, Draft, RouterSettings};
use crate::{LinkClass, Peer, Topology};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::collections::HashMap;
use std::fmt::Write;

/// Deepest nesting of elements.
const DEEPEST: usize = 64;

/// A declared kind of data, by a `key` element.
struct Key {
    of_nodes: bool,
    of_edges: bool,
    name: String,
    default: Option<String>,
}

/// The purpose of an open element.
enum Open {
    Key(String),
    Default(String),
    Node(u32, RouterSettings),
    Edge(Ends, CableSettings),
    /// Data of the enclosing node or edge, by the name of its key; `None` if irrelevant.
    Data(Option<String>),
    Graph,
    Other,
}

/// The ends of an edge.
struct Ends {
    routers: [String; 2],
    ports: [Option<u32>; 2],
    line: u32,
}

/// # Errors
/// The line and its problem.
pub(super) fn read(text: &str, nodes: u32) -> Result<Draft, String> {
    let mut reader = Reader::from_str(text);
    let mut parser = Parser {
        draft: Draft::new(nodes),
        keys: HashMap::new(),
        open: Vec::new(),
        edges: Vec::new(),
        value: String::new(),
        line: 1,
        graph: None,
    };
    let mut counted = 0;
    loop {
        let event = reader.read_event();
        // An event's line is where it begins; `counted` is the end of the counted lines.
        let end = match &event {
            Err(_) => reader.error_position(),
            Ok(_) => reader.buffer_position(),
        };
        let here = parser.line;
        let end = (end as usize).min(text.len());
        parser.line += text
            .as_bytes()
            .get(counted..end)
            .unwrap_or(&[])
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count() as u32;
        counted = end.max(counted);
        let error = |error: String| format!("line {here}: {error}");
        match event {
            Err(wrong) => return Err(format!("line {}: {wrong}", parser.line)),
            Ok(Event::Eof) if parser.open.is_empty() => break,
            Ok(Event::Eof) => return Err(error("the text ends inside an element".into())),
            Ok(event) => parser.event(&event, here).map_err(error)?,
        }
    }
    let Parser { mut draft, edges, .. } = parser;
    for (ends, settings) in edges {
        let connected = ends
            .routers
            .iter()
            .map(|name| draft.find(name).ok_or_else(|| format!("there is no node \"{name}\"")))
            .collect::<Result<Vec<u32>, String>>()
            .and_then(|routers| draft.connect([routers[0], routers[1]], ends.ports, settings, ends.line));
        connected.map_err(|error| format!("line {}: {error}", ends.line))?;
    }
    Ok(draft)
}

struct Parser {
    draft: Draft,
    keys: HashMap<String, Key>,
    open: Vec<Open>,
    /// Edges may name later nodes.
    edges: Vec<(Ends, CableSettings)>,
    /// The text of the open data element.
    value: String,
    line: u32,
    /// The first line of the graph.
    graph: Option<u32>,
}

impl Parser {
    fn event(&mut self, event: &Event, line: u32) -> Result<(), String> {
        match event {
            Event::DocType(_) => Err("a document type declaration is refused".into()),
            Event::Start(element) => self.start(element, line),
            Event::Empty(element) => {
                self.start(element, line)?;
                self.end()
            }
            Event::End(_) => self.end(),
            Event::Text(text) if self.wants_text() => {
                self.value.push_str(text);
                Ok(())
            }
            Event::CData(text) if self.wants_text() => {
                self.value.push_str(text);
                Ok(())
            }
            Event::GeneralRef(reference) if self.wants_text() => {
                let written = format!("&{};", &**reference);
                let meant = quick_xml::escape::unescape(&written).map_err(|error| error.to_string())?;
                self.value.push_str(&meant);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn wants_text(&self) -> bool {
        matches!(self.open.last(), Some(Open::Data(Some(_)) | Open::Default(_)))
    }

    fn start(&mut self, element: &BytesStart, line: u32) -> Result<(), String> {
        if self.open.len() == DEEPEST {
            return Err(format!("elements are more than {DEEPEST} deep"));
        }
        let name = element.local_name();
        let inside_graph = matches!(self.open.last(), Some(Open::Graph));
        let open = match name.as_ref() {
            "graph" => {
                if self
                    .open
                    .iter()
                    .any(|open| matches!(open, Open::Graph | Open::Node(..) | Open::Edge(..)))
                {
                    return Err("a nested graph is not possible".into());
                }
                if let Some(first) = self.graph.replace(line) {
                    return Err(format!(
                        "a second graph, after the one of line {first}: a machine is exactly one"
                    ));
                }
                if attribute(element, "edgedefault")?.is_some_and(|default| default != "undirected") {
                    return Err("edges are directed: cables are not".into());
                }
                Open::Graph
            }
            "hyperedge" => return Err("a hyperedge is not possible: a cable has two ends".into()),
            "key" => {
                let of = attribute(element, "for")?.unwrap_or_else(|| "all".into());
                let id = required(element, "id")?;
                let key = Key {
                    of_nodes: of == "all" || of == "node",
                    of_edges: of == "all" || of == "edge",
                    name: attribute(element, "attr.name")?.unwrap_or_default(),
                    default: None,
                };
                self.keys.insert(id.clone(), key);
                Open::Key(id)
            }
            "default" => match self.open.last() {
                Some(Open::Key(id)) => Open::Default(id.clone()),
                _ => Open::Other,
            },
            "node" if inside_graph => {
                let id = required(element, "id")?;
                if self.draft.find(&id).is_some() {
                    return Err(format!("node \"{id}\" occurs twice"));
                }
                Open::Node(self.draft.router(&id, line), RouterSettings::default())
            }
            "edge" if inside_graph => {
                if attribute(element, "directed")?.is_some_and(|directed| directed == "true") {
                    return Err("an edge is directed: cables are not".into());
                }
                let port = |name: &str| -> Result<Option<u32>, String> {
                    let given = attribute(element, name)?;
                    given.map(|value| super::draft::number(name, &value)).transpose()
                };
                let ends = Ends {
                    routers: [required(element, "source")?, required(element, "target")?],
                    ports: [port("sourceport")?, port("targetport")?],
                    line,
                };
                Open::Edge(ends, CableSettings::default())
            }
            "data" => {
                let id = required(element, "key")?;
                let Some(key) = self.keys.get(&id) else {
                    return Err(format!("there is no key \"{id}\""));
                };
                let known = match self.open.last() {
                    Some(Open::Node(..)) => key.of_nodes && RouterSettings::has(&key.name),
                    Some(Open::Edge(..)) => key.of_edges && CableSettings::has(&key.name),
                    _ => false,
                };
                Open::Data(known.then(|| key.name.clone()))
            }
            _ => Open::Other,
        };
        if matches!(open, Open::Data(_) | Open::Default(_)) {
            self.value.clear();
        }
        self.open.push(open);
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        match self.open.pop() {
            Some(Open::Data(Some(name))) => match self.open.last_mut() {
                Some(Open::Node(_, settings)) => settings.set(&name, self.value.trim()),
                Some(Open::Edge(_, settings)) => settings.set(&name, self.value.trim()),
                _ => Ok(()),
            },
            Some(Open::Default(id)) => {
                if let Some(key) = self.keys.get_mut(&id) {
                    key.default = Some(self.value.trim().to_owned());
                }
                Ok(())
            }
            Some(Open::Node(router, mut settings)) => {
                for (name, given) in [
                    ("nodes", settings.nodes.is_some()),
                    ("ports", settings.ports.is_some()),
                    ("block", settings.block.is_some()),
                ] {
                    if let Some(default) = self.default(name, given, |key| key.of_nodes) {
                        settings.set(name, &default)?;
                    }
                }
                self.draft.set_router(router, settings)
            }
            Some(Open::Edge(ends, mut settings)) => {
                for (name, given) in [
                    ("cables", settings.cables.is_some()),
                    ("class", settings.class.is_some()),
                    ("bandwidth", settings.bandwidth.is_some()),
                ] {
                    if let Some(default) = self.default(name, given, |key| key.of_edges) {
                        settings.set(name, &default)?;
                    }
                }
                self.edges.push((ends, settings));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The default of the key called `name`, unless a value is `given`.
    fn default(&self, name: &str, given: bool, applies: impl Fn(&Key) -> bool) -> Option<String> {
        if given {
            return None;
        }
        // Usually one key has a name; of several, the smallest default wins in any order.
        let keys = self.keys.values().filter(|key| key.name == name && applies(key));
        keys.filter_map(|key| key.default.clone()).min()
    }
}

fn attribute(element: &BytesStart, name: &str) -> Result<Option<String>, String> {
    let found = element.try_get_attribute(name).map_err(|error| error.to_string())?;
    found
        .map(|attribute| {
            let value = quick_xml::escape::unescape(attribute.value.as_ref()).map_err(|error| error.to_string())?;
            Ok(value.into_owned())
        })
        .transpose()
}

fn required(element: &BytesStart, name: &str) -> Result<String, String> {
    attribute(element, name)?.ok_or_else(|| format!("\"{}\" without \"{name}\"", element.local_name().as_ref()))
}

/// Writes a topology as GraphML that reads back as the same graph: routers, nodes, ports, classes, bandwidth factors,
/// latencies of cables, and blocks. `names` are the names of the routers, or empty for their numbers.
///
/// # Errors
/// The router whose nodes are not at its first ports in router order: GraphML does not record the ports of nodes.
pub fn to_graphml(topology: &Topology, names: &[String]) -> Result<String, String> {
    let mut next = 0;
    let mut nodes = vec![0u32; topology.routers() as usize];
    for router in 0..topology.routers() {
        for (offset, port) in (0..).zip(topology.ports_of(router)) {
            if let Peer::Node(node) = topology.peer(port) {
                let count = &mut nodes[router as usize];
                if node != next || *count != offset {
                    return Err(format!(
                        "the nodes of router {router} are not at its first ports in router order"
                    ));
                }
                (next, *count) = (next + 1, offset + 1);
            }
        }
    }
    let name = |router: u32| match names.get(router as usize) {
        Some(name) => quick_xml::escape::escape(name.as_str()).into_owned(),
        None => router.to_string(),
    };
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text.push_str("<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n");
    for (key, of, kind) in [
        ("nodes", "node", "int"),
        ("ports", "node", "int"),
        ("block", "node", "int"),
        ("class", "edge", "string"),
        ("bandwidth", "edge", "double"),
        ("latency", "edge", "string"),
        ("buffer", "edge", "string"),
    ] {
        text.push_str(&format!(
            "  <key id=\"{key}\" for=\"{of}\" attr.name=\"{key}\" attr.type=\"{kind}\"/>\n"
        ));
    }
    text.push_str("  <graph edgedefault=\"undirected\">\n");
    for (block, range) in topology.blocks().windows(2).enumerate() {
        for router in range[0]..range[1] {
            put(
                &mut text,
                format_args!(
                    "    <node id=\"{}\"><data key=\"nodes\">{}</data><data key=\"ports\">{}</data><data key=\"block\">{block}</data></node>\n",
                    name(router),
                    nodes[router as usize],
                    topology.ports_of(router).len(),
                ),
            );
        }
    }
    for port in 0..topology.ports() {
        let Peer::Router {
            router: far,
            port: other,
        } = topology.peer(port)
        else {
            continue;
        };
        if other < port {
            continue;
        }
        let router = topology.router_of_port(port);
        put(
            &mut text,
            format_args!(
                "    <edge source=\"{}\" target=\"{}\" sourceport=\"{}\" targetport=\"{}\"><data key=\"class\">{}</data>",
                name(router),
                name(far),
                port - topology.first_port(router),
                other - topology.first_port(far),
                LinkClass::name(topology.medium(port)),
            ),
        );
        if topology.factor(port) != 1.0 {
            put(
                &mut text,
                format_args!("<data key=\"bandwidth\">{}</data>", topology.factor(port)),
            );
        }
        if let Some(latency) = topology.latency(port) {
            put(&mut text, format_args!("<data key=\"latency\">{latency}</data>"));
        }
        if let Some(buffer) = topology.buffer(port) {
            put(&mut text, format_args!("<data key=\"buffer\">{buffer}</data>"));
        }
        text.push_str("</edge>\n");
    }
    text.push_str("  </graph>\n</graphml>\n");
    Ok(text)
}

fn put(text: &mut String, what: std::fmt::Arguments) {
    // Writing to a string cannot fail.
    let _ = text.write_fmt(what);
}
