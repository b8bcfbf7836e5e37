use super::*;

#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Node {
    value: u32,
    next: u32,
}
crate::slots!(Node);

struct Chains {
    pool: Pool<Node>,
    list: Store<List>,
}
crate::journalled!(Chains { pool, list });

fn fingerprint(chains: &Chains) -> u128 {
    let mut digest = crate::Digest::new();
    chains.fingerprint(&mut digest);
    digest.value()
}

fn values(chains: &Chains) -> Vec<u32> {
    chains
        .list
        .get(0)
        .iter(&chains.pool)
        .map(|i| chains.pool.get(i).value)
        .collect()
}

fn push(chains: &mut Chains, value: u32) {
    let i = chains.pool.allocate::<Speculative>(Node { value, next: NIL });
    let mut list = *chains.list.get(0);
    list.push::<Speculative, _>(&mut chains.pool, i);
    *chains.list.edit::<Speculative>(0) = list;
}

#[test]
fn undo_restores_lists_pools_and_the_free_list() {
    let mut chains = Chains {
        pool: Pool::new(),
        list: Store::filled(1, List::EMPTY),
    };
    for v in 0..5 {
        push(&mut chains, v);
    }
    let before = fingerprint(&chains);
    Savepoint(1).begin();
    let mut list = *chains.list.get(0);
    let gone = list
        .remove_first::<Speculative, _>(&mut chains.pool, |n| n.value == 2)
        .unwrap();
    chains.pool.free::<Speculative>(gone);
    *chains.list.edit::<Speculative>(0) = list;
    push(&mut chains, 7);
    push(&mut chains, 8);
    assert_eq!(values(&chains), [0, 1, 3, 4, 7, 8]);
    chains.undo(Savepoint(1));
    assert_eq!(values(&chains), [0, 1, 2, 3, 4]);
    assert_eq!(fingerprint(&chains), before);
    assert_eq!(chains.pool.live(), 5);
}

/// Savepoints wrap. Changes dropped from the log are final.
#[test]
fn undo_restores_any_savepoint_that_is_still_in_the_log() {
    for first in [0, u32::MAX - 4] {
        let (mut cells, mut rows) = (Store::filled(2, 0), Rows::new());
        for event in 1..=9 {
            Savepoint(first).later(event).begin();
            *cells.edit::<Speculative>(event % 2) = event;
            *cells.edit::<Speculative>(0) += 100;
            rows.push::<Speculative>(event);
        }
        let at = |event| Savepoint(first).later(event);
        cells.undo(at(8));
        rows.undo(at(8));
        assert_eq!((cells.cells.as_slice(), rows.as_slice().len()), (&[206, 7][..], 7));
        cells.fossil_collect(at(5));
        rows.fossil_collect(at(5));
        // Events 5 and 7 have changed two cells each, event 6 one cell twice.
        let logged = 5 * size_of::<(Savepoint, u32, u32)>();
        assert_eq!((cells.logged(), rows.logged()), (logged, 12));
        cells.undo(at(1));
        rows.undo(at(1));
        assert_eq!(
            (cells.cells.as_slice(), rows.as_slice()),
            (&[104, 3][..], &[1, 2, 3, 4][..])
        );
        assert_eq!((cells.logged(), rows.logged()), (0, 0));
    }
}

#[test]
fn removing_the_last_slot_moves_the_tail() {
    let mut chains = Chains {
        pool: Pool::new(),
        list: Store::filled(1, List::EMPTY),
    };
    for v in 0..3 {
        push(&mut chains, v);
    }
    let mut list = *chains.list.get(0);
    list.remove_first::<Plain, _>(&mut chains.pool, |n| n.value == 2)
        .unwrap();
    *chains.list.edit::<Plain>(0) = list;
    push(&mut chains, 9);
    assert_eq!(values(&chains), [0, 1, 9]);
}

/// A store that takes half of the memory could not grow by doubling.
#[test]
fn large_stores_grow_by_an_eighth() {
    const CELLS: usize = LARGE / size_of::<Wide>();
    type Wide = [u64; 512];
    let mut store: Store<Wide> = Store::filled(CELLS, [0; 512]);
    store.grow([1; 512]);
    assert_eq!(store.cells.capacity(), CELLS + CELLS / 8);
    let mut small: Store<u64> = Store::filled(1 << 10, 0);
    small.grow(1);
    assert_eq!((small.len(), small.cells.capacity()), ((1 << 10) + 1, 1 << 11));
    assert_eq!((store.growth(CELLS), small.growth(1 << 20)), (0, 0));
}

/// Allocators move memory of the usual alignment without copying it; other memory is copied, which must be rare.
#[test]
fn cells_of_cache_lines_are_copied_when_their_store_grows() {
    #[repr(align(64))]
    #[derive(Clone, Copy)]
    struct Line([u8; 64]);
    const CELLS: usize = LARGE / 64;
    let mut store = Store::filled(CELLS, Line([0; 64]));
    assert_eq!((store.growth(0), store.cells[0].0[0]), (LARGE, 0));
    store.grow(Line([1; 64]));
    assert_eq!(store.cells.capacity(), 2 * CELLS);
    assert_eq!((store.growth(CELLS - 2), store.growth(CELLS - 1)), (0, LARGE + 64));
}
