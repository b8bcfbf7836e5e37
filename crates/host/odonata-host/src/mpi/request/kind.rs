//! The kinds of requests.

/// The kind of event that completes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum RequestKind {
    Send,
    Receive,
    Io,
    Collective,
    /// An access to the memory of another rank.
    Access,
    /// A probe, or one side of a message with `PROC_NULL`: completion costs the rank nothing.
    Nothing,
}
