//! An access: one read or write of contiguous bytes.

/// One read or write of contiguous bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whether data goes to the device.
    pub write: bool,
    /// The accessed object: a file, if the device can tell files apart.
    pub object: u64,
    /// Offset of the first byte within the object.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl Access {
    /// A read of `bytes` from `offset` of object 0.
    pub fn read(offset: u64, bytes: u64) -> Self {
        Access {
            write: false,
            object: 0,
            offset,
            bytes,
        }
    }

    /// A write of `bytes` to `offset` of object 0.
    pub fn write(offset: u64, bytes: u64) -> Self {
        Access {
            write: true,
            ..Access::read(offset, bytes)
        }
    }
}
