//! IOR tests in the list of a job, as in an IOR script: which tests have the same files (`testFile`, -o) and the same
//! status file.

use std::collections::BTreeMap;

use odonata_workload::Program;
use odonata_workload::skeletons::{Ior, IorParams, IorProgram, Skeleton};

use super::Workload;

/// How the tests of a list are related, by their positions in the list.
#[derive(Debug, Default)]
pub(crate) struct IorTests<'a> {
    /// The first test with the same files.
    files: BTreeMap<usize, usize>,
    /// Number of the status file of those that have one.
    status: BTreeMap<usize, u32>,
    /// Number of status files.
    status_files: u32,
    /// For the files of each test, the test that last wrote them before it begins.
    left: BTreeMap<usize, &'a IorParams>,
}

impl<'a> IorTests<'a> {
    /// The IOR tests of `list`, which may contain other workloads between them.
    pub(crate) fn of(list: &'a [Workload]) -> IorTests<'a> {
        let mut found = IorTests::default();
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        let mut left: BTreeMap<&str, &IorParams> = BTreeMap::new();
        let mut status: BTreeMap<&str, u32> = BTreeMap::new();
        for (number, workload) in list.iter().enumerate() {
            let Workload::Skeleton(Skeleton::Ior(Ior(test))) = workload else {
                continue;
            };
            let name = test.test_file.as_str();
            found.files.insert(number, *first.entry(name).or_insert(number));
            if let Some(&writer) = left.get(name) {
                found.left.insert(number, writer);
            }
            if !test.keep_file {
                left.remove(name);
            } else if *test.write_file {
                left.insert(name, test);
            }
            if !test.stone_walling_status_file.is_empty() {
                let next = status.len() as u32;
                let of_file = *status.entry(&test.stone_walling_status_file).or_insert(next);
                found.status.insert(number, of_file);
            }
        }
        found.status_files = status.len() as u32;
        found
    }

    /// The test that last wrote the files of test `number` before it begins.
    pub(crate) fn writer_before(&self, number: usize) -> Option<&'a IorParams> {
        self.left.get(&number).copied()
    }

    /// The program of test `number`, which is `ior`.
    ///
    /// # Errors
    /// See [`IorProgram::new`].
    pub(super) fn program(&self, number: usize, ior: &Ior, ranks: u32) -> Result<Box<dyn Program>, String> {
        let status = self.status.get(&number).map(|&of_file| (of_file, self.status_files));
        let same_files = |writer: &IorParams| {
            writer.file_per_proc == ior.0.file_per_proc
                && writer.multi_file == ior.0.multi_file
                && (!ior.0.multi_file || writer.repetitions >= ior.0.repetitions)
        };
        let after_kept = self.writer_before(number).is_some_and(same_files);
        Ok(Box::new(
            IorProgram::new(ranks, ior.0.clone())?.in_list(status, after_kept),
        ))
    }

    /// For each of `phases` phases, the phase whose files it has.
    pub(super) fn files(&self, phases: usize) -> Vec<u32> {
        (0..phases)
            .map(|phase| self.files.get(&phase).copied().unwrap_or(phase) as u32)
            .collect()
    }
}
