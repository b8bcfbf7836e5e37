//! Parameters of a device from measurements of the device alone.
//!
//! With one access outstanding, every model except the hard disk has an access time that is linear in the parameters.
//! The fit minimizes the squared relative errors. Parameters that the measurements cannot separate are refused by name.
//!
//! | model | time of an access of `b` bytes |
//! |---|---|
//! | `rate` | overhead + b / rate of its direction (+ seek, where it is random) |
//! | `ssd` | page of its direction + switch of its direction x (pages - 1) |
//! | `nvme` | latency of its direction + b / rate of its direction |
//!
//! The hard disk has no such form: seek, rotation and read-ahead of a random read appear only as a sum.

mod least_squares;

use odonata_units::{Bandwidth, Bytes, Time};
use serde::{Deserialize, Serialize};

use crate::problem::within;
use crate::{Device, DeviceModel, MOST_PARALLEL, Nvme, Problem, Rate, Ssd};
use least_squares::{Outcome, least_squares};

/// A model with parameters that can be derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// [`Rate`].
    Rate,
    /// [`Ssd`].
    Ssd,
    /// [`Nvme`].
    Nvme,
    /// [`crate::Hdd`]: refused, with the reason.
    Hdd,
}

/// Reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

/// In which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// From the first byte to the last.
    Sequential,
    /// At random.
    Random,
}

/// One measurement: the workload, and one of three results.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// Reads or writes.
    pub operation: Operation,
    /// In which order.
    pub pattern: Order,
    /// Size of an access.
    pub record: Bytes,
    /// Accesses outstanding.
    #[serde(default = "one")]
    pub queue_depth: u32,
    /// Accesses per second.
    #[serde(default)]
    pub iops: Option<f64>,
    /// Bytes per second.
    #[serde(default)]
    pub bandwidth: Option<Bandwidth>,
    /// Mean latency of an access.
    #[serde(default)]
    pub latency: Option<Time>,
}

fn one() -> u32 {
    1
}

impl Measurement {
    /// Accesses per second.
    fn rate(&self, row: usize) -> Result<f64, Problem> {
        let key = |name: &str| format!("row {row}: {name}");
        within(&key("record"), self.record, Bytes(1), Bytes::MOST)?;
        within(&key("queue_depth"), self.queue_depth, 1, 65_536)?;
        let figures = [
            self.iops,
            self.bandwidth.map(|rate| rate.0 / self.record.0 as f64),
            self.latency.map(|time| f64::from(self.queue_depth) / time.seconds()),
        ];
        let mut given = figures.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(iops), None) => within(&key("iops"), iops, 1e-9, 1e12).map(|()| iops),
            (found, _) => {
                let found = if found.is_some() { "several" } else { "none" };
                let problem = Problem::new(&key("iops"), found, "one of iops, bandwidth, latency");
                Err(problem.saying("a measurement has one result"))
            }
        }
    }
}

/// A fit: the model and its measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The model.
    pub model: Model,
    /// Page of an SSD.
    #[serde(default)]
    pub page: Option<Bytes>,
    /// What was measured.
    pub measurements: Vec<Measurement>,
}

/// A measurement compared with the fitted device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Residual {
    /// Number of the measurement, from 1.
    pub row: usize,
    /// Measured accesses per second.
    pub measured_iops: f64,
    /// Accesses per second by the equation with the derived parameters.
    pub fitted_iops: f64,
    /// Relative error: (fitted - measured) / measured.
    pub error: f64,
}

/// A device fitted to measurements.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// The device; unmeasured parameters have their defaults.
    pub device: DeviceModel,
    /// The device as a TOML file.
    pub toml: String,
    /// Derived keys, in order of the table.
    pub derived: Vec<String>,
    /// Keys with default values.
    pub defaults: Vec<String>,
    /// Residuals of all measurements.
    pub residuals: Vec<Residual>,
    /// Measurements minus parameters: at 0, residuals are no evidence.
    pub degrees_of_freedom: usize,
    /// Caveats of the fit.
    pub notes: Vec<String>,
}

/// The linear parameters of a model, in order; rates as seconds per byte.
fn columns(model: Model) -> &'static [&'static str] {
    match model {
        Model::Rate => &["overhead", "seek", "read", "write"],
        Model::Ssd => &["page_read", "read_switch", "page_write", "write_switch"],
        Model::Nvme => &["read_latency", "read", "write_latency", "write"],
        Model::Hdd => &[],
    }
}

/// The coefficient of each parameter in the time of an access.
fn row(model: Model, page: Bytes, of: &Measurement) -> [f64; 4] {
    let bytes = of.record.0 as f64;
    let switches = (of.record.0.div_ceil(page.0) - 1) as f64;
    let seek = f64::from(u8::from(of.pattern == Order::Random));
    match (model, of.operation) {
        (Model::Rate, Operation::Read) => [1.0, seek, bytes, 0.0],
        (Model::Rate, Operation::Write) => [1.0, seek, 0.0, bytes],
        (Model::Ssd, Operation::Read) => [1.0, switches, 0.0, 0.0],
        (Model::Ssd, Operation::Write) => [0.0, 0.0, 1.0, switches],
        (Model::Nvme, Operation::Read) => [1.0, bytes, 0.0, 0.0],
        (Model::Nvme, Operation::Write) => [0.0, 0.0, 1.0, bytes],
        (Model::Hdd, _) => [0.0; 4],
    }
}

/// Derives a device.
pub fn fit(request: &Request) -> Result<Fitted, Problem> {
    let Request {
        model, measurements, ..
    } = request;
    let page = request.page.unwrap_or(Ssd::default().page);
    within("page", page, Bytes(512), Bytes(1 << 30))?;
    if *model == Model::Hdd {
        let problem = Problem::new("model", "hdd", "rate, ssd or nvme");
        return Err(Problem {
            hint: Some("take its parameters from a data sheet, as the preset seagate-st2000nx0253 does".into()),
            ..problem.saying("these measurements cannot separate seek, rotation and read-ahead of a hard disk")
        });
    }
    let rates = measurements
        .iter()
        .enumerate()
        .map(|(i, of)| of.rate(i + 1))
        .collect::<Result<Vec<_>, _>>()?;
    // Only queue depth 1: with a queue, throughput says nothing about the time of an access.
    let alone: Vec<usize> = (0..rates.len()).filter(|&i| measurements[i].queue_depth == 1).collect();
    if alone.is_empty() {
        let problem = Problem::new(
            "queue_depth",
            "no row with 1",
            "measurements with one access outstanding",
        );
        return Err(problem.saying("access times can be measured only without queueing"));
    }
    let names = columns(*model);
    let scaled: Vec<[f64; 4]> = alone
        .iter()
        .map(|&i| row(*model, page, &measurements[i]).map(|factor| factor * rates[i]))
        .collect();
    // A parameter takes part if a row measures its direction.
    let about = |j: usize| match (model, j) {
        (Model::Ssd | Model::Nvme, 0 | 2) => scaled.iter().any(|row| row[j] != 0.0),
        (Model::Ssd | Model::Nvme, _) => scaled.iter().any(|row| row[j - 1] != 0.0),
        _ => scaled.iter().any(|row| row[j] != 0.0),
    };
    let asked: Vec<usize> = (0..names.len()).filter(|&j| about(j)).collect();
    let matrix: Vec<Vec<f64>> = scaled
        .iter()
        .map(|row| asked.iter().map(|&j| row[j]).collect())
        .collect();
    let solution = match least_squares(&matrix) {
        Outcome::Solved(solution) => solution,
        Outcome::Undetermined(among) => {
            let keys: Vec<&str> = among.iter().map(|&j| names[asked[j]]).collect();
            let problem = Problem::new(
                &keys.join(", "),
                format!("{} measurements", alone.len()),
                "others as well",
            );
            return Err(Problem {
                hint: Some(missing(*model).into()),
                ..problem.saying("the measurements cannot separate these parameters")
            });
        }
    };
    let mut values = [f64::NAN; 4];
    for (&j, &value) in asked.iter().zip(&solution) {
        // A value of zero may be negative by rounding.
        if value < -1e-15 {
            let value = format!("{value:.3e} {}", if is_rate(names[j]) { "s/B" } else { "s" });
            let problem = Problem::new(names[j], value, "a parameter that is not negative");
            return Err(problem.saying("the least-squares fit is not a valid device: use another model"));
        }
        values[j] = value.max(0.0);
    }
    let mut fitted = Fitted {
        device: device(*model, page, &values)?,
        toml: String::new(),
        derived: asked.iter().map(|&j| names[j].to_owned()).collect(),
        defaults: (0..names.len())
            .filter(|j| !asked.contains(j))
            .map(|j| names[j].to_owned())
            .collect(),
        residuals: Vec::new(),
        degrees_of_freedom: alone.len() - asked.len(),
        notes: Vec::new(),
    };
    lanes(&mut fitted, measurements, &rates);
    for &i in &alone {
        let terms = row(*model, page, &measurements[i]);
        let time: f64 = asked.iter().map(|&j| terms[j] * values[j]).sum();
        fitted.residuals.push(Residual {
            row: i + 1,
            measured_iops: rates[i],
            fitted_iops: 1.0 / time,
            error: 1.0 / time / rates[i] - 1.0,
        });
    }
    if fitted.degrees_of_freedom == 0 {
        fitted
            .notes
            .push("with as many measurements as parameters, residuals of 0 are no evidence".into());
    }
    if !fitted.defaults.is_empty() {
        let keys = fitted.defaults.join(", ");
        fitted.notes.push(format!(
            "no row measures {keys}: the values are those of the default device"
        ));
    }
    if *model == Model::Ssd {
        fitted.defaults.extend(["channels".to_owned(), "ways".to_owned()]);
        fitted
            .notes
            .push("channels and ways are defaults; the fit assumes that writes never wait for dies".into());
    }
    fitted.device.check()?;
    let text = toml::to_string(&fitted.device);
    fitted.toml = text.map_err(|cause| Problem::new("", "", "").saying(cause))?;
    Ok(fitted)
}

fn is_rate(name: &str) -> bool {
    matches!(name, "read" | "write")
}

/// What would help.
fn missing(model: Model) -> &'static str {
    match model {
        Model::Rate => "measure records of two sizes, in sequence and at random",
        Model::Ssd => "measure records of one page and of many pages",
        Model::Nvme | Model::Hdd => "measure records of two sizes",
    }
}

/// The device with the derived values; missing values are defaults.
fn device(model: Model, page: Bytes, values: &[f64; 4]) -> Result<DeviceModel, Problem> {
    let time = |j: usize, default: Time| match values[j] {
        value if value.is_nan() => default,
        value => Time::from_ps_f64(value * 1e12),
    };
    let rate = |j: usize, default: Bandwidth| match values[j] {
        value if value.is_nan() => default,
        // A time per byte of zero: the fastest rate that can be written.
        value => Bandwidth((1.0 / value).min(1e18)),
    };
    Ok(match model {
        Model::Rate => {
            let default = Rate::default();
            DeviceModel::Rate(Rate {
                overhead: time(0, default.overhead),
                seek: time(1, default.seek),
                read: rate(2, default.read),
                write: rate(3, default.write),
                ..default
            })
        }
        Model::Ssd => {
            let default = Ssd::default();
            DeviceModel::Ssd(Ssd {
                page,
                page_read: time(0, default.page_read),
                read_switch: time(1, default.read_switch),
                page_write: time(2, default.page_write),
                write_switch: time(3, default.write_switch),
                ..default
            })
        }
        Model::Nvme | Model::Hdd => {
            let default = Nvme::default();
            DeviceModel::Nvme(Nvme {
                read_latency: time(0, default.read_latency),
                read: rate(1, default.read),
                write_latency: time(2, default.write_latency),
                write: rate(3, default.write),
                ..default
            })
        }
    })
}

/// Lanes of an NVMe device by Little's law: accesses per second times the time of one, if neither queue depth nor link
/// limited the rate.
fn lanes(fitted: &mut Fitted, measurements: &[Measurement], rates: &[f64]) {
    let DeviceModel::Nvme(nvme) = &mut fitted.device else {
        return;
    };
    let under_way = measurements.iter().zip(rates).filter_map(|(of, &iops)| {
        let write = of.operation == Operation::Write;
        let link = if write { nvme.write } else { nvme.read };
        let busy = iops * nvme.alone(write, of.record.0).seconds();
        let queue_bound = busy > 0.9 * f64::from(of.queue_depth);
        let link_bound = iops * of.record.0 as f64 > 0.9 * link.0;
        (!queue_bound && !link_bound).then_some(busy)
    });
    match under_way.fold(None, |most: Option<f64>, busy| {
        Some(most.map_or(busy, |most| most.max(busy)))
    }) {
        Some(most) => {
            nvme.lanes = (most.round() as u32).clamp(1, MOST_PARALLEL);
            fitted.derived.push("lanes".into());
        }
        None => {
            fitted.defaults.push("lanes".into());
        }
    }
}
