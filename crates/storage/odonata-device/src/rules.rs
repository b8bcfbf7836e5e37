//! The choice among a server's devices: the first matching rule decides.
//!
//! The storage-side burst buffers of MFNetSim have two rules: requests below 64 KB go to the SSD, all others to the
//! hard disk.

use odonata_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Problem;

/// The purpose of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// Data that a job reads.
    Input,
    /// Data that a job produces.
    Output,
    /// State to resume a job from.
    Checkpoint,
    /// Data not needed after the job.
    Scratch,
}

/// One rule. It matches an access if all its conditions hold; a rule without conditions matches all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Name of the device for matching accesses.
    pub device: String,
    /// Requests of fewer bytes than this, at least 1 B. Default: any size.
    #[serde(default)]
    pub below: Option<Bytes>,
    /// Files of these kinds; scenarios do not set kinds yet. Default: any kind.
    #[serde(default)]
    pub files: Option<Vec<FileKind>>,
}

/// The rules of a server; the first match decides, and the last rule matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Rules(pub Vec<Rule>);

impl Rules {
    /// Requests below `threshold` go to the device `small`, all others to `large`.
    pub fn by_size(threshold: Bytes, small: &str, large: &str) -> Self {
        let rule = |device: &str, below| Rule {
            device: device.into(),
            below,
            files: None,
        };
        Rules(vec![rule(small, Some(threshold)), rule(large, None)])
    }

    /// The rules with device numbers instead of names, if every access has a device.
    pub fn resolve(&self, devices: &[&str]) -> Result<Choice, Problem> {
        let mut choice = Choice { rules: Vec::new() };
        for (number, rule) in self.0.iter().enumerate() {
            let key = |name: &str| format!("{number}.{name}");
            let Some(device) = devices.iter().position(|name| *name == rule.device) else {
                let expected = format!("one of {}", devices.join(", "));
                let problem = Problem::new(&key("device"), format!("{:?}", rule.device), expected);
                return Err(problem.saying("there is no such device"));
            };
            if rule.below == Some(Bytes::ZERO) {
                return Err(Problem::new(&key("below"), Bytes::ZERO, "1 B or more").saying("no request is that small"));
            }
            if let Some([]) = rule.files.as_deref() {
                return Err(Problem::new(&key("files"), "[]", "a kind of file").saying("a rule for no kind of file"));
            }
            let kinds = rule.files.iter().flatten().fold(0, |set, &kind| set | bit(kind));
            choice.rules.push(Resolved {
                device: device as u32,
                below: rule.below.map_or(u64::MAX, |bytes| bytes.0),
                kinds: if rule.files.is_some() { kinds } else { u8::MAX },
            });
        }
        match self.0.last() {
            Some(Rule {
                below: None,
                files: None,
                ..
            }) => Ok(choice),
            Some(_) => {
                let expected = "a last rule with nothing but a device";
                Err(Problem::new(&(self.0.len() - 1).to_string(), "a condition", expected)
                    .saying("some requests have no device"))
            }
            None => Err(Problem::new("", "no rule", "a rule with a device").saying("no request has a device")),
        }
    }
}

fn bit(kind: FileKind) -> u8 {
    1 << kind as u8
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Resolved {
    device: u32,
    below: u64,
    kinds: u8,
}

/// Rules with device numbers; without rules, the first device takes all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    rules: Vec<Resolved>,
}

impl Choice {
    /// The device for a request of `bytes` of a file of this kind; an unknown kind matches only rules without kinds.
    pub fn device(&self, bytes: u64, kind: Option<FileKind>) -> usize {
        let fits = |rule: &&Resolved| {
            let kinds = rule.kinds == u8::MAX || kind.is_some_and(|kind| rule.kinds & bit(kind) != 0);
            kinds && (bytes < rule.below || rule.below == u64::MAX)
        };
        // The last rule matches all.
        self.rules.iter().find(fits).map_or(0, |rule| rule.device as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_requests_go_to_one_device_and_all_others_to_the_other() {
        let rules = Rules::by_size(Bytes(64_000), "ssd", "hdd");
        let choice = rules.resolve(&["hdd", "ssd"]).unwrap();
        let devices = [0, 1, 63_999, 64_000, u64::MAX].map(|bytes| choice.device(bytes, None));
        assert_eq!(devices, [1, 1, 1, 0, 0]);
    }

    #[test]
    fn the_first_rule_that_fits_counts_and_kinds_fit_files_of_a_known_kind() {
        let text = r#"[
            {"device": "nvme", "files": ["checkpoint", "scratch"]},
            {"device": "ssd", "below": "1 MiB", "files": ["input"]},
            {"device": "hdd"}
        ]"#;
        let rules: Rules = serde_json::from_str(text).unwrap();
        let choice = rules.resolve(&["hdd", "ssd", "nvme"]).unwrap();
        assert_eq!(choice.device(1 << 30, Some(FileKind::Checkpoint)), 2);
        assert_eq!(choice.device(1, Some(FileKind::Input)), 1);
        assert_eq!(choice.device(1 << 20, Some(FileKind::Input)), 0);
        assert_eq!(choice.device(1, Some(FileKind::Output)), 0);
        assert_eq!(choice.device(1, None), 0);
    }

    #[test]
    fn rules_without_an_answer_for_everything_are_refused_by_name() {
        let refused = |text: &str| {
            let rules: Rules = serde_json::from_str(text).unwrap();
            rules.resolve(&["hdd", "ssd"]).unwrap_err().to_string()
        };
        assert_eq!(
            refused(r#"[{"device": "tape"}]"#),
            "0.device: there is no such device, found \"tape\", expected one of hdd, ssd"
        );
        assert!(refused(r#"[{"device": "ssd", "below": "64 kB"}]"#).contains("some requests have no device"));
        assert!(refused(r#"[{"device": "ssd", "below": "0 B"}, {"device": "hdd"}]"#).contains("0.below"));
        assert!(refused(r#"[{"device": "ssd", "files": []}, {"device": "hdd"}]"#).contains("0.files"));
        assert!(refused("[]").contains("no request has a device"));
    }
}
