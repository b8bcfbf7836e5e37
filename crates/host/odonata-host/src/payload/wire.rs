//! Encoding of payloads for other processes, derived by serde, in the format of [postcard](https://docs.rs/postcard): the number of
//! the variant, then the fields, integers with variable length.
//!
//! The bytes come from outside: whatever does not encode a payload is refused.

use super::Payload;
use odonata_engine::{WireFormat, read_compact, write_compact};

impl WireFormat for Payload {
    fn write(&self, bytes: &mut Vec<u8>) {
        write_compact(self, bytes);
    }

    fn read(bytes: &mut &[u8]) -> Option<Payload> {
        read_compact(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::JobSignal;
    use odonata_storage::{ClientId, MetadataCall, RequestHeader, Requester, StorageOperation, StorageRequest};
    use odonata_workload::Access;

    /// Several of each kind, with fields that differ from each other.
    fn samples() -> Vec<Payload> {
        let (from, to, server) = (1, u32::MAX - 1, 3);
        let client = ClientId::from(Requester::Server(2));
        let (owner, holder, piece, bytes) = (300, 12, 11, u64::MAX - 5);
        let header = RequestHeader {
            client,
            token: 10,
            owner,
        };
        let mut all = vec![
            Payload::Eager {
                from,
                to,
                tag: 4,
                context: 5,
                sequence: 6,
                request: u32::MAX,
            },
            Payload::Rts {
                from,
                to,
                tag: 4,
                context: 5,
                sequence: 6,
                outgoing: 7,
                bytes,
            },
            Payload::Cts {
                from,
                to,
                outgoing: 7,
                incoming: 8,
            },
            Payload::RendezvousData {
                from,
                to,
                incoming: 8,
                request: 9,
            },
            Payload::Ack { from, to, request: 9 },
            Payload::Fetched { from, to, request: 9 },
            Payload::Lock {
                from,
                to,
                comm: 4,
                exclusive: true,
                request: 9,
            },
            Payload::Unlock { from, to, comm: 4 },
            Payload::Epoch {
                from,
                to,
                comm: 4,
                ends: true,
            },
            Payload::Synthetic { from, to },
            Payload::Pull {
                server,
                header,
                piece,
                bytes,
            },
            Payload::WriteData { server, header, piece },
            Payload::ReadData { server, header, piece },
            Payload::LockRevoke {
                server,
                client,
                owner,
                holder,
            },
            Payload::LockReturn {
                client,
                server,
                owner,
                holder,
            },
            Payload::JobEnded { from, server, owner },
        ];
        all.extend([false, true].map(|lost| Payload::Response { server, header, lost }));
        let accesses = [Access::Put, Access::Get, Access::Accumulate, Access::GetAccumulate];
        all.extend(accesses.map(|access| Payload::Access {
            from,
            to,
            access,
            bytes,
            request: 9,
        }));
        let flags = [(false, false), (false, true), (true, false), (true, true)];
        let mut operations = vec![
            StorageOperation::Write,
            StorageOperation::Stage,
            StorageOperation::Remove,
        ];
        operations.extend(flags.map(|(rerouted, tolerates_loss)| StorageOperation::Read {
            rerouted,
            tolerates_loss,
        }));
        operations.extend([false, true].map(|to_last_tier| StorageOperation::Sync { to_last_tier }));
        operations.extend(MetadataCall::ALL.map(StorageOperation::Metadata));
        all.extend(operations.into_iter().map(|operation| {
            let request = StorageRequest {
                header,
                operation,
                object: 1 << 40,
                offset: 2 << 40 | 1,
                bytes,
            };
            Payload::Request { server, request }
        }));
        let signals = [
            JobSignal::RanksEnded,
            JobSignal::JobEnded,
            JobSignal::Start,
            JobSignal::Stop,
            JobSignal::RanksStaged,
            JobSignal::Staged,
        ];
        all.extend(signals.map(|signal| Payload::JobControl { from, to, signal }));
        all
    }

    #[test]
    fn payloads_come_out_as_they_went_in() {
        let mut stream = Vec::new();
        for payload in samples() {
            let mut bytes = Vec::new();
            payload.write(&mut bytes);
            stream.extend_from_slice(&bytes);
            let mut rest = &bytes[..];
            assert_eq!(Payload::read(&mut rest), Some(payload));
            assert!(rest.is_empty(), "{payload:?}");
            // A prefix is no payload.
            for cut in 0..bytes.len() {
                assert_eq!(Payload::read(&mut &bytes[..cut]), None, "{payload:?} cut to {cut}");
            }
        }
        let mut rest = &stream[..];
        for payload in samples() {
            assert_eq!(Payload::read(&mut rest), Some(payload));
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn an_unknown_kind_is_refused() {
        let known: std::collections::BTreeSet<u8> = samples()
            .iter()
            .map(|payload| {
                let mut bytes = Vec::new();
                payload.write(&mut bytes);
                bytes[0]
            })
            .collect();
        assert_eq!(known.len(), 20);
        // From 128 on the number of the kind has a second byte.
        for kind in 0..128 {
            let bytes = [&[kind][..], &[0; 40]].concat();
            let payload = Payload::read(&mut &bytes[..]);
            assert_eq!(payload.is_some(), known.contains(&kind), "{kind}");
            let bytes = [&[kind | 128, 1][..], &[0; 40]].concat();
            assert_eq!(Payload::read(&mut &bytes[..]), None, "{kind} + 128");
        }
    }

    #[test]
    fn unknown_values_of_flags_and_signals_are_refused() {
        let mut checked = 0;
        for payload in samples() {
            let mut bytes = Vec::new();
            payload.write(&mut bytes);
            if let Payload::Response { .. } | Payload::JobControl { .. } = payload {
                *bytes.last_mut().unwrap() = 8;
                assert_eq!(Payload::read(&mut &bytes[..]), None, "{payload:?}");
                checked += 1;
            }
        }
        assert_eq!(checked, 8);
    }
}
