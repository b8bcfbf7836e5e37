//! The settings of clients of storage servers: their time-outs, retries and reactions to failed servers.

use odonata_units::{Problem, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Upper bound on repeated attempts at one server.
const MOST_RETRIES: u32 = 30;

/// What clients do where a storage server does not answer in time.
///
/// A request is sent up to `1 + retries` times; each waits for its answer for `timeout`, and the next goes `backoff` after the
/// first of them, twice as long after the second, and so on. So a server that is away is known to be after
/// `(1 + retries) timeout + (2^retries - 1) backoff`. Answers that come later are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// How long a request waits for all of its answer, more than 0 s.
    pub timeout: Time,
    /// How often it is sent again to the same server, at most 30.
    #[serde(default = "three")]
    #[schemars(range(max = 30))]
    pub retries: u32,
    /// From the first timeout to the next try; it doubles with every one that follows.
    #[serde(default)]
    pub backoff: Time,
    /// What it does when all tries were in vain.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// What a read of bytes is that were on a server that has failed, and have not been written since.
    #[serde(default)]
    pub lost_reads: LostReads,
}

fn three() -> u32 {
    3
}

/// What a client does when a server has not answered any try.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// The run ends with the outcome `storage-failed`.
    #[default]
    Error,
    /// The rank takes the server for failed from then on, and uses the one with the next number instead that it does not take for
    /// failed: for what it writes and what it reads.
    ReRoute,
}

/// What a read of lost bytes is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LostReads {
    /// The run ends with the outcome `storage-failed`.
    #[default]
    Error,
    /// They are read as bytes that were never written: from the tier below, or as input that was there before. They are counted.
    Below,
}

impl Client {
    /// Checks the keys.
    ///
    /// # Errors
    /// One is out of its range.
    pub fn check(&self) -> Result<(), Problem> {
        if self.timeout == Time::ZERO {
            return Err(Problem::new(
                "storage.client.timeout",
                "no time for an answer",
                "more than 0 s",
            ));
        }
        if self.retries > MOST_RETRIES {
            let problem = format!("{} retries", self.retries);
            return Err(Problem::new(
                "storage.client.retries",
                problem,
                format!("at most {MOST_RETRIES}"),
            ));
        }
        Ok(())
    }

    /// The time from time-out number `number`, counted from 0, to the next attempt.
    pub fn backoff_after(&self, number: u32) -> Time {
        self.backoff.times(1 << number.min(MOST_RETRIES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_what_is_out_of_range_is_named() {
        let client = Client {
            timeout: Time::from_ns(10),
            retries: 30,
            backoff: Time::from_ns(3),
            on_failure: OnFailure::Error,
            lost_reads: LostReads::Error,
        };
        assert_eq!(client.check(), Ok(()));
        let waits: Time = (0..5)
            .map(|number| client.backoff_after(number))
            .fold(Time::ZERO, |sum, wait| sum + wait);
        assert_eq!(waits, Time::from_ns(3 * 31));
        let wrong = |client: Client| client.check().unwrap_err().key;
        let timeout = Time::ZERO;
        assert_eq!(wrong(Client { timeout, ..client }), "storage.client.timeout");
        assert_eq!(wrong(Client { retries: 31, ..client }), "storage.client.retries");
    }
}
