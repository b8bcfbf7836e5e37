//! The index against a slow simple model: a place for each byte.

use super::*;
use odonata_engine::random::Purpose;
use odonata_engine::saved::{from_bytes, to_bytes};
use odonata_engine::{Digest, Journalled, Plain, Savepoint, Speculative, Stream};
use std::collections::BTreeMap;

/// Bytes of an object in the model.
const BYTES: u64 = 96;
const OBJECTS: u64 = 3;
const SERVERS: u32 = 2;

/// The place and owner of every byte with an extent: by server, object, byte.
type Model = BTreeMap<(u32, u64, u64), (u16, Place)>;

#[derive(Clone, Debug)]
struct Operation {
    server: u32,
    object: u64,
    range: Range<u64>,
    /// `None`: the range is removed.
    put: Option<(u16, Place)>,
}

fn operation(random: &mut Stream) -> Operation {
    let start = u64::from(random.below(BYTES as u32));
    // Many ranges that continue others.
    let bytes = [1, 8, 8, 16, u64::from(random.below(40))][random.below(5) as usize];
    let start = if random.below(2) == 0 { start / 8 * 8 } else { start };
    let places = [
        Place::Memory(0),
        Place::Device(0),
        Place::Leaving(1),
        Place::Reserved(1),
        Place::LowerTier,
    ];
    Operation {
        server: random.below(SERVERS),
        object: u64::from(random.below(OBJECTS as u32)),
        range: start..(start + bytes).min(BYTES),
        put: (random.below(5) > 0).then(|| (random.below(2) as u16, places[random.below(5) as usize])),
    }
}

/// The replaced bytes, one by one.
fn apply<M: Mode>(extents: &mut Extents, operation: &Operation) -> Vec<(u64, u16, Place)> {
    let mut gone = Vec::new();
    let note = |extent: Extent| {
        assert!(extent.bytes() > 0);
        gone.extend((extent.start..extent.end).map(|byte| (byte, extent.owner, extent.place)));
    };
    let Operation {
        server,
        object,
        range,
        put,
    } = operation.clone();
    match put {
        Some((owner, place)) => extents.put::<M>(server, object, (range, owner, place), note),
        None => extents.remove::<M>(server, object, range, note),
    }
    gone
}

fn apply_to_model(model: &mut Model, operation: &Operation) -> Vec<(u64, u16, Place)> {
    let Operation {
        server,
        object,
        range,
        put,
    } = operation.clone();
    let mut gone = Vec::new();
    for byte in range {
        let key = (server, object, byte);
        let old = match put {
            Some(new) => model.insert(key, new),
            None => model.remove(&key),
        };
        gone.extend(old.map(|(owner, place)| (byte, owner, place)));
    }
    gone
}

/// The longest ranges of bytes with the same place and owner.
fn runs(model: &Model, server: u32) -> Vec<(u64, Extent)> {
    let mut runs: Vec<(u64, Extent)> = Vec::new();
    for (&(at, object, byte), &(owner, place)) in model {
        if at != server {
            continue;
        }
        match runs.last_mut() {
            Some((of, run)) if (*of, run.end, run.owner, run.place) == (object, byte, owner, place) => run.end += 1,
            _ => runs.push((
                object,
                Extent {
                    start: byte,
                    end: byte + 1,
                    owner,
                    place,
                },
            )),
        }
    }
    runs
}

fn fingerprint(extents: &Extents) -> u128 {
    let mut digest = Digest::new();
    extents.fingerprint(&mut digest);
    digest.value()
}

/// Replaced and found extents match the model after every operation, and adjacent extents are merged.
#[test]
fn the_index_knows_of_every_byte_what_a_map_of_bytes_knows() {
    for seed in 0..60 {
        let mut random = Stream::new(seed, 0, Purpose::Storage);
        let (mut extents, mut model) = (Extents::new(SERVERS as usize), Model::new());
        for _ in 0..300 {
            let operation = operation(&mut random);
            let gone = apply::<Plain>(&mut extents, &operation);
            assert_eq!(
                gone,
                apply_to_model(&mut model, &operation),
                "seed {seed}, {operation:?}"
            );
            let mut live = 0;
            for server in 0..SERVERS {
                let all: Vec<_> = extents.iter(server).collect();
                assert_eq!(all, runs(&model, server), "seed {seed}, {operation:?}");
                live += all.len();
            }
            assert_eq!(extents.live() as usize, live);
            let Operation {
                server, object, range, ..
            } = self::operation(&mut random);
            let found: Vec<_> = extents
                .find(server, object, range.clone())
                .flat_map(|e| (e.start..e.end).map(move |byte| (byte, e.owner, e.place)))
                .collect();
            let expected: Vec<_> = range
                .filter_map(|byte| {
                    model
                        .get(&(server, object, byte))
                        .map(|&(owner, place)| (byte, owner, place))
                })
                .collect();
            assert_eq!(found, expected, "seed {seed}");
        }
    }
}

#[test]
fn every_operation_can_be_undone_and_redone() {
    for seed in 0..30 {
        let mut random = Stream::new(seed, 1, Purpose::Storage);
        let mut extents = Extents::new(SERVERS as usize);
        for _ in 0..200 {
            let operation = operation(&mut random);
            let before = fingerprint(&extents);
            extents.commit();
            Savepoint(0).begin();
            let first = apply::<Speculative>(&mut extents, &operation);
            let after = fingerprint(&extents);
            extents.undo(Savepoint(0));
            assert_eq!(fingerprint(&extents), before, "undo of {operation:?}");
            assert_eq!(apply::<Speculative>(&mut extents, &operation), first);
            assert_eq!(fingerprint(&extents), after, "redo of {operation:?}");
        }
        extents.commit();
        let bytes = to_bytes(&extents);
        let mut fresh = Extents::new(SERVERS as usize);
        from_bytes(&mut fresh, &bytes).unwrap();
        assert_eq!(fingerprint(&fresh), fingerprint(&extents));
    }
}

#[test]
fn a_file_written_from_front_to_back_is_one_extent_and_one_written_anyhow_becomes_one() {
    let mut extents = Extents::new(1);
    let place = Place::Device(0);
    for block in 0..10_000 {
        extents.put::<Plain>(0, 7, (block * 1_000..(block + 1) * 1_000, 3, place), |_| {
            unreachable!("it is new")
        });
        assert_eq!(extents.live(), 1);
    }
    // Every other block first: as many extents as blocks; then the gaps.
    let put = |extents: &mut Extents, block: u64| {
        extents.put::<Plain>(0, 8, (block * 10..(block + 1) * 10, 3, place), |_| {
            unreachable!("it is new")
        });
    };
    (0..1_000).for_each(|block| put(&mut extents, 2 * block));
    assert_eq!(extents.live(), 1 + 1_000);
    (0..1_000).for_each(|block| put(&mut extents, 2 * block + 1));
    assert_eq!(extents.live(), 2);
    assert!(Extents::bytes_per_extent() <= 64, "{}", Extents::bytes_per_extent());
}

#[test]
fn ranges_at_the_end_of_all_numbers_are_ranges_like_others() {
    let mut extents = Extents::new(1);
    extents.put::<Plain>(0, u64::MAX, (u64::MAX - 4..u64::MAX, 0, Place::Memory(0)), |_| {});
    extents.put::<Plain>(0, u64::MAX, (5..5, 0, Place::Memory(0)), |_| unreachable!("nothing"));
    extents.put::<Plain>(0, u64::MAX, (u64::MAX - 2..u64::MAX, 1, Place::LowerTier), |_| {});
    let found: Vec<_> = extents
        .find(0, u64::MAX, 0..u64::MAX)
        .map(|e| (e.bytes(), e.owner))
        .collect();
    assert_eq!(found, [(2, 0), (2, 1)]);
}
