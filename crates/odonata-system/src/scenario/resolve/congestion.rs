//! Congestion control.

use odonata_units::{Bytes, Time};

use crate::scenario::choices::CongestionKind;
use crate::scenario::error::Problem;
use crate::scenario::resolved as r;
use crate::scenario::written as w;

/// Resolves the congestion control of a network.
pub(super) fn control(n: &w::Network) -> Result<r::CongestionControl, Problem> {
    let c = &n.congestion_control;
    let key = |name: &str| format!("network.congestion_control.{name}");
    if c.kind != CongestionKind::None && n.router == r::RouterModel::Pipelined {
        let problem = "pipelined routers know no congestion control";
        return Err(Problem::new(
            key("kind"),
            problem,
            "\"none\", or another network.router",
        ));
    }
    let given = [
        ("threshold", c.threshold.is_some(), c.kind != CongestionKind::None),
        ("decrease", c.decrease.is_some(), c.kind == CongestionKind::Ecn),
        ("interval", c.interval.is_some(), c.kind != CongestionKind::None),
        ("recovery", c.recovery.is_some(), c.kind != CongestionKind::None),
    ];
    if let Some((name, ..)) = given.iter().find(|(_, given, used)| *given && !used) {
        let kinds = if *name == "decrease" {
            "\"ecn\""
        } else {
            "\"ecn\" or \"per-flow\""
        };
        let problem = "this kind of congestion control does not use it";
        return Err(Problem::new(key(name), problem, format!("kind = {kinds}")));
    }
    let packets = |count: u64| Bytes(count * n.packet.0);
    let time = |name: &str, time: Option<Time>, default: Time| {
        let time = super::positive(&key(name), time.unwrap_or(default))?;
        match time <= Time::LONGEST {
            true => Ok(time),
            false => Err(Problem::new(
                key(name),
                format!("{time}"),
                format!("up to {}", Time::LONGEST),
            )),
        }
    };
    let interval = time("interval", c.interval, Time::from_ns(5_000))?;
    let recovery = time("recovery", c.recovery, Time::from_ns(500_000))?;
    let decrease = c.decrease.unwrap_or(0.5);
    if !(decrease > 0.0 && decrease < 1.0) {
        let problem = format!("a loss of {decrease}");
        return Err(Problem::new(key("decrease"), problem, "more than 0 and less than 1"));
    }
    Ok(match c.kind {
        CongestionKind::None => r::CongestionControl::None,
        CongestionKind::Ecn => r::CongestionControl::Ecn {
            threshold: c.threshold.unwrap_or(packets(8)),
            decrease,
            interval,
            recovery,
        },
        CongestionKind::PerFlow => r::CongestionControl::PerFlow {
            threshold: c.threshold.unwrap_or(packets(4)),
            interval,
            recovery,
        },
    })
}
