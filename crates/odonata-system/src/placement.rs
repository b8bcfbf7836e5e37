//! Which node each rank runs on, and which storage server it uses.

/// Where everything is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The jobs, in the order of the scenario.
    pub jobs: Vec<JobPlacement>,
    /// The node of each storage server.
    pub servers: Vec<u32>,
}

/// Where a job is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobPlacement {
    /// The node of each rank.
    pub nodes: Vec<u32>,
    /// The server that each rank uses, an index into [`Placement::servers`]; empty where the machine has none.
    pub servers: Vec<u32>,
}
