//! Stamps: what the messages of a collective carry in place of a tag.
//!
//! A stamp is the kind of collective, its call number on the communicator, and a hash of root and sizes. A stamp that
//! differs from the rank's own shows that the ranks called different collectives.

use odonata_workload::Collective;

/// Bits of a stamp: kind, call number, hash.
const CALL_BITS: u32 = 12;
const HASH_BITS: u32 = 15;
/// Maximum number of active non-blocking collectives of a rank on a communicator. Call numbers distinguish them.
pub(crate) const MOST_BACKGROUND: u32 = (1 << CALL_BITS) - 1;
const _: () = assert!(Collective::KINDS <= 1 << (32 - CALL_BITS - HASH_BITS));

/// The stamp of the messages of the `call`-th collective of a rank.
pub(crate) fn stamp(collective: &Collective, call: u32) -> u32 {
    let mut digest = odonata_engine::Digest::new();
    collective.agreed().iter().for_each(|&word| digest.word(word));
    let hash = digest.value() as u32 & ((1 << HASH_BITS) - 1);
    collective.kind() << (CALL_BITS + HASH_BITS) | (call & ((1 << CALL_BITS) - 1)) << HASH_BITS | hash
}

/// The name of the collective in a stamp, and the low digits of its call number.
pub(crate) fn read_stamp(stamp: u32) -> (&'static str, u32) {
    let name = Collective::name_of(stamp >> (CALL_BITS + HASH_BITS));
    (name, stamp >> HASH_BITS & ((1 << CALL_BITS) - 1))
}

/// Whether two stamps have the same call number.
#[inline]
pub(crate) fn same_call(a: u32, b: u32) -> bool {
    (a ^ b) >> HASH_BITS & ((1 << CALL_BITS) - 1) == 0
}
