//! How much memory this process may take: what the computer has free, less where a control group (batch systems,
//! containers), the address space or the scenario allow less.

use odonata_units::Bytes;

/// What sets how much there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// The key `run.memory_limit`.
    Key,
    /// The memory that nobody uses.
    Free,
    /// The limit of a control group.
    ControlGroup,
    /// The limit of the address space (`ulimit -v`).
    AddressSpace,
}

impl Bound {
    /// In words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Bound::Key => "which run.memory_limit allows",
            Bound::Free => "which is free here",
            Bound::ControlGroup => "which this process's control group allows",
            Bound::AddressSpace => "which the limit of the address space (ulimit -v) leaves",
        }
    }

    /// A name for machines.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Bound::Key => "run.memory_limit",
            Bound::Free => "free",
            Bound::ControlGroup => "control-group",
            Bound::AddressSpace => "address-space",
        }
    }
}

/// The memory that this process may take in all, with what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Available {
    /// Bytes; the largest number where nobody can tell.
    pub(crate) bytes: u64,
    /// What sets it.
    pub(crate) bound: Bound,
    /// What this process takes at the moment, bytes.
    pub(crate) taken: u64,
}

/// The memory that this process may take, if the scenario allows it `limit`.
pub(crate) fn available(limit: Option<Bytes>) -> Available {
    let taken = system::taken().map_or(0, |taken| taken.resident);
    let more = |(bytes, bound): (u64, Bound)| (bytes.saturating_add(taken), bound);
    let bounds = [
        limit.map(|limit| (limit.0, Bound::Key)),
        system::free().map(|free| more((free, Bound::Free))),
        system::left_in_groups().map(|left| more((left, Bound::ControlGroup))),
        system::left_in_address_space().map(|left| more((left, Bound::AddressSpace))),
    ];
    let least = bounds.into_iter().flatten().min_by_key(|&(bytes, _)| bytes);
    let (bytes, bound) = least.unwrap_or((u64::MAX, Bound::Free));
    Available { bytes, bound, taken }
}

/// Memory that this process has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    /// In the computer's memory, bytes.
    pub(super) resident: u64,
    /// In its address space, bytes.
    pub(super) space: u64,
}

#[cfg(target_os = "linux")]
pub(super) mod system {
    use super::Taken;
    use procfs::process::{LimitValue, Process};
    use procfs::{Current, Meminfo};
    use std::path::{Path, PathBuf};

    /// What this process has.
    pub(in super::super) fn taken() -> Option<Taken> {
        // In KiB. What counts in pages asks for their size in a way that kills a process under Valgrind.
        let status = Process::myself().ok()?.status().ok()?;
        Some(Taken {
            resident: status.vmrss? * 1024,
            space: status.vmsize? * 1024,
        })
    }

    /// The most that this process has had in the computer's memory at a time, bytes.
    pub(crate) fn peak_resident() -> Option<u64> {
        Some(Process::myself().ok()?.status().ok()?.vmhwm? * 1024)
    }

    /// The memory that can be had without anybody's losing what he uses.
    pub(in super::super) fn free() -> Option<u64> {
        Meminfo::current().ok()?.mem_available
    }

    /// The limit of the address space, if there is one.
    pub(in super::super) fn address_space() -> Option<u64> {
        match Process::myself().ok()?.limits().ok()?.max_address_space.soft_limit {
            LimitValue::Value(bytes) => Some(bytes),
            LimitValue::Unlimited => None,
        }
    }

    /// What is left of it.
    pub(super) fn left_in_address_space() -> Option<u64> {
        Some(address_space()?.saturating_sub(taken()?.space))
    }

    /// What the control groups of this process, and those that they are in, leave it.
    pub(in super::super) fn left_in_groups() -> Option<u64> {
        let groups = Process::myself().ok()?.cgroups().ok()?;
        let folders = groups.into_iter().flat_map(|group| {
            let root = match group.hierarchy {
                0 => "/sys/fs/cgroup",
                _ if group.controllers.iter().any(|name| name == "memory") => "/sys/fs/cgroup/memory",
                _ => return Vec::new(),
            };
            folders(Path::new(root), &group.pathname)
        });
        folders.filter_map(|folder| left_in(&folder)).min()
    }

    /// The folders of a group and of those that it is in. In a container the path may be one that only its host sees:
    /// then what there is of it counts, at least the root.
    fn folders(root: &Path, group: &str) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        let mut at = Path::new(group.trim_start_matches('/'));
        loop {
            folders.push(root.join(at));
            match at.parent() {
                Some(parent) => at = parent,
                None => return folders,
            }
        }
    }

    /// What one group leaves: its limit less what is used, but for files that can be read again. The names are those of
    /// version 2, then of version 1 of control groups.
    pub(super) fn left_in(folder: &Path) -> Option<u64> {
        let names = [
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ];
        names.into_iter().find_map(|(limit, used, cached)| {
            let number = |name: &str| -> Option<u64> {
                let text = std::fs::read_to_string(folder.join(name)).ok()?;
                text.trim().parse().ok()
            };
            let stat = std::fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
            let cached = stat.lines().find_map(|line| {
                let (name, value) = line.split_once(' ')?;
                (name == cached).then(|| value.trim().parse::<u64>().ok())?
            });
            let used = number(used)?.saturating_sub(cached.unwrap_or(0));
            Some(number(limit)?.saturating_sub(used))
        })
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) mod system {
    //! Elsewhere nobody tells.
    use super::Taken;

    pub(in super::super) fn taken() -> Option<Taken> {
        None
    }
    pub(crate) fn peak_resident() -> Option<u64> {
        None
    }
    pub(in super::super) fn free() -> Option<u64> {
        None
    }
    pub(in super::super) fn address_space() -> Option<u64> {
        None
    }
    pub(super) fn left_in_address_space() -> Option<u64> {
        None
    }
    pub(in super::super) fn left_in_groups() -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_bounds_what_there_is() {
        let found = available(Some(Bytes::mib(1)));
        assert_eq!((found.bytes, found.bound), (1 << 20, Bound::Key));
        let free = available(None);
        assert!(free.bytes > free.taken && free.bound != Bound::Key, "{free:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_control_group_leaves_its_limit_less_what_is_used_but_for_cached_files() {
        let folder = std::env::temp_dir().join(format!("odonata-group-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        assert_eq!(system::left_in(&folder), None);
        write("memory.limit_in_bytes", "9000\n");
        write("memory.usage_in_bytes", "2000\n");
        assert_eq!(system::left_in(&folder), Some(7_000));
        write("memory.max", "5000\n");
        write("memory.current", "3000\n");
        write("memory.stat", "anon 1\ninactive_file 500\n");
        assert_eq!(system::left_in(&folder), Some(2_500));
        // A group without a limit: the older names are asked, and what is used beyond a limit leaves nothing.
        write("memory.max", "max\n");
        write("memory.usage_in_bytes", "10000\n");
        assert_eq!(system::left_in(&folder), Some(0));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
