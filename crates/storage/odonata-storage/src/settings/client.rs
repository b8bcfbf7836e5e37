//! The settings of clients of storage servers: their time-outs, retries and reactions to failed servers.

use odonata_units::{Problem, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Upper bound on repeated attempts at one server.
const MOST_RETRIES: u32 = 30;

/// What clients do when a storage server does not answer in time.
///
/// A client repeats an unanswered request after `timeout`, and waits `backoff`, `2 backoff`, `4 backoff` ... between
/// attempts, up to `retries` times. It gives up after `(1 + retries) timeout + (2^retries - 1) backoff`. It ignores
/// answers that come later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// How long a client waits for the complete answer to a request, more than 0 s.
    pub timeout: Time,
    /// Number of repeated attempts at the same server, at most 30.
    #[serde(default = "three")]
    #[schemars(range(max = 30))]
    pub retries: u32,
    /// Time from the first timeout to the next attempt; it doubles with each further attempt.
    #[serde(default)]
    pub backoff: Time,
    /// What the client does after the last attempt.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// Result of reading bytes that a failed server has lost and that have not been written since.
    #[serde(default)]
    pub lost_reads: LostReads,
}

fn three() -> u32 {
    3
}

/// What a client does when a server has answered none of its attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// The run ends with the outcome `storage-failed`.
    #[default]
    Error,
    /// From then on the rank regards the server as failed. For writes and reads it uses the server with the next number
    /// that it does not regard as failed.
    ReRoute,
}

/// The result of reading lost bytes.
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
