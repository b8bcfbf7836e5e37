//! Any graph from a file: GraphML or an edge list.
//!
//! Both forms have the same content: routers with a name and a number of nodes, cables with a class, a bandwidth
//! factor and possibly a latency and a buffer. Routers are numbered as they appear, nodes in router order. Ports of a router: its nodes, then its cables in
//! file order, unless GraphML gives port numbers.
//!
//! **Edge list.** One item per line; `#` starts a comment; words are separated by white space:
//!
//! ```text
//! nodes 4                     # nodes of each router that is not given others
//! router r0 nodes=2 block=0   # a router; all settings may be left out
//! r0 r1                       # a cable; a router that was not named yet is made
//! r0 r2 cables=3 class=global bandwidth=0.5 latency=1us
//! ```
//!
//! `nodes` and `router` are reserved words. `cables` is the number of parallel cables, `class` a name of
//! [`LinkClass`](crate::LinkClass) except terminal (default local), `bandwidth` a multiple of the class's bandwidth,
//! `latency` a time such as `300ns` in place of the class's latency, `buffer` a size such as `64KiB` in place of the class's
//! buffer of a virtual channel.
//! `ports` of a router is a minimum; extra ports are free. A text that begins with `{` or `[` is refused as JSON.
//! `block` (see [`Topology::blocks`]) is given for all routers or for none, in ascending order.
//!
//! **GraphML** (U. Brandes et al., "GraphML progress report", Graph Drawing 2001; graphml.graphdrawing.org): the same
//! settings are `data` of nodes (`nodes`, `ports`, `block`) and edges (`cables`, `class`, `bandwidth`, `latency`, `buffer`), identified by
//! the `attr.name` of their keys; a key's `default` applies if a value is missing. The `id` of a node is the router's
//! name. An edge's `sourceport` and `targetport` are port numbers of the two routers. Other data and elements are
//! ignored. Hyperedges, nested, directed or multiple graphs and document type declarations are refused, so only the
//! five entities of XML exist.

mod draft;
mod edge_list;
mod graphml;

use crate::{Fault, Topology};
pub(crate) use draft::{buffer, class, latency};
pub use graphml::to_graphml;

/// Longest text that is read, in bytes.
const LONGEST: usize = 1 << 28;

/// A graph from a file.
#[derive(Clone, Debug)]
pub struct GraphFile {
    topology: Topology,
    names: Vec<String>,
}

impl GraphFile {
    /// Reads an edge list; `nodes` is the number of nodes of routers without one.
    ///
    /// # Errors
    /// The line and its problem.
    pub fn from_edge_list(text: &str, nodes: u32) -> Result<Self, String> {
        bounded(text)?;
        edge_list::read(text, nodes)?.finish()
    }

    /// Reads GraphML; `nodes` is the number of nodes of routers without one.
    ///
    /// # Errors
    /// The line and its problem.
    pub fn from_graphml(text: &str, nodes: u32) -> Result<Self, String> {
        bounded(text)?;
        graphml::read(text, nodes)?.finish()
    }

    /// Reads either form, detected by its first character: GraphML begins with `<`, an edge list never does.
    ///
    /// # Errors
    /// The text begins like another format (JSON, DOT, GML); or the line and its problem.
    pub fn from_text(text: &str, nodes: u32) -> Result<Self, String> {
        let start = text.trim_start_matches('\u{feff}').trim_start();
        if start.starts_with('<') {
            return GraphFile::from_graphml(text, nodes);
        }
        if let Some(form) = foreign(start) {
            let line = 1 + text[..text.len() - start.len()].matches('\n').count();
            return Err(format!("line {line}: the text begins like {form}"));
        }
        GraphFile::from_edge_list(text, nodes)
    }

    /// The graph.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The graph, to change.
    pub(crate) fn topology_mut(&mut self) -> &mut Topology {
        &mut self.topology
    }

    /// The routers' names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Applies cable faults; see [`Topology::impair`].
    ///
    /// # Errors
    /// Those of [`Topology::impair`].
    pub fn impair(&mut self, faults: &[Fault]) -> Result<(), String> {
        self.topology.impair(faults)
    }
}

/// The other graph format that begins like `start`.
fn foreign(start: &str) -> Option<&'static str> {
    if start.starts_with(['{', '[']) {
        return Some("JSON");
    }
    let first: Vec<&str> = start.lines().next().unwrap_or("").split_whitespace().take(3).collect();
    match first.as_slice() {
        ["graph", "["] | ["graph["] => Some("GML"),
        ["graph" | "digraph" | "strict", .., last] if last.ends_with('{') => Some("DOT (Graphviz)"),
        _ => None,
    }
}

fn bounded(text: &str) -> Result<(), String> {
    if text.len() > LONGEST {
        return Err(format!(
            "a graph of {} bytes of text: at most 2^28 = {LONGEST} are read",
            text.len()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Arrangement, Cable, Dragonfly, Dragonfly2d, Dragonfly2dShape, DragonflyPlus, DragonflyPlusShape,
        DragonflyShape, Effect, FamilyGraph, FatTree, FatTreeShape, HyperX, HyperXShape, LinkClass, SlimFly,
        SlimFlyShape, Torus, TorusShape,
    };

    fn assert_same(a: &Topology, b: &Topology) {
        assert_eq!((a.routers(), a.nodes(), a.ports()), (b.routers(), b.nodes(), b.ports()));
        for router in 0..a.routers() {
            assert_eq!(a.ports_of(router), b.ports_of(router));
        }
        for port in 0..a.ports() {
            assert_eq!(
                (a.peer(port), a.factor(port), a.latency(port), a.buffer(port)),
                (b.peer(port), b.factor(port), b.latency(port), b.buffer(port))
            );
            if a.is_live(port) {
                assert_eq!(a.class(port), b.class(port));
            }
        }
        assert_eq!(a.blocks(), b.blocks());
    }

    fn families() -> Vec<Topology> {
        let torus = TorusShape {
            extents: vec![4, 2, 3],
            wrap: false,
            nodes: 2,
        };
        let dragonfly = DragonflyShape {
            groups: 5,
            routers: 4,
            nodes: 2,
            global_ports: 2,
            cables: None,
        };
        let two = Dragonfly2dShape {
            groups: 4,
            rows: 2,
            columns: 3,
            column_cables: 2,
            global_ports: 2,
            cables: Some(2),
            bundle: 2,
            nodes: 2,
            exceptions: vec![(2, 0), (4, 5)],
        };
        let plus = DragonflyPlusShape {
            groups: 4,
            leaves: 3,
            spines: 3,
            nodes: 2,
            local_cables: 2,
            global_ports: 2,
            cables: None,
        };
        let hyperx = HyperXShape {
            extents: vec![3, 4],
            cables: vec![1, 2],
            nodes: 2,
        };
        let mut broken = Torus::new(torus.clone()).unwrap();
        let fault = |b, effect| Fault {
            routers: (0, b),
            index: None,
            effect,
        };
        broken
            .impair(&[fault(1, Effect::Failed), fault(4, Effect::Degraded(0.1))])
            .unwrap();
        vec![
            Torus::new(torus).unwrap().topology().clone(),
            broken.topology().clone(),
            Dragonfly::new(dragonfly, Arrangement::Circulant)
                .unwrap()
                .topology()
                .clone(),
            Dragonfly2d::new(two, Arrangement::Absolute).unwrap().topology().clone(),
            DragonflyPlus::new(plus, Arrangement::Relative)
                .unwrap()
                .topology()
                .clone(),
            FatTree::new(FatTreeShape::k_ary(3, 3)).unwrap().topology().clone(),
            SlimFly::new(SlimFlyShape { q: 5, nodes: None })
                .unwrap()
                .topology()
                .clone(),
            HyperX::new(hyperx).unwrap().topology().clone(),
        ]
    }

    #[test]
    fn every_family_reads_back_as_it_was_written() {
        for topology in families() {
            let text = to_graphml(&topology, &[]).unwrap();
            let read = GraphFile::from_graphml(&text, 77).unwrap();
            assert_same(read.topology(), &topology);
            assert_eq!(read.names()[1], "1");
        }
    }

    #[test]
    fn cables_keep_their_buffers() {
        let text = "a b buffer=3KiB\nb c cables=2 buffer=70000B latency=5ns\na c\n";
        let file = GraphFile::from_edge_list(text, 1).unwrap();
        let t = file.topology();
        let buffers: Vec<_> = (0..t.ports())
            .map(|port| t.buffer(port).map_or(0, |buffer| buffer.0))
            .collect();
        // Nodes have the first port of each router.
        assert_eq!(buffers, [0, 3072, 0, 0, 3072, 70_000, 70_000, 0, 70_000, 70_000, 0]);
        assert_eq!(t.least_buffer(), Some((1, odonata_units::Bytes(3072))));
        let read = GraphFile::from_graphml(&to_graphml(t, file.names()).unwrap(), 0).unwrap();
        assert_same(read.topology(), t);
    }

    #[test]
    fn names_are_escaped() {
        let file = GraphFile::from_edge_list("a&\"<b c'd>\n", 1).unwrap();
        let text = to_graphml(file.topology(), file.names()).unwrap();
        let read = GraphFile::from_graphml(&text, 0).unwrap();
        assert_eq!(read.names(), ["a&\"<b", "c'd>"]);
        assert_same(read.topology(), file.topology());
    }

    #[test]
    fn a_list_of_edges_defines_routers_nodes_and_cables() {
        let text = "nodes 4 # each\n\n# two routers\nrouter x nodes=2 block=0 ports=9\nrouter y block=0\nrouter z block=7\n\
                    x y\nx z cables=3 class=global bandwidth=0.5\n";
        let file = GraphFile::from_edge_list(text, 1).unwrap();
        let t = file.topology();
        assert_eq!(file.names(), ["x", "y", "z"]);
        assert_eq!((t.routers(), t.nodes(), t.blocks()), (3, 10, &[0, 2, 3][..]));
        assert_eq!(t.ports_of(0).len(), 9);
        assert_eq!(
            (t.neighbour(2), t.class(2), t.factor(2)),
            (Some(1), LinkClass::Local, 1.0)
        );
        for port in 3..6 {
            assert_eq!(
                (t.neighbour(port), t.class(port), t.factor(port)),
                (Some(2), LinkClass::Global, 0.5)
            );
        }
        assert_eq!((t.free_ports(), t.nodes_of_routers(1..2)), (3, Some(2..6)));
    }

    #[test]
    fn graphml_as_other_tools_write_it_is_read() {
        let text = r#"<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d1" for="edge" attr.name="class" attr.type="string"><default>global</default></key>
  <key id="d0" for="node" attr.name="nodes" attr.type="int" />
  <key id="d2" for="node" attr.name="colour" attr.type="string" />
  <graph edgedefault="undirected">
    <desc>two &amp; one</desc>
    <edge source="n&#49;" target="n0"><data key="d1">local</data></edge>
    <node id="n0"><data key="d0"> 3 </data><data key="d2">&lt;red&gt;</data><port name="a"/></node>
    <node id="n1"/>
    <edge source="n1" target="n0"/>
  </graph>
</graphml>"#;
        let file = GraphFile::from_graphml(text, 1).unwrap();
        let t = file.topology();
        assert_eq!((t.routers(), t.nodes(), file.names()[1].as_str()), (2, 4, "n1"));
        assert_eq!((t.class(3), t.class(4)), (LinkClass::Local, LinkClass::Global));
    }

    #[test]
    fn errors_name_their_line() {
        let list = |text: &str| GraphFile::from_edge_list(text, 1).unwrap_err();
        for (text, line, part) in [
            ("a b\na\n", 2, "two routers"),
            ("a a\n", 1, "itself"),
            ("\na b speed=1\n", 2, "speed"),
            ("a b cables=0\n", 1, "cables"),
            ("a b cables=x\n", 1, "\"x\""),
            ("a b\nb c cables=4097\n", 2, "4096"),
            ("a b cables=4294967295\n", 1, "4096"),
            ("a b class=terminal\n", 1, "terminal"),
            ("a b bandwidth=-1\n", 1, "above 0"),
            ("a b bandwidth=nan\n", 1, "above 0"),
            ("a b buffer=0B\n", 1, "1 B to"),
            ("a b buffer=5\n", 1, "buffer"),
            ("router a\nrouter a\n", 2, "twice"),
            ("nodes 1\nnodes 2\n", 2, "twice"),
            ("nodes 1 2\n", 1, "one number"),
            ("router\n", 1, "name"),
            ("a nodes\n", 1, "cannot be a name"),
            ("router a nodes=99999999999\n", 1, "99999999999"),
            ("router a nodes=4294967295\n", 1, "2^28"),
            ("a b c\n", 1, "\"c\""),
            ("a b cables=1 cables=2\n", 1, "twice"),
        ] {
            let error = list(text);
            assert!(
                error.starts_with(&format!("line {line}: ")) && error.contains(part),
                "{text:?}: {error}"
            );
        }
        assert!(list("# nothing\n").contains("no router"));
        assert_eq!(
            list("router a block=0\na b\n"),
            "line 2: router b has no block, but router a has one (line 1): all or none are expected"
        );
        assert_eq!(
            list("a b\nrouter b block=3\n"),
            "line 1: router a has no block, but router b has one (line 1): all or none are expected"
        );
        assert_eq!(
            list("router a block=1\nrouter b block=0\n"),
            "line 2: router b has block 0, the one before it block 1: block numbers ascend"
        );

        let xml = |inside: &str| {
            let text = format!(
                "<graphml><key id=\"n\" for=\"node\" attr.name=\"nodes\"/>\n<graph edgedefault=\"undirected\">\n{inside}\n</graph></graphml>"
            );
            GraphFile::from_graphml(&text, 1).unwrap_err()
        };
        for (text, part) in [
            ("<node/>", "id"),
            ("<node id=\"a\"/><node id=\"a\"/>", "twice"),
            ("<node id=\"a\"/><edge source=\"a\" target=\"b\"/>", "\"b\""),
            ("<node id=\"a\"/><edge source=\"a\"/>", "target"),
            ("<node id=\"a\"><data key=\"q\">1</data></node>", "\"q\""),
            ("<node id=\"a\"><data key=\"n\">&evil;</data></node>", "evil"),
            ("<node id=\"a\"><data key=\"n\">many</data></node>", "many"),
            ("<node id=\"a\"><graph/></node>", "nested"),
            ("<hyperedge/>", "hyperedge"),
            ("<node id=\"a\"></edge>", "edge"),
            ("<node id=\"&evil;\"/>", "evil"),
            (
                "<node id=\"a\"/><node id=\"b\"/><edge source=\"a\" target=\"b\" sourceport=\"0\" targetport=\"1\"/>",
                "port 0",
            ),
        ] {
            let error = xml(text);
            assert!(
                error.starts_with("line 3: ") && error.contains(part),
                "{text:?}: {error}"
            );
        }
        let raw = |text: &str| GraphFile::from_graphml(text, 1).unwrap_err();
        assert!(raw("<!DOCTYPE x [<!ENTITY a \"b\">]><graphml/>").contains("document type"));
        assert!(raw("<graphml><graph edgedefault=\"directed\"/></graphml>").contains("directed"));
        assert_eq!(
            raw("<graphml><graph><node id=\"a\"/></graph>\n<graph><node id=\"b\"/></graph></graphml>"),
            "line 2: a second graph, after the one of line 1: a machine is exactly one"
        );
        assert!(raw("<graphml/>").contains("no router"));
        assert!(raw("").contains("no router"));
        assert!(raw("<graphml>").contains("ends"));
        assert!(raw(&"<a>".repeat(1000)).contains("deep"));
    }

    /// Files of other formats are named, not parsed as edge lists.
    #[test]
    fn other_forms_of_graphs_are_recognized_by_their_beginning() {
        for (text, form) in [
            ("\n {\"nodes\": []}", "line 2: the text begins like JSON"),
            ("[[0, 1], [1, 2]]", "line 1: the text begins like JSON"),
            ("graph [\n  node [ id 0 ]\n]", "line 1: the text begins like GML"),
            ("digraph G {\n a -> b\n}", "line 1: the text begins like DOT (Graphviz)"),
        ] {
            assert_eq!(GraphFile::from_text(text, 1).unwrap_err(), form, "{text}");
        }
        let read = |text: &str| GraphFile::from_text(text, 1).map(|graph| graph.names().to_vec());
        assert_eq!(read("graph digraph\n"), Ok(vec!["graph".into(), "digraph".into()]));
        let xml = "\n<graphml><graph><node id=\"a\"/></graph></graphml>";
        assert_eq!(read(xml), Ok(vec!["a".into()]));
    }

    #[test]
    fn two_cables_cannot_have_one_port() {
        let edge = "<edge source=\"a\" target=\"b\" sourceport=\"1\" targetport=\"1\"/>";
        let text = format!("<graphml><graph>\n<node id=\"a\"/><node id=\"b\"/>\n{edge}\n{edge}</graph></graphml>");
        let error = GraphFile::from_graphml(&text, 1).unwrap_err();
        assert!(
            error.starts_with("line 4: ") && error.contains("port 1 of router a"),
            "{error}"
        );
        let far = text.replace("sourceport=\"1\"", "sourceport=\"4000000000\"");
        assert!(GraphFile::from_graphml(&far, 1).unwrap_err().contains("4096"));
    }

    #[test]
    fn only_nodes_at_the_first_ports_can_be_written() {
        let cable = Cable {
            a: (0, 0),
            b: (1, 0),
            class: LinkClass::Local,
        };
        let topology = Topology::new(&[2, 1], &[(0, 1)], &[cable]).unwrap();
        assert!(to_graphml(&topology, &[]).unwrap_err().contains("router 0"));
    }
}
