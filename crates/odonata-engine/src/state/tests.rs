use super::*;

#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Node {
    value: u32,
    next: u32,
}
impl Slot for Node {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

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
    let i = chains.pool.take::<Speculative>(Node { value, next: NIL });
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
    Moment(1).begin();
    let mut list = *chains.list.get(0);
    let gone = list
        .remove_first::<Speculative, _>(&mut chains.pool, |n| n.value == 2)
        .unwrap();
    chains.pool.give::<Speculative>(gone);
    *chains.list.edit::<Speculative>(0) = list;
    push(&mut chains, 7);
    push(&mut chains, 8);
    assert_eq!(values(&chains), [0, 1, 3, 4, 7, 8]);
    chains.undo(Moment(1));
    assert_eq!(values(&chains), [0, 1, 2, 3, 4]);
    assert_eq!(fingerprint(&chains), before);
    assert_eq!(chains.pool.live(), 5);
}

/// Moments wrap; what was forgotten stays as it is, whatever is taken back.
#[test]
fn undo_goes_back_to_any_moment_that_was_not_forgotten() {
    for first in [0, u32::MAX - 4] {
        let (mut cells, mut rows) = (Store::filled(2, 0), Rows::new());
        for event in 1..=9 {
            Moment(first).later(event).begin();
            *cells.edit::<Speculative>(event % 2) = event;
            *cells.edit::<Speculative>(0) += 100;
            rows.push::<Speculative>(event);
        }
        let at = |event| Moment(first).later(event);
        cells.undo(at(8));
        rows.undo(at(8));
        assert_eq!((cells.cells.as_slice(), rows.as_slice().len()), (&[206, 7][..], 7));
        cells.forget(at(5));
        rows.forget(at(5));
        // Events 5 and 7 have changed two cells, event 6 one of them twice.
        let logged = 5 * size_of::<(Moment, u32, u32)>();
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
