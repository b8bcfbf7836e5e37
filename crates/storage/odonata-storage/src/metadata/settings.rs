//! The settings of metadata servers: the keys of the table `storage.metadata`.

use super::{CALLS, MetadataCall};
use crate::settings::Nodes;
use odonata_units::{Problem, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Metadata servers, which open, create, look up and remove files, as the MDS of Lustre. Each is a queue with service
/// threads. A call is a message to the server with the file's metadata, its wait and service there, and the answer.
///
/// With the default times, one server of 16 threads creates 73 thousand and looks up 200 thousand files per second,
/// close to IO500's measurement of Oakforest-PACS (mdtest easy, submission 454: 71.5 and 196 thousand). The other times
/// are not published: calls that only read take the time of `stat`, calls that change something the time of `create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Metadata {
    /// Which nodes are metadata servers, as `storage.nodes`; they may be storage servers as well. Jobs get none of them.
    /// Default: one, the last node that is neither a storage server nor a service node.
    #[schemars(extend("default" = { "per_group": null, "position": null, "routers": null, "list": null }))]
    pub nodes: Nodes,
    /// Calls that a server works on at once, at least 1.
    #[schemars(range(min = 1))]
    pub threads: u32,
    /// Which server has the metadata of a file.
    pub distribution: Distribution,
    /// Whether the calls that change a directory (create, unlink, mkdir, rmdir) are served one after the other in each
    /// directory, on each server with a part of it.
    pub serial_directories: bool,
    /// Time to open a file, in a service thread.
    pub open: Time,
    /// Time to create a file.
    pub create: Time,
    /// Time to look up the attributes of a file.
    pub stat: Time,
    /// Time to close a file.
    pub close: Time,
    /// Time to remove a file.
    pub unlink: Time,
    /// Time to make the attributes of a file durable (fsync).
    pub sync: Time,
    /// Time to make a directory.
    pub mkdir: Time,
    /// Time to remove a directory.
    pub rmdir: Time,
}

/// Which metadata server has a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// By a hash of directory and file: a directory is spread over all servers, as striped directories of Lustre (DNE 2).
    #[default]
    ByFile,
    /// By a hash of the directory: all its files are on one server, as in BeeGFS.
    ByDirectory,
}

impl Default for Metadata {
    fn default() -> Self {
        let (reads, changes) = (Time::from_ns(80_000), Time::from_ns(220_000));
        Metadata {
            nodes: Nodes::default(),
            threads: 16,
            distribution: Distribution::default(),
            serial_directories: false,
            open: reads,
            create: changes,
            stat: reads,
            close: reads,
            unlink: changes,
            sync: changes,
            mkdir: changes,
            rmdir: changes,
        }
    }
}

impl Metadata {
    /// Checks the keys that do not depend on the machine.
    ///
    /// # Errors
    /// The first key that is out of its range.
    pub fn check(&self) -> Result<(), Problem> {
        match self.threads {
            0 => {
                let key = "storage.metadata.threads";
                Err(Problem::new(
                    key,
                    "a server without threads serves no call",
                    "at least 1",
                ))
            }
            _ => Ok(()),
        }
    }

    /// The parameters of a server.
    pub fn params(&self) -> MetadataParams {
        let mut costs = [Time::ZERO; CALLS];
        for call in MetadataCall::ALL {
            costs[call as usize] = match call {
                MetadataCall::Open => self.open,
                MetadataCall::Create => self.create,
                MetadataCall::Stat => self.stat,
                MetadataCall::Close => self.close,
                MetadataCall::Unlink => self.unlink,
                MetadataCall::Sync => self.sync,
                MetadataCall::Mkdir => self.mkdir,
                MetadataCall::Rmdir => self.rmdir,
            };
        }
        MetadataParams {
            threads: self.threads,
            by_directory: self.distribution == Distribution::ByDirectory,
            serial_directories: self.serial_directories,
            costs,
        }
    }
}

/// The parameters of every metadata server of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataParams {
    /// Calls that it works on at once, at least 1.
    pub threads: u32,
    /// Whether a file is on the server of its directory.
    pub by_directory: bool,
    /// Whether changes of a directory are served one after the other.
    pub serial_directories: bool,
    /// Time of a thread, per [call](MetadataCall).
    pub costs: [Time; CALLS],
}
