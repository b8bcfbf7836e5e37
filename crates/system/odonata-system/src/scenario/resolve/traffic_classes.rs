//! The traffic classes of jobs.

use odonata_network::settings::Network;

use crate::scenario::error::Problem;
use crate::scenario::job::JobClasses;

/// Resolves the classes of the job whose table is at `at`.
pub(super) fn of_job(at: &str, job: &mut JobClasses, network: &Network) -> Result<(), Problem> {
    let classes = &network.traffic_classes;
    for (key, class) in [("mpi", &mut job.mpi), ("io", &mut job.io)] {
        let position = match class.name() {
            None => Some(0),
            Some(name) => classes.iter().position(|class| class.name == *name),
        };
        if let Some(position) = position {
            class.set(position as u8);
            continue;
        }
        let expected = match classes.is_empty() {
            true => "a class of network.traffic_classes; none is declared".into(),
            false => {
                let names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
                format!("one of {}", names.join(", "))
            }
        };
        let shown: String = class.name().map_or("", String::as_str).chars().take(80).collect();
        let problem = format!("no traffic class {shown:?}");
        return Err(Problem::new(format!("{at}.{key}"), problem, expected));
    }
    Ok(())
}
