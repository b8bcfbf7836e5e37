//! Positions of shared file pointers.

use std::collections::BTreeMap;

use super::translate::SharedAccess;

/// An access: rank, and index among its accesses.
type Place = (usize, usize);

/// The offsets of all shared-pointer accesses, by rank, in bytes from the start of the file.
///
/// Individual accesses move the pointer in order of their start times by the clocks of the ranks. Ordered accesses, and
/// seeks of the pointer, take effect when the last rank arrives, in rank order. `files` are the files of each rank's
/// openings.
pub(super) fn offsets(accesses: &[Vec<SharedAccess>], files: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let mut by_file: BTreeMap<u64, Vec<Place>> = BTreeMap::new();
    for (rank, list) in accesses.iter().enumerate() {
        for (number, access) in list.iter().enumerate() {
            if let Some(&file) = files[rank].get(access.file as usize) {
                by_file.entry(file).or_default().push((rank, number));
            }
        }
    }
    let mut offsets: Vec<Vec<u64>> = accesses.iter().map(|list| vec![0; list.len()]).collect();
    for list in by_file.values() {
        // When all ranks have reached the k-th collective access.
        let mut together: BTreeMap<(usize, bool), i64> = BTreeMap::new();
        let mut keys = Vec::with_capacity(list.len());
        let mut counts: BTreeMap<(usize, bool), usize> = BTreeMap::new();
        for &(rank, number) in list {
            let access = &accesses[rank][number];
            let turn = access.ordered.then(|| {
                let count = counts.entry((rank, access.seek)).or_default();
                *count += 1;
                (*count, access.seek)
            });
            if let Some(turn) = turn {
                let time = together.entry(turn).or_insert(i64::MIN);
                *time = access.start.max(*time);
            }
            keys.push(turn);
        }
        let mut order: Vec<(i64, bool, usize, usize)> = Vec::with_capacity(list.len());
        let mut latest: BTreeMap<usize, i64> = BTreeMap::new();
        for (&(rank, number), turn) in list.iter().zip(&keys) {
            let time = turn.map_or(accesses[rank][number].start, |turn| together[&turn]);
            // A rank's own accesses keep their order.
            let time = time.max(latest.get(&rank).copied().unwrap_or(i64::MIN));
            latest.insert(rank, time);
            // A collective access comes before later accesses of its ranks.
            order.push((time, turn.is_none(), rank, number));
        }
        order.sort_unstable();
        let mut position = 0u64;
        for (_, _, rank, number) in order {
            let access = &accesses[rank][number];
            if access.seek {
                position = access.bytes;
            } else {
                offsets[rank][number] = access.displacement.saturating_add(position);
                position = position.saturating_add(access.bytes);
            }
        }
    }
    offsets
}
