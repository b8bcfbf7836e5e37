//! Routes on any graph: tables of routes, ECMP by flow, lists of global cables.

use crate::common::finish;
use odonata_system::{Outcome, Results, prove, scenario};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/machines");

fn run(text: &str) -> Results {
    let scenario = scenario::load(text, "test.toml", &[], None, FOLDER).unwrap_or_else(|error| panic!("{error}"));
    finish(scenario)
}

fn ring(routing: &str, more: &str) -> String {
    format!(
        "{more}\n[network.routing]\n{routing}\n[machine.graph]\nfile = \"ring.txt\"\nnodes_per_router = 2\n\
         [[jobs]]\nranks = 10\nworkload.uniform = {{ load = 0.4, messages = 40 }}\n"
    )
}

#[test]
fn a_table_of_routes_runs_the_same_on_every_scheduler() {
    let routing = "algorithm = \"table\"\nroutes = \"ring-routes.csv\"";
    let one = run(&ring(routing, "run.scheduler = \"sequential\""));
    assert_eq!(*one.outcome(), Outcome::Completed);
    for spread in ["flow", "packet", "adaptive"] {
        let routing = format!("{routing}\nspread = \"{spread}\"");
        let sequential = run(&ring(&routing, "run.scheduler = \"sequential\""));
        let parallel = run(&ring(&routing, "run = { scheduler = \"optimistic\", parts = 3 }"));
        assert_eq!(sequential.digest(), parallel.digest(), "{spread}");
    }
}

/// Clockwise paths around a ring need two levels, and the proof holds.
#[test]
fn a_table_of_routes_is_proved() {
    let text = ring("algorithm = \"table\"\nroutes = \"ring-routes.csv\"", "");
    let hardware = scenario::load_hardware(&text, "m.toml", &[], FOLDER).unwrap();
    let proof = prove(&hardware).unwrap();
    assert!(proof.deadlock_free);
    assert_eq!(proof.virtual_channels_needed[1], 2);
}

#[test]
fn wrong_routes_name_file_and_line() {
    let folder = std::env::temp_dir().join(format!("odonata-routes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(format!("{FOLDER}/ring.txt"), folder.join("ring.txt")).unwrap();
    for (table, line, part) in [
        (
            "from,to,path\na,b,a b\na,c,a c\n",
            Some(3),
            "no cable connects routers a and c",
        ),
        ("from,to,path\na,b,a b\n", None, "no route leads from router"),
        ("from,to,way\n", Some(1), "from, to, path"),
    ] {
        std::fs::write(folder.join("t.csv"), table).unwrap();
        let text = ring("algorithm = \"table\"\nroutes = \"t.csv\"", "");
        let error = scenario::load_hardware(&text, "m.toml", &[], folder.to_str().unwrap()).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(
            error.file.ends_with("t.csv") && error.to_string().contains(part),
            "{error}"
        );
    }
    let text = ring("algorithm = \"table\"", "");
    let error = scenario::load_hardware(&text, "m.toml", &[], FOLDER).unwrap_err();
    assert_eq!(error.key, "network.routing.routes");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The cables of an arrangement, listed, give the results of that arrangement.
#[test]
fn listed_global_cables_are_those_of_an_arrangement() {
    let sizes = "groups = 5\nrouters_per_group = 4\nnodes_per_router = 2\nglobal_ports_per_router = 1\n";
    let scenario = |more: &str| {
        format!(
            "name = \"d\"\n[network.routing]\nalgorithm = \"ugal\"\n[machine.dragonfly]\n{sizes}{more}\n[[jobs]]\nranks = 40\n\
             workload.uniform = {{ load = 0.3, messages = 20 }}\n"
        )
    };
    // Group x has cable d, at its router d, to group x + d + 1.
    let mut rows = String::from("a,b\n");
    for (x, d) in (0..5).flat_map(|x| (0..4).map(move |d| (x, d))) {
        let y = (x + d + 1) % 5;
        if x < y {
            rows += &format!("{},{}\n", 4 * x + d, 4 * y + 3 - d);
        }
    }
    let folder = std::env::temp_dir().join(format!("odonata-cables-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("c.csv"), rows).unwrap();
    let listed = format!("global_cables = {:?}", folder.join("c.csv").to_str().unwrap());
    let (a, b) = (run(&scenario("arrangement = \"relative\"")), run(&scenario(&listed)));
    assert_eq!(a.digest(), b.digest());
    std::fs::write(folder.join("c.csv"), "a,b\n0,1\n").unwrap();
    let error = scenario::load_hardware(&scenario(&listed), "m.toml", &[], FOLDER).unwrap_err();
    assert_eq!((error.line, error.file.ends_with("c.csv")), (Some(2), true), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}
