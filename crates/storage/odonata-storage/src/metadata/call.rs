//! The calls to metadata servers, and the names of their files.

use odonata_units::mix64;
use serde::{Deserialize, Serialize};

/// Number of kinds of calls.
pub const CALLS: usize = 8;

/// A call to a metadata server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MetadataCall {
    /// Opens a file.
    Open,
    /// Creates and opens one.
    Create,
    /// Looks up its attributes.
    Stat,
    /// Closes it.
    Close,
    /// Removes it.
    Unlink,
    /// Makes its attributes durable.
    Sync,
    /// Makes a directory.
    Mkdir,
    /// Removes one.
    Rmdir,
}

impl MetadataCall {
    /// All of them, each at the place of its number.
    pub const ALL: [MetadataCall; CALLS] = [
        MetadataCall::Open,
        MetadataCall::Create,
        MetadataCall::Stat,
        MetadataCall::Close,
        MetadataCall::Unlink,
        MetadataCall::Sync,
        MetadataCall::Mkdir,
        MetadataCall::Rmdir,
    ];

    /// Its name, as tables have it.
    pub const fn name(self) -> &'static str {
        match self {
            MetadataCall::Open => "open",
            MetadataCall::Create => "create",
            MetadataCall::Stat => "stat",
            MetadataCall::Close => "close",
            MetadataCall::Unlink => "unlink",
            MetadataCall::Sync => "sync",
            MetadataCall::Mkdir => "mkdir",
            MetadataCall::Rmdir => "rmdir",
        }
    }

    /// Whether it changes its directory.
    pub const fn changes_directory(self) -> bool {
        matches!(
            self,
            MetadataCall::Create | MetadataCall::Unlink | MetadataCall::Mkdir | MetadataCall::Rmdir
        )
    }
}

/// The name of a file or directory for metadata servers: its position in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataName {
    /// The directory of the job, by a hash of its name, so that other jobs do not change the servers of its files.
    pub root: u64,
    /// The directory within it.
    pub directory: u32,
    /// The file or directory in that directory.
    pub file: u64,
}

impl MetadataName {
    /// The name of the directory, as one number.
    pub fn key_of_directory(self) -> u64 {
        self.root ^ u64::from(self.directory)
    }

    /// The server, of `servers` (at least one), that has its metadata.
    pub fn server(self, servers: u32, by_directory: bool) -> u32 {
        let directory = mix64(self.key_of_directory());
        let name = if by_directory {
            directory
        } else {
            mix64(directory ^ self.file)
        };
        (name % u64::from(servers.max(1))) as u32
    }
}
