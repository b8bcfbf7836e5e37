//! Inference of a transformer with prefill and decode on separate GPUs (Y. Zhong et al., "DistServe", OSDI 2024; P. Patel
//! et al., "Splitwise", ISCA 2024).
//!
//! The first ranks are prefill instances, the others decode instances; an instance is a tensor group. Request r arrives
//! r intervals after the start of the job.
//!
//! 1. Prefill instance r mod P computes the prompt layer by layer, each with two all-reduces, and the first token. Its
//!    ranks send their shares of the keys and values to those of the decode instance: after the last layer, or each
//!    layer's as soon as it is computed.
//! 2. `batch` consecutive requests are decoded together: batch b at instance b mod D. The instance waits for the keys
//!    and values of all of them, and computes the other tokens, one of each request per step. Those of its next batch
//!    arrive meanwhile.
//!
//! On T ranks a step of n tokens, each with c tokens before it, takes the longer of its operations ([`Sizes`]) at `flops`
//! and its bytes at `memory_bandwidth`: the weights, of at most n e experts, and the keys and values of n c tokens (R.
//! Pope et al., "Efficiently scaling transformer inference", MLSys 2023, section 2). A prefill takes its operations alone.

mod params;

use odonata_units::{Bytes, Time};

use super::training::Sizes;
use crate::program::check_length;
use crate::{Algorithm, Collective, Comm, Cursor, Group, Op, OpKind, Program, Request, Seen, Source, Tag};
pub use params::{InferenceParams, KvTransfer};

/// Reports of the first rank of an instance; the value is the number of the request or of the batch.
pub mod reports {
    /// A prefill instance has the first token of a request.
    pub const FIRST_TOKEN: u32 = 0;
    /// A decode instance has the keys and values of a batch.
    pub const DECODE: u32 = 1;
    /// It has the last tokens of the batch.
    pub const END: u32 = 2;
}

/// The tensor group of a rank.
const TENSOR: Comm = Comm(1);
/// Steps of a layer: attention, all-reduce, MLPs, all-reduce.
const LAYER: u32 = 4;
/// Numbers of the requests of a batch; the next batch has others.
const NUMBERS: u32 = 1 << 30;

/// The role of a rank: instance, rank in its tensor group, size of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    is_prefill: bool,
    instance: u32,
    member: u32,
    members: u32,
}

/// Inference on separate prefill and decode instances. [`Cursor::words`]: own request or batch; part; token; step.
/// Memory: the start of the rank, plus one.
#[derive(Clone, Debug)]
pub struct Inference {
    params: InferenceParams,
    sizes: Sizes,
}

impl Inference {
    /// The program on `ranks` ranks; `params` are resolved.
    ///
    /// # Errors
    /// The instances do not have `ranks` ranks, or there are too many operations or messages.
    pub fn new(ranks: u32, params: &InferenceParams) -> Result<Self, String> {
        let sizes = params.sizes().ok_or("no model")?;
        if params.ranks() != u64::from(ranks) {
            return Err(format!("{ranks} ranks for instances of {}", params.ranks()));
        }
        let program = Inference {
            params: params.clone(),
            sizes,
        };
        let layers = u64::from(sizes.layers);
        let sends = layers * u64::from(program.fan_out());
        check_length(params.requests, layers * u64::from(LAYER) + sends + 8)?;
        let batches = params.requests.div_ceil(params.batch);
        let tokens = u64::from(params.output) * (layers * u64::from(LAYER) + 1);
        check_length(
            batches,
            tokens + u64::from(params.batch) * layers * u64::from(program.fan_in()) + 8,
        )?;
        let messages = u64::from(params.batch) * layers * u64::from(program.fan_in());
        if messages >= u64::from(NUMBERS) || u64::from(params.requests) * layers > u64::from(u32::MAX) {
            return Err(format!(
                "{messages} messages of keys and values for a batch: at most 2^30 - 1"
            ));
        }
        Ok(program)
    }

    fn place(&self, rank: u32) -> Place {
        let (prefill, decode) = (self.params.prefill_tensor, *self.params.decode_tensor);
        let of_prefill = self.params.prefill * prefill;
        match rank.checked_sub(of_prefill) {
            None => Place {
                is_prefill: true,
                instance: rank / prefill,
                member: rank % prefill,
                members: prefill,
            },
            Some(rank) => Place {
                is_prefill: false,
                instance: rank / decode,
                member: rank % decode,
                members: decode,
            },
        }
    }

    /// Decode ranks to which a prefill rank sends.
    fn fan_out(&self) -> u32 {
        (*self.params.decode_tensor / self.params.prefill_tensor).max(1)
    }

    /// Prefill ranks from which a decode rank receives.
    fn fan_in(&self) -> u32 {
        (self.params.prefill_tensor / *self.params.decode_tensor).max(1)
    }

    /// Messages in which the keys and values of a request go from one rank to another.
    fn pieces(&self) -> u32 {
        match self.params.kv_transfer {
            KvTransfer::Whole => 1,
            KvTransfer::Layerwise => self.sizes.layers,
        }
    }

    /// Bytes of one of these messages.
    fn piece_bytes(&self) -> u64 {
        let layers = u64::from(self.sizes.layers / self.pieces());
        let all = layers * self.sizes.cached() * u64::from(self.params.prompt) * self.params.element.0;
        let shares = self.params.prefill_tensor.max(*self.params.decode_tensor);
        all.div_ceil(u64::from(shares))
    }

    /// The instance that decodes `request`.
    fn decoder(&self, request: u32) -> u32 {
        request / self.params.batch % self.params.decode
    }

    /// The requests of batch `batch`.
    fn requests_of(&self, batch: u32) -> std::ops::Range<u32> {
        let first = batch * self.params.batch;
        first..first.saturating_add(self.params.batch).min(self.params.requests)
    }

    /// Message number `piece` of the keys and values of `request` to the `number`-th receiver of prefill rank `rank`.
    fn send(&self, place: Place, request: u32, number: u32, piece: u32) -> OpKind {
        let of_prefill = self.params.prefill * self.params.prefill_tensor;
        let member = place.member * *self.params.decode_tensor / self.params.prefill_tensor + number;
        OpKind::Isend {
            to: of_prefill + self.decoder(request) * *self.params.decode_tensor + member,
            tag: request * self.pieces() + piece,
            bytes: self.piece_bytes(),
            comm: Comm::WORLD,
            request: Request::DETACHED,
        }
    }

    /// Receive number `number` of batch `batch` at a decode rank.
    fn receive(&self, place: Place, batch: u32, number: u32) -> Option<OpKind> {
        let (fan, pieces) = (self.fan_in(), self.pieces());
        let request = self.requests_of(batch).start + number / (fan * pieces);
        if !self.requests_of(batch).contains(&request) {
            return None;
        }
        let sender = place.member * self.params.prefill_tensor / place.members + number / pieces % fan;
        let first = request % self.params.prefill * self.params.prefill_tensor;
        Some(OpKind::Irecv {
            from: Source::Rank(first + sender),
            tag: Tag::Is(request * pieces + number % pieces),
            bytes: self.piece_bytes(),
            comm: Comm::WORLD,
            request: Request(self.numbers_of(batch) + number),
        })
    }

    /// The first request number of the receives of `batch`.
    fn numbers_of(&self, batch: u32) -> u32 {
        batch / self.params.decode % 2 * NUMBERS
    }

    /// Time of `operations` and, when decoding, of `bytes` on the ranks of an instance.
    fn time(&self, members: u32, operations: f64, bytes: f64) -> OpKind {
        let seconds = (operations / self.params.flops).max(bytes / self.params.memory_bandwidth.0);
        OpKind::Compute {
            duration: Time::from_ps_f64(seconds / f64::from(members) * 1e12),
        }
    }

    /// Step `step` of layer `layer` for `tokens` tokens after `context` tokens each; `None` if it does not exist.
    fn layer(&self, place: Place, (layer, step): (u32, u32), tokens: f64, context: f64) -> Option<OpKind> {
        let element = self.params.element.0 as f64;
        let read = |elements: f64| match place.is_prefill {
            true => 0.0,
            false => elements * element,
        };
        match step {
            0 => {
                let weights = self.sizes.attention() as f64 + tokens * context * self.sizes.cached() as f64;
                let operations = self.sizes.attention_operations(tokens, context);
                Some(self.time(place.members, operations, read(weights)))
            }
            2 => {
                let experts = match self.sizes.has_experts(layer) {
                    true => (tokens * f64::from(self.sizes.active)).min(f64::from(self.sizes.experts)),
                    false => 0.0,
                };
                let others = self.sizes.layer(layer) - self.sizes.attention();
                let weights = others as f64 + experts * self.sizes.mlp() as f64;
                let operations = self.sizes.mlp_operations(layer, tokens);
                Some(self.time(place.members, operations, read(weights)))
            }
            _ => (place.members > 1).then(|| {
                let count = tokens as u64 * u64::from(self.sizes.hidden);
                OpKind::Collective(Collective::Allreduce {
                    comm: TENSOR,
                    bytes: count * self.params.element.0,
                    count,
                })
            }),
        }
    }

    /// The output of `tokens` tokens.
    fn output(&self, place: Place, tokens: f64) -> OpKind {
        let weights = self.sizes.embedding() as f64 * self.params.element.0 as f64;
        let read = if place.is_prefill { 0.0 } else { weights };
        self.time(place.members, self.sizes.output_operations(tokens), read)
    }

    fn report(place: Place, report: u32, value: u32) -> Option<OpKind> {
        (place.member == 0).then(|| OpKind::Report {
            report,
            index: 0,
            value: f64::from(value),
        })
    }

    /// Step `step` of a prefill: `Err` after the last one. `since`: time since the start of the rank, if known.
    fn prefill(&self, place: Place, request: u32, step: u32, since: Option<Time>) -> Result<Option<OpKind>, ()> {
        let (layers, fan) = (self.sizes.layers, self.fan_out());
        let tokens = f64::from(self.params.prompt);
        let layerwise = self.params.kv_transfer == KvTransfer::Layerwise;
        let of_layer = LAYER + if layerwise { fan } else { 0 };
        let Some(step) = step.checked_sub(1) else {
            let arrival = self.params.interval.times(request.into());
            let left = since.map_or(Time::ZERO, |since| arrival.saturating_sub(since));
            return Ok((left > Time::ZERO).then_some(OpKind::Compute { duration: left }));
        };
        let (layer, at) = (step / of_layer, step % of_layer);
        if layer < layers {
            return Ok(match at.checked_sub(LAYER) {
                None => self.layer(place, (layer, at), tokens, tokens),
                Some(number) => Some(self.send(place, request, number, layer)),
            });
        }
        let after = step - layers * of_layer;
        match after {
            0 => Ok(Some(self.output(place, 1.0))),
            1 => Ok(Inference::report(place, reports::FIRST_TOKEN, request)),
            after if !layerwise && after < 2 + fan => Ok(Some(self.send(place, request, after - 2, 0))),
            _ => Err(()),
        }
    }

    /// Step `step` of token `token` of a batch; `Err` after the last one.
    fn token(&self, place: Place, batch: u32, token: u32, step: u32) -> Result<Option<OpKind>, ()> {
        let tokens = self.requests_of(batch).len() as f64;
        let context = f64::from(self.params.prompt) + f64::from(token);
        match step / LAYER {
            layer if layer < self.sizes.layers => Ok(self.layer(place, (layer, step % LAYER), tokens, context)),
            _ if step == LAYER * self.sizes.layers => Ok(Some(self.output(place, tokens))),
            _ => Err(()),
        }
    }

    /// The next operation of a decode instance; `Err` after its last batch.
    fn decode(&self, place: Place, [number, part, token, step, _]: &mut [u32; 5]) -> Option<OpKind> {
        loop {
            let batch = place.instance + *number * self.params.decode;
            let later = batch.saturating_add(self.params.decode);
            if self.requests_of(batch).is_empty() {
                return None;
            }
            let found = match *part {
                // The first batch has nothing to overlap with.
                0 if *number == 0 => self.receive(place, batch, *step).map(Some).ok_or(()),
                0 => Err(()),
                1 => self.receive(place, later, *step).map(Some).ok_or(()),
                2 => {
                    let messages = self.requests_of(batch).len() as u32 * self.fan_in() * self.pieces();
                    match *step {
                        0 => Ok(Some(OpKind::WaitAll {
                            first: Request(self.numbers_of(batch)),
                            count: messages,
                        })),
                        1 => Ok(Inference::report(place, reports::DECODE, batch)),
                        _ => Err(()),
                    }
                }
                // The prefill has the first token.
                3 if *token + 1 < self.params.output => match self.token(place, batch, *token + 1, *step) {
                    Ok(kind) => Ok(kind),
                    Err(()) => {
                        (*token, *step) = (*token + 1, 0);
                        continue;
                    }
                },
                3 => Err(()),
                _ => {
                    (*number, *part, *token, *step) = (*number + 1, 0, 0, 0);
                    match Inference::report(place, reports::END, batch) {
                        None => continue,
                        kind => return kind,
                    }
                }
            };
            match found {
                Ok(kind) => {
                    *step += 1;
                    if kind.is_some() {
                        return kind;
                    }
                }
                Err(()) => (*part, *token, *step) = (*part + 1, 0, 0),
            }
        }
    }
}

impl Program for Inference {
    fn ranks(&self) -> u32 {
        self.params.ranks() as u32
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        let mut seen = Seen {
            memory: &mut [0],
            now: None,
            answer: 0,
            lost: false,
            failure: None,
        };
        self.next_with(rank, cursor, &mut seen)
    }

    fn memory(&self) -> usize {
        1
    }

    fn next_with(&self, rank: u32, cursor: &mut Cursor, seen: &mut Seen) -> Option<Op> {
        if rank >= self.ranks() {
            return None;
        }
        let since = seen.now.map(|now| {
            if let [start @ 0, ..] = seen.memory {
                *start = now.0 + 1;
            }
            Time(now.0 + 1 - seen.memory.first().copied().unwrap_or(1))
        });
        let place = self.place(rank);
        if !place.is_prefill {
            return cursor.advance(|words| self.decode(place, words));
        }
        cursor.advance(|[number, _, _, step, _]| {
            loop {
                let request = u64::from(place.instance) + u64::from(*number) * u64::from(self.params.prefill);
                if request >= u64::from(self.params.requests) {
                    return None;
                }
                match self.prefill(place, request as u32, *step, since) {
                    Ok(kind) => {
                        *step += 1;
                        if kind.is_some() {
                            return kind;
                        }
                    }
                    Err(()) => (*number, *step) = (*number + 1, 0),
                }
            }
        })
    }

    fn clock(&self) -> Option<String> {
        (self.params.interval > Time::ZERO).then(|| "requests arrive at times of their own".into())
    }

    fn group(&self, rank: u32, comm: Comm) -> Option<Group> {
        let place = self.place(rank);
        match comm {
            Comm::WORLD => Some(Group::world(self.ranks())),
            TENSOR => Some(Group::Strided {
                first: rank - place.member,
                stride: 1,
                count: place.members,
            }),
            _ => None,
        }
    }

    fn algorithm(&self, collective: &Collective) -> Option<Algorithm> {
        let members = self.params.prefill_tensor.max(*self.params.decode_tensor);
        Algorithm::Ring.supports(collective, members).then_some(Algorithm::Ring)
    }

    fn describe(&self) -> String {
        let InferenceParams {
            model,
            prefill,
            prefill_tensor,
            decode,
            ref decode_tensor,
            requests,
            prompt,
            output,
            batch,
            ..
        } = self.params;
        let cache = Bytes(self.piece_bytes().saturating_mul(u64::from(self.pieces()))).rounded();
        format!(
            "Inference of {}: {requests} requests of {prompt} + {output} tokens; {prefill} prefill instances of {prefill_tensor} GPUs, \
             {decode} decode instances of {} GPUs, batches of {batch}; {cache} of keys and values of a request \
             between two GPUs",
            model.map_or("a transformer", super::training::Model::name),
            **decode_tensor,
        )
    }
}

#[cfg(test)]
mod tests;
