//! Checks on the pages of a column before they are decoded.
//!
//! No stated number of values makes the decoder reserve more than the budget. The stated number of rows of a page, in
//! an index or its header, is verified, because later reads skip pages by it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result as ParquetResult};

/// Pages with checked counts.
pub(crate) struct Checked<P> {
    pages: P,
    /// Values that may still be decoded in this call.
    budget: Arc<AtomicU64>,
    /// Rows are lists.
    lists: bool,
}

impl<P: PageReader> Checked<P> {
    pub(crate) fn new(pages: P, budget: Arc<AtomicU64>, lists: bool) -> Checked<P> {
        Checked { pages, budget, lists }
    }

    fn check(&self, page: Page, stated: Option<usize>) -> ParquetResult<Page> {
        let values = u64::from(page.num_values());
        let most = match &page {
            // Dictionary values take at least 4 bytes: a number, or a length.
            Page::DictionaryPage { buf, .. } => buf.len() as u64 / 4,
            _ => {
                let left = self.budget.load(Ordering::Relaxed);
                self.budget.store(left.saturating_sub(values), Ordering::Relaxed);
                left
            }
        };
        if values > most {
            let text = format!("a page of {values} values; at most {most} are possible");
            return Err(ParquetError::General(text));
        }
        if let Some(stated) = stated.filter(|_| page.is_data_page()) {
            let rows = if self.lists { rows_of_lists(&page) } else { Some(values) };
            if rows != Some(stated as u64) {
                let rows = rows.map_or("levels that cannot be read".into(), |rows| format!("{rows} rows"));
                let text = format!("a page with {rows}; its header states {stated}");
                return Err(ParquetError::General(text));
            }
        }
        Ok(page)
    }
}

/// Number of lists in a page: repetition levels of 0, the first of which starts the page.
fn rows_of_lists(page: &Page) -> Option<u64> {
    let (levels, count) = match page {
        Page::DataPage {
            buf,
            num_values,
            rep_level_encoding: Encoding::RLE,
            ..
        } => {
            let length = u32::from_le_bytes(buf.get(..4)?.try_into().ok()?);
            (buf.get(4..)?.get(..length as usize)?, *num_values)
        }
        Page::DataPageV2 {
            buf,
            num_values,
            rep_levels_byte_len,
            ..
        } => (buf.get(..*rep_levels_byte_len as usize)?, *num_values),
        _ => return None,
    };
    zeros(levels, count.into())
}

/// Zeros among the first `count` one-bit levels in runs and packed bits (Parquet's RLE hybrid); the first level must be
/// zero.
fn zeros(mut levels: &[u8], count: u64) -> Option<u64> {
    let (mut seen, mut zeros) = (0, 0);
    while seen < count {
        let mut header = 0u64;
        for shift in (0..35).step_by(7) {
            let (&byte, rest) = levels.split_first()?;
            levels = rest;
            header |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                break;
            }
            if shift == 28 {
                return None;
            }
        }
        let left = count - seen;
        if header & 1 == 0 {
            // A run of one value.
            let (&value, rest) = levels.split_first()?;
            levels = rest;
            let run = (header >> 1).min(left);
            if run == 0 || seen == 0 && value != 0 {
                return None;
            }
            zeros += if value == 0 { run } else { 0 };
            seen += run;
        } else {
            // Bytes of eight values each, lowest bit first. The last byte may be missing if it is not needed.
            let bytes = (header >> 1).min(left.div_ceil(8)) as usize;
            let (packed, rest) = levels.split_at_checked(bytes)?;
            levels = rest;
            if bytes == 0 || seen == 0 && packed[0] & 1 != 0 {
                return None;
            }
            for &byte in packed {
                let part = (count - seen).min(8) as u32;
                let ones = (byte & (0xFFu32 >> (8 - part)) as u8).count_ones();
                zeros += u64::from(part - ones);
                seen += u64::from(part);
            }
        }
    }
    Some(zeros)
}

impl<P: PageReader> Iterator for Checked<P> {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl<P: PageReader> PageReader for Checked<P> {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        let stated = self.pages.peek_next_page()?.and_then(|page| page.num_rows);
        let page = self.pages.get_next_page()?;
        page.map(|page| self.check(page, stated)).transpose()
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.pages.skip_next_page()
    }
}

#[cfg(test)]
mod tests {
    use super::zeros;

    #[test]
    fn lists_begin_where_a_level_is_zero() {
        // 5 times 0; then the bits 0 1 1 0 1 0 0 0 (0x16), of which only the first ones count.
        let levels = [10, 0, 3, 0x16];
        assert_eq!(zeros(&levels, 5), Some(5));
        assert_eq!(zeros(&levels, 8), Some(6));
        assert_eq!(zeros(&levels, 13), Some(10));
        assert_eq!(zeros(&levels, 14), None, "there are 13");
        // A page that begins within a list.
        assert_eq!(zeros(&[10, 1], 5), None);
        assert_eq!(zeros(&[3, 0x17], 5), None);
        // Empty runs would never end.
        assert_eq!(zeros(&[0, 0, 0, 0], 5), None);
        assert_eq!(zeros(&[1, 1, 1], 5), None);
        assert_eq!(zeros(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], 5), None);
        assert_eq!(zeros(&[], 0), Some(0));
    }
}
