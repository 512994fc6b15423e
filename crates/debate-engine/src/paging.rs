//! How much of a log one answer holds, so that none is larger than a client takes or a server has room for.

/// Bytes of texts on a page; clients of gRPC take messages of 4 MiB.
const PAGE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Returns how many entries, given by the bytes of their texts, stand on a page before it grows over 2 MiB; one stands on
/// it, however long.
pub fn fitting(entries: impl IntoIterator<Item = usize>) -> usize {
    let mut bytes = 0_usize;
    let fits = entries.into_iter().enumerate().take_while(|(place, entry)| {
        bytes = bytes.saturating_add(*entry);
        *place == 0 || bytes <= PAGE_BYTES_MAX
    });
    fits.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_before_it_grows_over_2_mib_and_one_entry_always_fits() {
        let half = PAGE_BYTES_MAX / 2;
        for (entries, fits) in [
            (&[][..], 0),
            (&[1, 1, 1], 3),
            (&[half, half, 1], 2),
            (&[half, half + 1, 1], 1),
            (&[3 * PAGE_BYTES_MAX, 1], 1),
        ] {
            assert_eq!(fitting(entries.iter().copied()), fits, "{entries:?}");
        }
    }
}
