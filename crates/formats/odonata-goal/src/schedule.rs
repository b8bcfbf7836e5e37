//! A GOAL schedule in memory: the tasks of every rank and the partial order between them.
//!
//! GOAL (Group Operation Assembly Language: T. Hoefler, C. Siebert, A. Lumsdaine, ICPP 2009) gives each rank a directed
//! acyclic graph. A task is a send, a receive or a calculation; an edge says that one waits for the end of another
//! (`requires`) or for its start (`irequires`). Times are whole nanoseconds, as LogGOPSim takes them.

/// Wildcard for the peer or the tag of a receive.
pub const ANY: u32 = u32::MAX;

/// Maximum number of ranks of a schedule.
pub const MOST_RANKS: u32 = 1 << 24;

/// The kind of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// Sends `size` bytes to `peer`.
    Send,
    /// Receives `size` bytes from `peer`, which may be [`ANY`].
    Recv,
    /// Computes for `size` nanoseconds.
    Calc,
}

/// One task of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// What it does.
    pub kind: TaskKind,
    /// The other rank; meaningless for a calculation.
    pub peer: u32,
    /// The tag of the message; [`ANY`] is possible for a receive.
    pub tag: u32,
    /// Bytes, or nanoseconds.
    pub size: u64,
    /// The processor of its host.
    pub cpu: u8,
    /// The network interface of its host.
    pub nic: u8,
}

/// For each task, its dependents, in file order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    /// Start of each task's list; one more entry than tasks.
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Edges {
    /// From pairs (predecessor, dependent), in any order of predecessors.
    pub(crate) fn of(tasks: usize, pairs: &[(u32, u32)]) -> Edges {
        let mut starts = vec![0; tasks + 1];
        for &(from, _) in pairs {
            starts[from as usize + 1] += 1;
        }
        for task in 0..tasks {
            starts[task + 1] += starts[task];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; pairs.len()];
        for &(from, to) in pairs {
            targets[next[from as usize] as usize] = to;
            next[from as usize] += 1;
        }
        Edges { starts, targets }
    }

    /// The dependents of `task`.
    pub fn after(&self, task: u32) -> &[u32] {
        &self.targets[self.starts[task as usize] as usize..self.starts[task as usize + 1] as usize]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }
}

/// The tasks of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankSchedule {
    tasks: Vec<Task>,
    ends: Edges,
    begins: Edges,
    /// Number of edges to each task.
    unmet: Vec<u32>,
    /// Tasks without predecessors, in their starting order.
    roots: Vec<u32>,
}

/// A cyclic graph: one task of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// A task of the cycle.
    pub task: u32,
}

impl RankSchedule {
    /// A rank with these tasks and edges (predecessor, dependent): `ends` on its end, `begins` on its start.
    ///
    /// # Errors
    /// The graph is cyclic.
    pub fn new(tasks: Vec<Task>, ends: &[(u32, u32)], begins: &[(u32, u32)]) -> Result<RankSchedule, Cycle> {
        let mut unmet = vec![0; tasks.len()];
        for &(_, to) in ends.iter().chain(begins) {
            unmet[to as usize] += 1;
        }
        let roots = (0..tasks.len() as u32)
            .filter(|&task| unmet[task as usize] == 0)
            .collect();
        let schedule = RankSchedule {
            ends: Edges::of(tasks.len(), ends),
            begins: Edges::of(tasks.len(), begins),
            tasks,
            unmet,
            roots,
        };
        let order = schedule.topological_order();
        if order.len() < schedule.tasks.len() {
            let mut reached = vec![false; schedule.tasks.len()];
            order.iter().for_each(|&task| reached[task as usize] = true);
            let task = reached.iter().position(|&reached| !reached).unwrap_or(0) as u32;
            return Err(Cycle { task });
        }
        Ok(schedule)
    }

    /// Its tasks; edges refer to them by index.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Dependencies on the end of tasks.
    pub fn ends(&self) -> &Edges {
        &self.ends
    }

    /// Dependencies on the start of tasks.
    pub fn begins(&self) -> &Edges {
        &self.begins
    }

    /// Number of edges to each task.
    pub fn unmet(&self) -> &[u32] {
        &self.unmet
    }

    /// The tasks without predecessors.
    pub fn roots(&self) -> &[u32] {
        &self.roots
    }

    /// All tasks in topological order, the lowest index first among candidates. Tasks of cycles are left out.
    pub fn topological_order(&self) -> Vec<u32> {
        use std::cmp::Reverse;
        let mut unmet = self.unmet.clone();
        let mut next: std::collections::BinaryHeap<_> = self.roots.iter().map(|&task| Reverse(task)).collect();
        let mut order = Vec::with_capacity(self.tasks.len());
        while let Some(Reverse(task)) = next.pop() {
            order.push(task);
            for &waiting in self.ends.after(task).iter().chain(self.begins.after(task)) {
                unmet[waiting as usize] -= 1;
                if unmet[waiting as usize] == 0 {
                    next.push(Reverse(waiting));
                }
            }
        }
        order
    }
}

/// The schedules of all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    ranks: Vec<RankSchedule>,
}

impl Schedule {
    /// Of these ranks.
    pub fn new(ranks: Vec<RankSchedule>) -> Schedule {
        Schedule { ranks }
    }

    /// The ranks.
    pub fn ranks(&self) -> &[RankSchedule] {
        &self.ranks
    }
}
