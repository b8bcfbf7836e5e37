//! A storage server as a client of the lower tier, and the links of I/O nodes to a file system outside of the network.
//!
//! What a server asks of the lower tier ([`Action::AskLowerTier`](odonata_storage::Action)) is a request to every server there that has
//! a part of its range, for the job whose data they are. Between tiers on the network all of it is messages. Towards the object
//! servers of a [`FileSystem`](odonata_storage::settings::FileSystem) only control messages are: the data take the link of the I/O node,
//! one block after the other in either direction, and its latency.

use std::sync::Arc;

use odonata_engine::{Mode, Store, Time, journalled};
use odonata_storage::FileLayout;
use odonata_units::{Bandwidth, mix64};

use crate::io::facts::OutsideBlock;

/// A tier of storage servers, as its clients know it.
#[derive(Clone, Debug)]
pub struct StorageTier {
    /// Number of its first server.
    pub first: u32,
    /// How many servers it has.
    pub servers: u32,
    /// Which of them an object is on.
    pub layout: FileLayout,
    /// The server of each server of the upper tier, counted within this tier, where the layout does not say it. Empty for the first
    /// tier.
    pub homes: Arc<[u32]>,
    /// For the object servers of a file system: the way there.
    pub outside: Option<Outside>,
    /// Whether its servers drain the data of a job at the end of the job, so that rank 0 reports the end to each of them.
    pub drains_at_job_end: bool,
}

/// The way to a file system outside of the network.
#[derive(Clone, Copy, Debug)]
pub struct Outside {
    /// Rate of each I/O node's link, in either direction.
    pub link: Bandwidth,
    /// Of a block of data, or of an acknowledgement.
    pub latency: Time,
}

/// When the link of an I/O node to the file system is free, in each direction.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct LinkState {
    out: Time,
    into: Time,
}

/// The links of I/O nodes to a file system.
#[derive(Debug)]
pub(crate) struct OutsideLinks {
    /// Per server of the part; none without a file system.
    links: Store<LinkState>,
}
journalled!(OutsideLinks { links });

impl OutsideLinks {
    /// The links of that many servers of the part.
    pub(crate) fn new(servers: usize) -> Self {
        OutsideLinks {
            links: Store::filled(servers, LinkState::default()),
        }
    }

    /// The node of server `local` sends a block of `owner` that takes `time` on the link, ready at `ready`.
    pub(super) fn sends<M: Mode>(&mut self, local: u32, owner: u16, ready: Time, time: Time) -> OutsideBlock {
        let (begin, end) = take_link(&mut self.links.edit::<M>(local).out, ready, time);
        OutsideBlock {
            link: (local, true),
            owner,
            ready,
            begin,
            end,
        }
    }

    /// The same in the other direction.
    pub(super) fn receives<M: Mode>(&mut self, local: u32, owner: u16, ready: Time, time: Time) -> OutsideBlock {
        let (begin, end) = take_link(&mut self.links.edit::<M>(local).into, ready, time);
        OutsideBlock {
            link: (local, false),
            owner,
            ready,
            begin,
            end,
        }
    }
}

/// The name of what a server has of an object: bytes of a striped object are numbered anew on each server.
pub(crate) fn object_on(layout: &FileLayout, object: u64, server: u32) -> u64 {
    match layout {
        FileLayout::Assigned => object,
        FileLayout::Striped(_) => mix64(object ^ mix64(u64::from(server) + 1)).min(u64::MAX - 1),
    }
}

/// Begin and end of a block, ready at `ready`, that takes `time` on a link that is free at `free`, which becomes the end.
fn take_link(free: &mut Time, ready: Time, time: Time) -> (Time, Time) {
    let begin = ready.max(*free);
    *free = begin + time;
    (begin, *free)
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;
    use odonata_storage::Layout;

    /// end = max(ready, end of the block before) + time, in each direction.
    #[test]
    fn a_link_carries_one_block_after_the_other_in_each_direction() {
        let ns = Time::from_ns;
        let mut links = OutsideLinks::new(2);
        let mut sends = |local, ready, time| links.sends::<Plain>(local, 0, ns(ready), ns(time));
        assert_eq!((sends(0, 10, 100).begin, sends(0, 20, 50).begin), (ns(10), ns(110)));
        assert_eq!((sends(0, 30, 0).end, sends(0, 500, 50).end), (ns(160), ns(550)));
        assert_eq!(sends(1, 10, 100).end, ns(110), "each node has a link of its own");
        let block = links.receives::<Plain>(0, 7, ns(10), ns(5));
        assert_eq!((block.begin, block.end), (ns(10), ns(15)));
        assert_eq!((block.owner, block.link), (7, (0, false)));
    }

    #[test]
    fn objects_in_stripes_have_a_name_on_every_server() {
        let striped = FileLayout::new(Layout::Hash, 4, 1, "lower");
        let names: std::collections::BTreeSet<u64> = (0..10)
            .flat_map(|object| (0..4).map(move |server| object_on(&striped, object, server)))
            .collect();
        assert_eq!(names.len(), 40);
        assert_eq!(object_on(&FileLayout::Assigned, 7, 3), 7);
    }
}
