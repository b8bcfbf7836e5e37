//! Threads that act as processes sharing a run.

use odonata_engine::transport::ThreadTransport;
use odonata_system::{Others, ProcessGroup, Results};

/// The results of `each` for `processes` processes, in order of their numbers; each is given its connection to the
/// others.
pub(crate) fn together<T: Send>(processes: usize, each: impl Fn(usize, Others) -> T + Sync) -> Vec<T> {
    let (for_schedulers, for_runs) = (ThreadTransport::new(processes), ThreadTransport::new(processes));
    let each = &each;
    std::thread::scope(|scope| {
        let start = |(process, (one, other)): (usize, (ThreadTransport, ThreadTransport))| {
            scope.spawn(move || {
                let others = Others {
                    transport: Box::new(one),
                    group: ProcessGroup::new(Box::new(other)),
                    ..Others::default()
                };
                each(process, others)
            })
        };
        let ways = for_schedulers.into_iter().zip(for_runs).enumerate();
        let threads: Vec<_> = ways.map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// The results of a run, which the first of its processes has.
pub(crate) fn of_first(results: Vec<Option<Results>>) -> Results {
    let mut results = results.into_iter();
    let first = results.next().flatten().expect("the first process has the results");
    assert!(results.all(|other| other.is_none()), "all others have none");
    first
}
