//! Which keys go with which router model: keys that do not apply to the chosen model are refused.
//!
//! Traffic classes, congestion control, wormhole switching and blame are checked where they are resolved;
//! `docs/router.md` has the complete table.

use odonata_network::settings::Network;

use crate::scenario::document::Document;
use crate::scenario::error::Problem;
use crate::scenario::resolved::RouterModel;

/// Keys of `network`, the models that take them, and the alternative for other models.
const KEYS: [(&str, &[RouterModel], &str); 3] = [
    (
        "input_queues",
        &[RouterModel::InputQueued],
        "only input-queued routers have a choice of input queues",
    ),
    (
        "router_delay",
        &[RouterModel::InputQueued, RouterModel::OutputQueued],
        "pipelined routers have a delay per stage (network.pipeline)",
    ),
    (
        "pipeline",
        &[RouterModel::Pipelined],
        "other routers have a single delay, network.router_delay",
    ),
];

/// Checks the keys of `n`, which was read from `document`. Keys that a preset sets for another model are ignored, and
/// so are keys of the file where an override selects the model.
///
/// # Errors
/// A key that the model does not take.
pub(super) fn check(n: &Network, document: &Document) -> Result<(), Problem> {
    let leftovers = document.leftovers("network", "router");
    for (name, models, instead) in KEYS {
        let key = format!("network.{name}");
        if models.contains(&n.router) || leftovers.contains(name) || !document.has(&key) {
            continue;
        }
        let names: Vec<String> = models.iter().map(|model| format!("{:?}", model.name())).collect();
        let problem = format!("{} routers do not use it: {instead}", n.router.name());
        let expected = format!("no such key, or network.router = {}", names.join(" or "));
        return Err(Problem::new(key, problem, expected));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::scenario::{self, Hardware, InputError};

    fn load(text: &str, overrides: &[&str]) -> Result<Hardware, InputError> {
        let overrides: Vec<String> = overrides.iter().map(|text| text.to_string()).collect();
        scenario::load_hardware(text, "m.toml", &overrides, "")
    }

    fn network(keys: &str) -> String {
        format!("[machine.torus]\ndims = [4, 4]\n[network]\nclock = \"1 ns\"\n{keys}\n")
    }

    /// Tests every key with every model: models in the table of docs/router.md accept it, all others refuse it and name
    /// those models.
    #[test]
    fn a_key_of_another_router_model_is_refused() {
        let models = ["input-queued", "output-queued", "pipelined"];
        let taken_by = [
            ("input_queues = \"fifo\"", [true, false, false]),
            ("router_delay = \"50 ns\"", [true, true, false]),
            ("pipeline = { crossbar = 2 }", [false, false, true]),
            ("switching = \"wormhole\"", [false, false, true]),
            ("congestion_control = { kind = \"ecn\" }", [true, true, true]),
            ("routing = { algorithm = \"bubble\" }", [true, false, true]),
            (
                "traffic_classes = [{ name = \"a\", share = 0.5 }, { name = \"b\", share = 0.5 }]",
                [true, false, true],
            ),
        ];
        for (key, takers) in taken_by {
            for (model, taken) in models.iter().zip(takers) {
                let found = load(&network(&format!("router = \"{model}\"\n{key}")), &[]);
                match found {
                    Ok(_) => assert!(taken, "{model} {key}"),
                    Err(error) => {
                        assert!(!taken, "{error}");
                        assert_eq!(error.line, Some(6), "{error}");
                        assert!(error.expected.contains("router"), "{error}");
                    }
                }
            }
        }
        let error = load(&network("router = \"pipelined\"\nrouter_delay = \"50 ns\""), &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "m.toml:6:16: network.router_delay: pipelined routers do not use it: pipelined routers have a delay per \
             stage (network.pipeline); expected no such key, or network.router = \"input-queued\" or \"output-queued\""
        );
    }

    /// A file or preset for one model can be run with another model selected by `--set`.
    #[test]
    fn keys_of_a_layer_below_the_model_are_passed_over() {
        let file = network("router = \"pipelined\"\npipeline = { crossbar = 2 }");
        assert!(load(&file, &["network.router=input-queued"]).is_ok());
        let both = ["network.router=pipelined", "network.router_delay=50 ns"];
        assert_eq!(load(&file, &both).unwrap_err().key, "network.router_delay");
        let preset = "preset = \"booksim\"\n[machine.mesh]\ndims = [4, 4]\n[network]\nrouter = \"input-queued\"\n\
                      switching = \"cut-through\"\n";
        assert!(load(preset, &[]).is_ok());
    }
}
