//! The digest that tells whether two runs have the same results.

use postcard::ser_flavors::Flavor;

/// An order-sensitive 128-bit digest (two lanes of FNV-1a style mixing with a final avalanche).
///
/// Not cryptographic: it guards against accidents, not against attackers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64, u64);

impl Digest {
    /// The digest of no input.
    pub const fn new() -> Self {
        Digest(0xcbf2_9ce4_8422_2325, 0x9e37_79b9_7f4a_7c15)
    }

    /// Adds one word.
    #[inline]
    pub fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
        self.1 = (self.1 ^ word.rotate_left(32))
            .wrapping_mul(0xff51_afd7_ed55_8ccd)
            .rotate_left(31);
    }

    /// Adds a text, with its length.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Adds bytes, with their number.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }

    /// Adds plain data as the bytes in which they are [saved](crate::saved).
    pub fn data<T: serde::Serialize + ?Sized>(&mut self, data: &T) {
        let words = Words {
            digest: self,
            word: 0,
            bytes: 0,
        };
        postcard::serialize_with_flavor(data, words).expect("plain data can be written");
    }

    /// The value so far.
    pub fn value(&self) -> u128 {
        let avalanche = |mut x: u64| {
            x ^= x >> 33;
            x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
            x ^ (x >> 33)
        };
        (u128::from(avalanche(self.0)) << 64) | u128::from(avalanche(self.1 ^ self.0.rotate_left(17)))
    }

    /// The value as 32 hexadecimal digits.
    pub fn hex(&self) -> String {
        format!("{:032x}", self.value())
    }
}

/// Streams bytes into a digest without collecting them: tests compute the digest of a state after every event.
struct Words<'a> {
    digest: &'a mut Digest,
    /// Bytes of an incomplete word, the first lowest.
    word: u64,
    bytes: u64,
}

impl Flavor for Words<'_> {
    type Output = ();

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.word |= u64::from(byte) << (8 * (self.bytes % 8));
        self.bytes += 1;
        if self.bytes.is_multiple_of(8) {
            self.digest.word(std::mem::take(&mut self.word));
        }
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        self.digest.word(self.word);
        self.digest.word(self.bytes);
        Ok(())
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}
