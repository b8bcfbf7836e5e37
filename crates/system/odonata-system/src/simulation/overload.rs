//! Explanations of runs that end because too much is waiting in them.

use crate::memory::Exceeded;
use crate::placement::Placement;
use crate::process_group::ProcessGroup;
use crate::scenario::Resolved;
use odonata_machine::Machine;
use odonata_network::Overflow;
use serde::{Deserialize, Serialize};

/// What waits at the NICs of a process's parts.
#[derive(Default, Serialize, Deserialize)]
struct Waiting {
    messages: u64,
    /// The longest queue at one NIC, and its node.
    most: Option<(u32, u32)>,
    /// The first NIC with too many.
    overflow: Option<Overflow>,
}

impl Waiting {
    fn at(parts: &[Machine]) -> Waiting {
        parts.iter().fold(Waiting::default(), |sum, part| {
            let (messages, most) = part.fabric.waiting_messages();
            let overflow = part.fabric.overflow_first();
            sum.join(Waiting {
                messages,
                most,
                overflow,
            })
        })
    }

    fn join(self, other: Waiting) -> Waiting {
        let fewer = |(count, node): (u32, u32)| (count, std::cmp::Reverse(node));
        Waiting {
            messages: self.messages + other.messages,
            most: self.most.into_iter().chain(other.most).max_by_key(|&most| fewer(most)),
            overflow: self.overflow.into_iter().chain(other.overflow).min(),
        }
    }
}

/// Explains the end of a run from its scenario and plan.
pub(super) struct Explanation<'a> {
    pub(super) scenario: &'a Resolved,
    pub(super) placement: &'a Placement,
    pub(super) group: &'a mut ProcessGroup,
}

impl Explanation<'_> {
    /// Why a run ended as out of memory, given what this process has exceeded. Collective.
    pub(super) fn memory(&mut self, parts: &[Machine], exceeded: Option<Exceeded>) -> Result<String, String> {
        let waiting = self.waiting(parts)?;
        let exceeded = self.group.share(exceeded)?;
        let processes = exceeded.len();
        let first = (0..).zip(exceeded).find_map(|(process, one)| Some((process, one?)));
        let mut text = match first {
            Some((_, one)) if processes == 1 => format!("the run was ended: {}", one.text),
            Some((process, one)) => format!("the run was ended: of process {process} of {processes}, {}", one.text),
            None => "a process reached its memory limit".into(),
        };
        if let Some((count, node)) = waiting.most {
            let (all, whose) = (waiting.messages, self.job_suffix(node));
            text += &format!("; {all} messages wait at NICs, {count} of them at that of node {node}{whose}");
        }
        Ok(text)
    }

    /// Why a run ended because a queue overflowed. Collective.
    pub(super) fn overflow(&mut self, parts: &[Machine]) -> Result<String, String> {
        let waiting = self.waiting(parts)?;
        let most = self.scenario.nic.message_queue;
        let Some(Overflow { at, node: interface }) = waiting.overflow else {
            return Ok(format!(
                "more messages waited at a NIC than nic.message_queue allows, {most}"
            ));
        };
        let node = interface / self.scenario.machine.interfaces;
        Ok(format!(
            "at {:.9} s, more messages waited at the NIC of node {node}{} than nic.message_queue allows, {most}: the \
             offered load exceeds the accepted load; {} messages wait at all NICs",
            at.seconds(),
            self.job_suffix(node),
            waiting.messages
        ))
    }

    fn waiting(&mut self, parts: &[Machine]) -> Result<Waiting, String> {
        let all = self.group.share(Waiting::at(parts))?;
        Ok(all.into_iter().fold(Waiting::default(), Waiting::join))
    }

    /// The job on `node`, as text to append.
    fn job_suffix(&self, node: u32) -> String {
        let mut placed = self.scenario.jobs.iter().zip(&self.placement.jobs);
        match placed.find(|(_, place)| place.nodes.contains(&node)) {
            Some((job, _)) => format!(" (job {})", job.name),
            None if self.placement.all_servers().contains(&node) => " (a storage server)".into(),
            None if self.placement.metadata.contains(&node) => " (a metadata server)".into(),
            None => String::new(),
        }
    }
}
