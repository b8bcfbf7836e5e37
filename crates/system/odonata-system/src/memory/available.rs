//! The memory that this process may use: the free memory of the computer, or less if a control group (batch systems,
//! containers), the address space or the scenario limit it.

use odonata_units::Bytes;

/// The source of the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// The key `run.memory_limit`.
    Key,
    /// The free memory.
    Free,
    /// The limit of a control group.
    ControlGroup,
    /// The limit of the address space (`ulimit -v`).
    AddressSpace,
}

impl Bound {
    /// As text.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Bound::Key => "which run.memory_limit allows",
            Bound::Free => "which is free here",
            Bound::ControlGroup => "which this process's control group allows",
            Bound::AddressSpace => "which the limit of the address space (ulimit -v) leaves",
        }
    }

    /// The name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Bound::Key => "run.memory_limit",
            Bound::Free => "free",
            Bound::ControlGroup => "control-group",
            Bound::AddressSpace => "address-space",
        }
    }
}

/// The memory that this process may use in total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Available {
    /// Bytes; the largest number if unknown.
    pub(crate) bytes: u64,
    /// The source of the limit.
    pub(crate) bound: Bound,
    /// Present use by this process, bytes.
    pub(crate) taken: u64,
}

/// The memory that this process may use; `limit` is that of the scenario.
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

/// The present memory of this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    /// Resident size, bytes.
    pub(super) resident: u64,
    /// Size of the address space, bytes.
    pub(super) space: u64,
}

#[cfg(target_os = "linux")]
pub(super) mod system {
    use super::Taken;
    use std::path::{Path, PathBuf};

    /// A file of the kernel, below `/proc`.
    fn kernel_file(name: &str) -> Option<String> {
        std::fs::read_to_string(Path::new("/proc").join(name)).ok()
    }

    /// Bytes in the line `name: NUMBER kB` of `text`.
    pub(super) fn amount(text: &str, name: &str) -> Option<u64> {
        let rest = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kib.checked_mul(1024)
    }

    /// The soft limit of the address space in `text`, the table of limits, in bytes; None if there is none.
    pub(super) fn soft_limit(text: &str) -> Option<u64> {
        let rest = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
        rest.split_whitespace().next()?.parse().ok()
    }

    /// The folders of the control groups that bound memory, in `text`: lines `HIERARCHY:CONTROLLERS:PATH`.
    pub(super) fn groups(text: &str) -> Vec<PathBuf> {
        let folders_of = |line: &str| {
            let mut parts = line.splitn(3, ':');
            let (hierarchy, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            let root = match hierarchy {
                "0" => "/sys/fs/cgroup",
                _ if controllers.split(',').any(|name| name == "memory") => "/sys/fs/cgroup/memory",
                _ => return None,
            };
            Some(folders(Path::new(root), path))
        };
        text.lines().filter_map(folders_of).flatten().collect()
    }

    /// The present memory of this process.
    pub(in super::super) fn taken() -> Option<Taken> {
        let status = kernel_file("self/status")?;
        Some(Taken {
            resident: amount(&status, "VmRSS")?,
            space: amount(&status, "VmSize")?,
        })
    }

    /// The peak resident size of this process, bytes.
    pub(crate) fn peak_resident() -> Option<u64> {
        amount(&kernel_file("self/status")?, "VmHWM")
    }

    /// The memory available without swapping.
    pub(in super::super) fn free() -> Option<u64> {
        amount(&kernel_file("meminfo")?, "MemAvailable")
    }

    /// The limit of the address space, if there is one.
    pub(in super::super) fn address_space() -> Option<u64> {
        soft_limit(&kernel_file("self/limits")?)
    }

    /// The rest of the address space.
    pub(super) fn left_in_address_space() -> Option<u64> {
        Some(address_space()?.saturating_sub(taken()?.space))
    }

    /// The rest in the control groups of this process and in the groups around them.
    pub(in super::super) fn left_in_groups() -> Option<u64> {
        let groups = groups(&kernel_file("self/cgroup")?);
        groups.iter().filter_map(|folder| left_in(folder)).min()
    }

    /// The folders of a group and of the groups around it. In a container the path may be that of its host: then the
    /// existing folders count, at least the root.
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

    /// The rest in one group: its limit minus the use, without reclaimable files. The names are those of version 2, then
    /// of version 1 of control groups.
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
    //! Unknown on other systems.
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
    fn amounts_limits_and_groups_are_read_as_the_kernel_writes_them() {
        let status = "Name:\tVmRSS: 5 kB\nVmSize:\t  123456 kB\nVmRSS:\t    2048 kB\nThreads:\t1\n";
        assert_eq!(system::amount(status, "VmSize"), Some(123_456 << 10));
        assert_eq!(system::amount(status, "VmRSS"), Some(2 << 20));
        assert_eq!(system::amount(status, "Threads"), None);
        assert_eq!(system::amount(status, "VmHWM"), None);
        let limits = |soft: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max stack size            8388608              unlimited            bytes     \n\
                 Max address space         {soft:<21}unlimited            bytes     \n"
            )
        };
        assert_eq!(system::soft_limit(&limits("61440000")), Some(61_440_000));
        assert_eq!(system::soft_limit(&limits("unlimited")), None);
        let found = system::groups("5:cpu,memory:/a:b\n4:cpuset:/c\n0::/d/e\n");
        let expected = [
            "/sys/fs/cgroup/memory/a:b",
            "/sys/fs/cgroup/memory/",
            "/sys/fs/cgroup/d/e",
            "/sys/fs/cgroup/d",
            "/sys/fs/cgroup/",
        ];
        assert_eq!(found, expected.map(std::path::PathBuf::from));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_memory_and_the_computer_has_some_free() {
        let taken = system::taken().expect("the kernel tells");
        assert!(taken.resident > 1 << 20 && taken.space >= taken.resident, "{taken:?}");
        assert!(system::peak_resident().is_some_and(|peak| peak > 1 << 20));
        assert!(system::free().is_some_and(|free| free > 0));
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
        // A group without a limit: the older names apply, and use beyond a limit leaves nothing.
        write("memory.max", "max\n");
        write("memory.usage_in_bytes", "10000\n");
        assert_eq!(system::left_in(&folder), Some(0));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
