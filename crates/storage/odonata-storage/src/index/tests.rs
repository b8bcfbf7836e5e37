use std::collections::BTreeMap;

use super::*;
use odonata_device::{DeviceModel, Rate};
use odonata_engine::{NIL, Plain};
use odonata_units::{SplitMix64, Time};

/// Bytes in use by device and state.
#[derive(Debug, Default, PartialEq, Eq)]
struct Account(BTreeMap<(u32, u8), u64>);

impl SpaceAccount for Account {
    fn occupy<M: Mode>(&mut self, device: u32, by: SpaceUse, bytes: u64) {
        *self.0.entry((device, by as u8)).or_default() += bytes;
    }

    fn vacate<M: Mode>(&mut self, device: u32, by: SpaceUse, bytes: u64) {
        let sum = self.0.get_mut(&(device, by as u8)).expect("it is in use");
        *sum = sum.checked_sub(bytes).expect("no more comes back than is in use");
    }
}

impl Account {
    fn used(&self, device: u32) -> u64 {
        self.0
            .iter()
            .filter(|((of, _), _)| *of == device)
            .map(|(_, bytes)| bytes)
            .sum()
    }
}

/// The index of one server with two devices, for three jobs.
fn index() -> ContentIndex {
    let mut params = ServerParams::new(DeviceModel::Rate(Rate::default()), 1 << 40, 1_000_000);
    params.manager.extents = true;
    params.devices.push(params.devices[0].clone());
    let params = [params];
    let mut index = ContentIndex::new(&params, &Devices::new(&params));
    index.count_jobs(3);
    index
}

fn piece(device: u32, owner: u16, range: Range<u64>) -> Piece {
    let bytes = range.end - range.start;
    Piece::new(Time::ZERO, (0, device), (NIL, owner), 7, range.start, bytes)
}

fn write(index: &mut ContentIndex, account: &mut Account, piece: &Piece) {
    let content = (piece.range(), piece.owner, Place::Reserved(piece.device as u8));
    index.put::<Plain>(0, 7, content, account);
    index.is_in_memory_now::<Plain>(piece, account);
    index.commit::<Plain>(piece, account);
}

#[test]
fn bytes_pass_through_their_states_and_the_account_follows() {
    let (mut index, mut account) = (index(), Account::default());
    let state = |account: &Account, by: SpaceUse| account.0.get(&(1, by as u8)).copied().unwrap_or(0);
    let block = piece(1, 2, 0..100);
    write(&mut index, &mut account, &block);
    assert_eq!(state(&account, SpaceUse::Dirty), 100);
    let chosen = index.leave::<Plain>((0, 1), ((0, 0), 60), |owner| owner == 2, &mut account);
    let expected = LeavingBlock {
        owner: 2,
        object: 7,
        offset: 0,
        bytes: 60,
    };
    assert_eq!(chosen, Some(expected));
    assert_eq!(
        [SpaceUse::Dirty, SpaceUse::Leaving].map(|by| state(&account, by)),
        [40, 60]
    );
    let leaving = piece(1, 2, 0..60);
    index.has_left::<Plain>(&leaving, true, &mut account);
    assert_eq!(
        [SpaceUse::Leaving, SpaceUse::Clean].map(|by| state(&account, by)),
        [0, 60]
    );
    assert_eq!(index.run_of(0, 7, 0..200), (100, true));
    index.audit(|device| account.used(device), &[]).unwrap();
    assert_eq!(index.remove::<Plain>(0, 7, &mut account), [(1, 2)]);
    assert_eq!((account.used(1), index.removed().next()), (0, Some((0, 2, 100))));
    index.audit(|device| account.used(device), &[]).unwrap();
}

/// Random writes, drains, failures of a device and removals: what each job has committed is stored, overwritten, removed or lost.
#[test]
fn every_byte_is_counted_once() {
    for seed in 0..20 {
        let (mut index, mut account, mut random) = (index(), Account::default(), SplitMix64(seed));
        let mut gone = vec![0; 3];
        for _ in 0..300 {
            let [kind, device, owner, start, bytes] = [10, 2, 3, 500, 80].map(|below| random.next_u64() % below);
            let piece = piece(device as u32, owner as u16, start..start + bytes + 1);
            let lost = |owner: u16, bytes| gone[usize::from(owner)] += bytes;
            match kind {
                0 => index.lose::<Plain>(0, Some(device as u32), &mut account, lost),
                1 => drop(index.remove::<Plain>(0, 7, &mut account)),
                2 | 3 => {
                    let any = |_| true;
                    let chosen = index.leave::<Plain>((0, piece.device), ((7, start), bytes + 1), any, &mut account);
                    if let Some(LeavingBlock {
                        offset, bytes, owner, ..
                    }) = chosen
                    {
                        let block = super::tests::piece(piece.device, owner, offset..offset + bytes);
                        index.has_left::<Plain>(&block, start % 2 == 0, &mut account);
                    }
                }
                4 => {
                    let (filled, inputs) = index.fill::<Plain>(&piece, &mut account);
                    assert!(inputs <= filled);
                    index.is_filled::<Plain>(&piece, &mut account);
                }
                5 => index.commit_below::<Plain>(&piece, &mut account),
                _ => write(&mut index, &mut account, &piece),
            }
            index.audit(|device| account.used(device), &gone).unwrap();
        }
    }
}
