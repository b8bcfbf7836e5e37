use super::*;
use crate::random::Purpose;
use crate::{Digest, Journalled, List, NIL, Plain, Savepoint, Speculative, Stream};
use serde::Deserialize;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Link {
    value: u64,
    next: u32,
}
crate::slots!(Link);

struct All {
    cells: Store<Option<i64>>,
    pool: Pool<Link>,
    list: Store<List>,
    rows: Rows<(u32, bool)>,
    table: GrowableStore<u128>,
    window: RangeStore<[u16; 3]>,
    sparse: SparseStore<Stream>,
}
crate::journalled!(All {
    cells,
    pool,
    list,
    rows,
    table,
    window,
    sparse
});

fn fresh() -> All {
    All {
        cells: Store::filled(40, None),
        pool: Pool::new(),
        list: Store::filled(3, List::EMPTY),
        rows: Rows::new(),
        table: GrowableStore::new(),
        window: RangeStore::filled(3..10, [0; 3]),
        sparse: SparseStore::all(vec![Stream::new(1, 2, Purpose::Host); 2]),
    }
}

/// After `steps` changes, some of which were undone.
fn changed(seed: u64, steps: u32) -> All {
    let mut all = fresh();
    let mut random = Stream::new(seed, 0, Purpose::Host);
    for step in 0..steps {
        Savepoint(step).begin();
        let i = random.below(40);
        *all.cells.edit::<Speculative>(i) = (random.below(3) > 0).then(|| random.bits() as i64);
        let which = random.below(3);
        let mut list = *all.list.get(which);
        if random.below(5) < 2 {
            if let Some(slot) = list.pop(&all.pool) {
                all.pool.free::<Speculative>(slot);
            }
        } else {
            let value = random.bits() >> random.below(60);
            let slot = all.pool.allocate::<Speculative>(Link { value, next: NIL });
            list.push::<Speculative, _>(&mut all.pool, slot);
        }
        *all.list.edit::<Speculative>(which) = list;
        all.rows.push::<Speculative>((i, random.below(2) == 0));
        *all.table.edit::<Speculative>(random.below(300) as usize) = u128::MAX / 3;
        all.window.edit::<Speculative>(9)[1] += 1;
        all.sparse.edit::<Speculative>(1).bits();
        if random.below(4) == 0 {
            all.undo(Savepoint(step));
        }
        all.commit();
    }
    all
}

fn fingerprint(all: &All) -> u128 {
    let mut digest = Digest::new();
    all.fingerprint(&mut digest);
    digest.value()
}

#[test]
fn a_state_that_is_loaded_is_the_one_that_was_saved() {
    for seed in 0..50 {
        let all = changed(seed, 3 * seed as u32);
        let bytes = to_bytes(&all);
        // Loading replaces any previous state.
        for mut other in [fresh(), changed(seed + 1, 70)] {
            from_bytes(&mut other, &bytes).unwrap();
            assert_eq!(fingerprint(&other), fingerprint(&all), "seed {seed}");
            assert_eq!(to_bytes(&other), bytes, "seed {seed}");
        }
    }
}

/// A loaded pool allocates the same slots as the saved one.
#[test]
fn a_loaded_pool_behaves_as_the_saved_one() {
    let mut all = changed(7, 100);
    let mut other = fresh();
    from_bytes(&mut other, &to_bytes(&all)).unwrap();
    for value in 0..100 {
        let link = Link { value, next: NIL };
        assert_eq!(other.pool.allocate::<Plain>(link), all.pool.allocate::<Plain>(link));
    }
}

#[test]
fn missing_or_added_bytes_are_errors_anywhere() {
    let bytes = to_bytes(&changed(3, 30));
    for length in 0..bytes.len() {
        let error = from_bytes(&mut fresh(), &bytes[..length]).unwrap_err();
        assert_eq!(error.to_string(), "it ends too early", "{length} of {}", bytes.len());
    }
    let error = from_bytes(&mut fresh(), &[&bytes[..], &[0]].concat()).unwrap_err();
    assert_eq!(error.to_string(), "it goes on where it should end");
}

/// Without a checksum some damage goes unnoticed; it must neither panic nor take long.
#[test]
fn no_byte_makes_it_panic() {
    let bytes = to_bytes(&changed(3, 30));
    let mut refused = 0;
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1 << bit;
            let mut all = fresh();
            match from_bytes(&mut all, &wrong) {
                Ok(()) => assert_ne!(to_bytes(&all), bytes, "byte {at} bit {bit} is no part of the state"),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > bytes.len(), "{refused} of {}", 8 * bytes.len());
}

#[test]
fn a_number_of_values_that_cannot_be_costs_no_memory() {
    let mut bytes = Vec::new();
    let mut saver = Saver::new(&mut bytes);
    saver.value(&u64::MAX);
    saver.value(&5u32);
    saver.finish().unwrap();
    let error = |result: Result<(), Damaged>| result.unwrap_err().to_string();
    assert_eq!(
        error(Loader::new(&mut &bytes[..]).values::<u32>().map(|_| ())),
        "it ends too early"
    );
    assert_eq!(
        error(Loader::new(&mut &bytes[..]).values::<()>().map(|_| ())),
        "it holds values of no size"
    );
    assert_eq!(
        error(Loader::new(&mut &bytes[..]).fill_in(&mut [0u32; 3])),
        "it has 18446744073709551615 cells where there are 3"
    );
}

#[test]
fn values_may_be_larger_than_any_buffer() {
    let texts: Vec<String> = [10, 5_000, 200_000, 0, 70_000, 1_023]
        .map(|length| "x".repeat(length))
        .to_vec();
    let mut bytes = Vec::new();
    let mut saver = Saver::new(&mut bytes);
    saver.values(texts.iter());
    saver.finish().unwrap();
    let mut from = &bytes[..];
    let mut loader = Loader::new(&mut from);
    assert_eq!(loader.values::<String>().unwrap(), texts);
    loader.finish().unwrap();
}

#[test]
fn the_first_error_of_the_writer_is_kept() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut full = Full(3 * BLOCK);
    let mut saver = Saver::new(&mut full);
    (0..4 * BLOCK as u64).for_each(|i| saver.value(&(i + (1 << 40))));
    assert_eq!(saver.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
}

#[test]
#[should_panic(expected = "what can be taken back is not saved")]
fn state_that_can_be_rolled_back_is_not_saved() {
    let mut all = fresh();
    all.window.edit::<Speculative>(4)[0] = 1;
    to_bytes(&all);
}
