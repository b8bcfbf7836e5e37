use super::*;
use odonata_units::Bytes;

fn striped(servers: u32, stripe: u64, count: u32, start: Start) -> (FileLayout, Striping) {
    let settings = Striped {
        stripe: Bytes(stripe),
        count: StripeCount::Number(count),
        start,
    };
    match FileLayout::new(Layout::Striped(settings), servers, 1, "job") {
        layout @ FileLayout::Striped(striping) => (layout, striping),
        FileLayout::Assigned => unreachable!("it was asked to be striped"),
    }
}

const FILE: u64 = 17;

/// The slow model: the server and object offset of every byte by itself.
fn byte_by_byte(striping: Striping, byte: u64) -> (u32, u64) {
    let (stripe, count) = (striping.stripe, u64::from(striping.count));
    let (index, within) = (byte / stripe, byte % stripe);
    let server = (u64::from(striping.first_server(FILE)) + index % count) % u64::from(striping.servers);
    (server as u32, index / count * stripe + within)
}

/// Parts cover the range once, in the order of their first bytes. Each is one range of its object, and the inverse leads back.
#[test]
fn parts_are_those_of_every_byte_by_itself() {
    let mut random = SplitMix64(5);
    let mut below = |n: u64| random.next_u64() % n;
    for _ in 0..3_000 {
        let servers = 1 + below(9) as u32;
        let count = 1 + below(servers.into()) as u32;
        let start = match below(4) {
            0 => Start::Hash,
            1 => Start::Random,
            2 => Start::RoundRobin,
            _ => Start::Server(below(servers.into()) as u32),
        };
        let (layout, striping) = striped(servers, 1 + below(20), count, start);
        let (offset, bytes) = (below(200), 1 + below(150));
        let parts: Vec<Part> = layout.parts(FILE, (offset, bytes), 0).collect();
        assert_eq!(parts.len(), layout.parts(FILE, (offset, bytes), 0).len());
        let mut expected: Vec<(u32, Vec<u64>)> = Vec::new();
        for byte in offset..offset + bytes {
            let (server, at) = byte_by_byte(striping, byte);
            match expected.iter_mut().find(|(other, _)| *other == server) {
                Some((_, offsets)) => offsets.push(at),
                None => expected.push((server, vec![at])),
            }
        }
        assert_eq!(parts.len(), expected.len());
        let first = striping.first_server(FILE);
        for (part, (server, offsets)) in parts.iter().zip(expected) {
            let range: Vec<u64> = (part.offset..part.offset + part.bytes).collect();
            assert_eq!((part.server, range), (server, offsets));
            let object = (part.server + servers - first) % servers;
            for at in part.offset..part.offset + part.bytes {
                let byte = striping.file_offset(object, at);
                assert_eq!(byte_by_byte(striping, byte as u64), (server, at));
                assert!((u128::from(offset)..u128::from(offset + bytes)).contains(&byte));
            }
        }
    }
}

/// Of `k n` whole stripes, each of `n` servers has `k`.
#[test]
fn whole_rounds_of_stripes_are_shared_evenly() {
    let (layout, _) = striped(7, 1 << 20, 4, Start::Server(5));
    let parts: Vec<Part> = layout.parts(FILE, (0, 12 << 20), 0).collect();
    let part = |server| Part {
        server,
        offset: 0,
        bytes: 3 << 20,
    };
    assert_eq!(parts, [5, 6, 0, 1].map(part));
    // The second round begins where the first one ended.
    let next: Vec<Part> = layout.parts(FILE, (12 << 20, 1), 0).collect();
    assert_eq!(
        next,
        [Part {
            server: 5,
            offset: 3 << 20,
            bytes: 1
        }]
    );
}

#[test]
fn a_range_within_a_stripe_is_one_request_and_one_longer_than_a_round_is_one_per_server() {
    let (layout, _) = striped(9, 100, 3, Start::Hash);
    let count = |offset, bytes| layout.parts(FILE, (offset, bytes), 0).len();
    assert_eq!((count(100, 100), count(199, 2), count(150, 300)), (1, 2, 3));
    assert_eq!(count(0, 1 << 40), 3);
}

#[test]
fn a_whole_file_on_one_server_is_where_its_name_says() {
    for layout in [Layout::Hash, Layout::Random, Layout::RoundRobin] {
        let at = |seed, number| {
            let mut parts = FileLayout::new(layout, 8, seed, "job").parts(number, (1 << 50, u64::MAX), 7);
            let part = parts.next().unwrap();
            assert_eq!((parts.next(), part.offset, part.bytes), (None, 1 << 50, u64::MAX));
            part.server
        };
        let servers: Vec<u32> = (0..800).map(|number| at(1, number)).collect();
        let of = |server| servers.iter().filter(|&&other| other == server).count();
        match layout {
            Layout::RoundRobin => assert!((0..8).all(|server| of(server) == 100)),
            // Binomial: mean 100, standard deviation 9.4.
            _ => assert!((0..8).all(|server| of(server).abs_diff(100) < 40), "{layout:?}"),
        }
        let same = (0..800)
            .filter(|&number| at(2, number) == servers[number as usize])
            .count();
        assert_eq!(same < 200, layout == Layout::Random, "{layout:?} {same}");
    }
}

#[test]
fn an_assigned_file_is_on_the_server_of_the_asking_rank() {
    let parts: Vec<Part> = FileLayout::Assigned.parts(FILE, (5, 10), 3).collect();
    let part = Part {
        server: 3,
        offset: 5,
        bytes: 10,
    };
    assert_eq!(parts, [part]);
}

#[test]
fn no_bytes_are_one_part_without_bytes() {
    let (layout, _) = striped(4, 10, 4, Start::Server(0));
    let parts: Vec<Part> = layout.parts(FILE, (25, 0), 0).collect();
    let part = Part {
        server: 2,
        offset: 5,
        bytes: 0,
    };
    assert_eq!(parts, [part]);
}

/// A program may name any range: nothing wraps around.
#[test]
fn the_ends_of_what_can_be_numbered_are_laid_out_too() {
    for (stripe, count) in [(1, 1), (1, 5), (u64::MAX, 5), (3, 4)] {
        let (layout, striping) = striped(5, stripe, count, Start::Server(4));
        for (offset, bytes) in [(u64::MAX, u64::MAX), (u64::MAX - 1, 1), (0, u64::MAX), (u64::MAX, 0)] {
            let parts: Vec<Part> = layout.parts(FILE, (offset, bytes), 0).collect();
            assert!(parts.len() <= count as usize);
            let sum: u128 = parts.iter().map(|part| u128::from(part.bytes)).sum();
            assert_eq!(sum, u128::from(bytes), "{striping:?} {offset} {bytes}");
        }
    }
}

#[test]
fn files_of_directories_have_objects_of_their_own() {
    let object = |directory, number| FileName { directory, number }.object();
    assert_eq!(object(0, 5), 5);
    assert_ne!(object(1, 5), object(2, 5));
    assert!(object(u16::MAX, u64::MAX) < u64::MAX);
    assert!(object(0, u64::MAX) < u64::MAX);
}

#[test]
fn layouts_that_do_not_fit_the_machine_are_refused() {
    let check = |change: &dyn Fn(&mut Striped)| {
        let mut settings = Striped::default();
        change(&mut settings);
        Layout::Striped(settings).check("storage.layout", 8)
    };
    assert!(check(&|_| ()).is_ok());
    let problem_of = |result: Result<(), odonata_units::Problem>| result.unwrap_err().problem;
    for (change, words) in [
        (
            (&|s: &mut Striped| s.stripe = Bytes(0)) as &dyn Fn(&mut Striped),
            "a stripe of no bytes",
        ),
        (&|s| s.count = StripeCount::Number(0), "stripes on 0 of 8 servers"),
        (&|s| s.count = StripeCount::Number(9), "stripes on 9 of 8 servers"),
        (&|s| s.start = Start::Server(8), "there is no server 8"),
    ] {
        let text = problem_of(check(change));
        assert!(text.contains(words), "{text}");
    }
}
