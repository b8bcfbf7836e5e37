use super::*;
use crate::open_request::OpenRequest;
use crate::{ClientId, RequestHeader, Requester, ServerParams, StorageOperation, StorageRequest};
use odonata_device::{DeviceModel, Rate};
use odonata_engine::Plain;
use odonata_units::Time;

fn spaces(capacity: u64) -> DeviceSpaces {
    let params = ServerParams::new(DeviceModel::Rate(Rate::default()), capacity, 1_000_000);
    DeviceSpaces::new(&Devices::new(&[params]))
}

fn request(token: u32, bytes: u64) -> OpenRequest {
    let header = RequestHeader {
        client: ClientId::from(Requester::Rank(0)),
        token,
        owner: 0,
    };
    let what = StorageRequest {
        header,
        operation: StorageOperation::Write,
        object: 1,
        offset: 0,
        bytes,
    };
    OpenRequest::new(Time::ZERO, (0, 0), what)
}

/// 100 bytes of space, 60 of them in use: of requests for 50, 20 and 30 bytes, the first blocks the others. When 30 bytes come back,
/// it fits, and the next one after it.
#[test]
fn a_full_device_serves_waiting_requests_in_their_order() {
    let (mut space, mut requests) = (spaces(100), Pool::new());
    space.occupy::<Plain>(0, SpaceUse::Dirty, 60);
    for (token, bytes) in [(1, 50), (2, 20), (3, 30)] {
        let slot = requests.allocate::<Plain>(request(token, bytes));
        space.wait::<Plain>(0, slot, &mut requests);
    }
    let serve = |space: &mut DeviceSpaces| {
        let mut served = Vec::new();
        let mut waiting = space.waiting(0);
        loop {
            let first = space.in_line(0, &requests).next().map(|request| request.what);
            let Some(what) = first.filter(|what| what.bytes <= space.free(0)) else {
                return served;
            };
            served.push(what.header.token);
            space.occupy::<Plain>(0, SpaceUse::Reserved, what.bytes);
            waiting.pop(&requests);
            space.set_waiting::<Plain>(0, waiting);
        }
    };
    assert_eq!(serve(&mut space), vec![0_u32; 0], "40 bytes are free");
    space.vacate::<Plain>(0, SpaceUse::Dirty, 30);
    assert_eq!((serve(&mut space), space.free(0)), (vec![1, 2], 0));
    let blocked: Vec<u64> = space.in_line(0, &requests).map(|request| request.what.bytes).collect();
    assert_eq!(blocked, [30]);
}

#[test]
fn the_states_of_all_bytes_add_up_to_the_space_in_use() {
    let mut space = spaces(1_000);
    space.occupy::<Plain>(0, SpaceUse::Reserved, 500);
    space.change::<Plain>(0, (SpaceUse::Reserved, SpaceUse::Dirty), 400);
    space.change::<Plain>(0, (SpaceUse::Dirty, SpaceUse::Leaving), 250);
    assert!(space.audit(0, true).is_err(), "100 bytes are reserved");
    space.change::<Plain>(0, (SpaceUse::Reserved, SpaceUse::Dirty), 100);
    assert_eq!((space.dirty(0), space.staying(0), space.fixed(0)), (250, 250, 250));
    space.change::<Plain>(0, (SpaceUse::Leaving, SpaceUse::Clean), 200);
    assert_eq!((space.staying(0), space.fixed(0), space.used(0)), (450, 250, 500));
    space.audit(0, true).unwrap();
    // Without an index, space in use is what was written less what was drained.
    space.count_written::<Plain>(0, 550);
    assert!(space.audit(0, false).is_err());
    space.count_drained::<Plain>(0, 50);
    space.audit(0, false).unwrap();
}
