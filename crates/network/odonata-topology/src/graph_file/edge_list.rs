//! Reads an edge list; the grammar is in the [parent module](super).

use super::draft::{CableSettings, Draft, RouterSettings, number};

/// # Errors
/// The line and its problem.
pub(super) fn read(text: &str, nodes: u32) -> Result<Draft, String> {
    let mut reader = Reader {
        draft: Draft::new(nodes),
        described: Vec::new(),
        nodes_given: false,
    };
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split('#').next().unwrap_or("");
        let words: Vec<&str> = content.split_whitespace().collect();
        reader
            .item(&words, line)
            .map_err(|error| format!("line {line}: {error}"))?;
    }
    Ok(reader.draft)
}

struct Reader {
    draft: Draft,
    /// Whether a router had its own line.
    described: Vec<bool>,
    nodes_given: bool,
}

impl Reader {
    fn item(&mut self, words: &[&str], line: u32) -> Result<(), String> {
        match words {
            [] => Ok(()),
            ["nodes", count] => {
                if std::mem::replace(&mut self.nodes_given, true) {
                    return Err("the nodes of all routers are given twice".into());
                }
                self.draft.nodes = number("nodes", count)?;
                Ok(())
            }
            ["nodes", ..] => Err("\"nodes\" is followed by one number".into()),
            ["router"] => Err("\"router\" is followed by its name".into()),
            ["router", name, settings @ ..] => self.router(name, settings, line),
            [_] => Err("a cable needs two routers".into()),
            [a, b, settings @ ..] => {
                let mut given = CableSettings::default();
                for word in settings {
                    let (name, value) = setting(word)?;
                    given.set(name, value)?;
                }
                let routers = [self.named(a, line)?, self.named(b, line)?];
                self.draft.connect(routers, [None; 2], given, line)
            }
        }
    }

    fn router(&mut self, name: &str, settings: &[&str], line: u32) -> Result<(), String> {
        let mut given = RouterSettings::default();
        for word in settings {
            let (name, value) = setting(word)?;
            given.set(name, value)?;
        }
        let router = self.named(name, line)?;
        if self.described.len() <= router as usize {
            self.described.resize(router as usize + 1, false);
        }
        if std::mem::replace(&mut self.described[router as usize], true) {
            return Err(format!("router {name} is described twice"));
        }
        self.draft.set_router(router, given)
    }

    fn named(&mut self, name: &str, line: u32) -> Result<u32, String> {
        match name {
            "nodes" | "router" => Err(format!("\"{name}\" cannot be a name")),
            _ => Ok(self.draft.router(name, line)),
        }
    }
}

fn setting(word: &str) -> Result<(&str, &str), String> {
    word.split_once('=')
        .ok_or_else(|| format!("\"{word}\": a setting such as cables=2 is expected"))
}
