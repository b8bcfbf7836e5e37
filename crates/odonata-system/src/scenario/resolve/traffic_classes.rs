//! Traffic classes, and which jobs are in them.

use odonata_network::MOST_CLASSES;

use crate::scenario::error::Problem;
use crate::scenario::resolved as r;
use crate::scenario::written as w;

/// Shares that add up to 1 in decimal numbers may be beyond it in binary ones.
const ROUNDING: f64 = 1e-9;

/// Resolves the classes of a network.
pub(super) fn classes(n: &w::Network) -> Result<Vec<r::TrafficClass>, Problem> {
    let key = "network.traffic_classes";
    let most = usize::from(MOST_CLASSES);
    if n.traffic_classes.len() > most {
        let problem = format!("{} traffic classes", n.traffic_classes.len());
        return Err(Problem::new(key, problem, format!("at most {most}")));
    }
    if n.traffic_classes.len() > 1 && n.router != r::RouterModel::InputQueued {
        let problem = "only input-queued routers tell traffic classes apart";
        return Err(Problem::new(
            key,
            problem,
            "network.router = \"input-queued\", or one class",
        ));
    }
    let mut resolved: Vec<r::TrafficClass> = Vec::new();
    for (number, class) in n.traffic_classes.iter().enumerate() {
        let at = format!("{key}.{number}");
        let name = super::name(&format!("{at}.name"), class.name.clone())?;
        if resolved.iter().any(|other| other.name == name) {
            let problem = format!("a second class {name:?}");
            return Err(Problem::new(format!("{at}.name"), problem, "a name of its own"));
        }
        let share = super::within(&format!("{at}.share"), class.share, 0.001, 1.0)?;
        let before: f64 = resolved.iter().map(|other| other.share).sum();
        if before + share > 1.0 + ROUNDING {
            let problem = format!("the shares up to this one add up to {}", before + share);
            return Err(Problem::new(format!("{at}.share"), problem, "at most 1 in all"));
        }
        resolved.push(r::TrafficClass {
            name,
            share,
            priority: class.priority,
        });
    }
    Ok(resolved)
}

/// The classes of a job, which the table at `at` names.
pub(super) fn of_job(at: &str, job: &w::JobClasses, network: &r::Network) -> Result<r::JobClasses, Problem> {
    let classes = &network.traffic_classes;
    let find = |key: &str, name: &Option<String>| {
        let Some(name) = name else { return Ok(0) };
        if let Some(position) = classes.iter().position(|class| class.name == *name) {
            return Ok(position as u8);
        }
        let expected = match classes.is_empty() {
            true => "a class of network.traffic_classes, of which there is none".into(),
            false => {
                let names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
                format!("one of {}", names.join(", "))
            }
        };
        let shown: String = name.chars().take(80).collect();
        Err(Problem::new(
            format!("{at}.{key}"),
            format!("no traffic class {shown:?}"),
            expected,
        ))
    };
    Ok(r::JobClasses {
        mpi: find("mpi", &job.mpi)?,
        io: find("io", &job.io)?,
    })
}
