//! Encoding of payloads for other processes: a byte for the kind, then the fields, least significant byte first.
//!
//! The bytes come from outside: what is no payload is none, whatever it is.

use super::{ClientId, IoAccess, JobSignal, Payload, SplitU64};
use odonata_engine::WireFormat;
use odonata_storage::MetadataCall;

/// A field of a payload as bytes.
trait Field: Sized {
    fn put(self, bytes: &mut Vec<u8>);
    fn get(bytes: &mut &[u8]) -> Option<Self>;
}

impl Field for u32 {
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
    fn get(bytes: &mut &[u8]) -> Option<Self> {
        let (first, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(u32::from_le_bytes(*first))
    }
}

impl Field for u16 {
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
    fn get(bytes: &mut &[u8]) -> Option<Self> {
        let (first, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(u16::from_le_bytes(*first))
    }
}

impl Field for ClientId {
    fn put(self, bytes: &mut Vec<u8>) {
        self.0.put(bytes);
    }
    fn get(bytes: &mut &[u8]) -> Option<Self> {
        u32::get(bytes).map(ClientId)
    }
}

impl Field for u8 {
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.push(self);
    }
    fn get(bytes: &mut &[u8]) -> Option<Self> {
        let (&first, rest) = bytes.split_first()?;
        *bytes = rest;
        Some(first)
    }
}

impl Field for SplitU64 {
    fn put(self, bytes: &mut Vec<u8>) {
        self.0.into_iter().for_each(|half| half.put(bytes));
    }
    fn get(bytes: &mut &[u8]) -> Option<Self> {
        Some(SplitU64([Field::get(bytes)?, Field::get(bytes)?]))
    }
}

impl Field for bool {
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.push(self.into());
    }
    fn get(bytes: &mut &[u8]) -> Option<Self> {
        match u8::get(bytes)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Field for JobSignal {
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.push(self as u8);
    }
    fn get(bytes: &mut &[u8]) -> Option<Self> {
        JobSignal::ALL.get(usize::from(u8::get(bytes)?)).copied()
    }
}

impl Field for IoAccess {
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.push(self as u8);
    }
    fn get(bytes: &mut &[u8]) -> Option<Self> {
        IoAccess::ALL.get(usize::from(u8::get(bytes)?)).copied()
    }
}

impl Field for MetadataCall {
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.push(self as u8);
    }
    fn get(bytes: &mut &[u8]) -> Option<Self> {
        MetadataCall::ALL.get(usize::from(u8::get(bytes)?)).copied()
    }
}

/// The bytes of each kind of payload: the kind, then the fields in this order.
macro_rules! wire {
    ($($kind:literal $name:ident { $($field:ident),* })*) => {
        impl WireFormat for Payload {
            fn write(&self, bytes: &mut Vec<u8>) {
                match *self {
                    $(Payload::$name { $($field),* } => {
                        bytes.push($kind);
                        $($field.put(bytes);)*
                    })*
                }
            }

            fn read(bytes: &mut &[u8]) -> Option<Payload> {
                match u8::get(bytes)? {
                    $($kind => Some(Payload::$name { $($field: Field::get(bytes)?),* }),)*
                    _ => None,
                }
            }
        }
    };
}
wire! {
    1 Eager { from, to, tag, context, sequence, request }
    2 Rts { from, to, tag, context, sequence, outgoing, bytes }
    3 Cts { from, to, outgoing, incoming }
    4 RendezvousData { from, to, incoming, request }
    5 Synthetic { from, to }
    6 IoRequest { client, server, access, owner, operation, object, offset, bytes }
    7 Pull { server, client, owner, operation, piece, bytes }
    8 WriteData { client, server, owner, piece }
    9 ReadData { server, client, owner, operation, piece }
    10 IoResponse { server, client, owner, operation, lost }
    11 JobControl { from, to, signal }
    12 LockRevoke { server, client, owner, holder }
    13 LockReturn { client, server, owner, holder }
    14 JobEnded { from, server, owner }
    16 IoStage { client, server, owner, operation, object, offset, bytes }
    15 IoSync { client, server, owner, operation, object, below }
    17 IoRemove { client, server, owner, operation, object }
    20 MetadataRequest { rank, server, call, owner, operation, directory }
    21 MetadataResponse { server, rank, owner, operation }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind, with fields that differ from each other.
    fn each_kind() -> Vec<Payload> {
        let (from, to, client, server) = (1, u32::MAX - 1, ClientId(2), 3);
        let (owner, holder) = (300, 12);
        let bytes = SplitU64::from(u64::MAX - 5);
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
            Payload::Synthetic { from, to },
            Payload::Pull {
                server,
                client,
                owner,
                operation: 10,
                piece: 11,
                bytes,
            },
            Payload::WriteData {
                client,
                server,
                owner,
                piece: 11,
            },
            Payload::ReadData {
                server,
                client,
                owner,
                operation: 10,
                piece: 11,
            },
            Payload::IoResponse {
                server,
                client,
                owner,
                operation: 10,
                lost: true,
            },
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
        all.extend(IoAccess::ALL.map(|access| Payload::IoRequest {
            client,
            server,
            access,
            owner,
            operation: 10,
            object: SplitU64::from(1 << 40),
            offset: SplitU64::from(2 << 40 | 1),
            bytes,
        }));
        all.extend([false, true].map(|below| Payload::IoSync {
            client,
            server,
            owner,
            operation: 10,
            object: SplitU64::from(1 << 40),
            below,
        }));
        all.push(Payload::IoRemove {
            client,
            server,
            owner,
            operation: 10,
            object: SplitU64::from(1 << 40),
        });
        all.push(Payload::IoStage {
            client,
            server,
            owner,
            operation: 10,
            object: SplitU64::from(1 << 40),
            offset: SplitU64::from(2 << 40 | 1),
            bytes,
        });
        all.push(Payload::MetadataResponse {
            server,
            rank: 7,
            owner,
            operation: 10,
        });
        all.extend(MetadataCall::ALL.map(|call| Payload::MetadataRequest {
            rank: 7,
            server,
            call,
            owner,
            operation: 10,
            directory: SplitU64::from(3 << 32 | 9),
        }));
        all.extend(JobSignal::ALL.map(|signal| Payload::JobControl { from, to, signal }));
        all
    }

    #[test]
    fn payloads_come_out_as_they_went_in() {
        let mut stream = Vec::new();
        for payload in each_kind() {
            let mut bytes = Vec::new();
            payload.write(&mut bytes);
            stream.extend_from_slice(&bytes);
            let mut rest = &bytes[..];
            assert_eq!(Payload::read(&mut rest), Some(payload));
            assert!(rest.is_empty(), "{payload:?}");
            // None of its beginnings is a payload.
            for cut in 0..bytes.len() {
                assert_eq!(Payload::read(&mut &bytes[..cut]), None, "{payload:?} cut to {cut}");
            }
        }
        let mut rest = &stream[..];
        for payload in each_kind() {
            assert_eq!(Payload::read(&mut rest), Some(payload));
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn an_unknown_kind_is_no_payload() {
        let known: std::collections::BTreeSet<u8> = each_kind()
            .iter()
            .map(|payload| {
                let mut bytes = Vec::new();
                payload.write(&mut bytes);
                bytes[0]
            })
            .collect();
        assert_eq!(known.len(), 19);
        for kind in 0..=u8::MAX {
            let bytes = [&[kind][..], &[0; 40]].concat();
            assert_eq!(
                Payload::read(&mut &bytes[..]).is_some(),
                known.contains(&kind),
                "{kind}"
            );
        }
    }

    #[test]
    fn unknown_values_of_flags_and_signals_are_no_payload() {
        for payload in each_kind() {
            let mut bytes = Vec::new();
            payload.write(&mut bytes);
            let at = match payload {
                Payload::IoRequest { .. } => 9,
                Payload::MetadataRequest { .. } => 9,
                Payload::IoSync { .. } | Payload::JobControl { .. } => bytes.len() - 1,
                _ => continue,
            };
            bytes[at] = 8;
            assert_eq!(Payload::read(&mut &bytes[..]), None, "{payload:?}");
        }
    }
}
