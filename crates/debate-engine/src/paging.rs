//! How much of a log one answer holds, so that none is larger than a client takes or a server has room for.

use debate_core::envelope::Envelope;

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

/// Pages that a follower reads one after the other: each with at most so many events and 2 MiB of them, and behind one that
/// was cut for its length no more are asked for than stood on it, so that little is read twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pages {
    max: u32,
    next: u32,
    is_full: bool,
}

impl Pages {
    /// Begins with pages of at most `max` events.
    pub fn of(max: u32) -> Self {
        Self { max, next: max, is_full: false }
    }

    /// Returns how many events are to be read for the next page.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Returns whether more may be stored behind the last page.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Cuts what was read to a page.
    pub fn cut<T>(&mut self, read: &mut Vec<T>, envelope: impl Fn(&T) -> &Envelope) {
        let fits = fitting(read.iter().map(|entry| envelope(entry).text_bytes()));
        let is_cut = fits < read.len();
        self.is_full = is_cut || read.len() >= self.next as usize;
        read.truncate(fits);
        let next = if is_cut { u32::try_from(fits).unwrap_or(self.max) } else { self.next.saturating_mul(2) };
        self.next = next.clamp(1, self.max);
    }
}

#[cfg(test)]
mod tests {
    use debate_core::id::{DebateId, Digest, Seq, Timestamp};

    use super::*;

    #[test]
    fn a_page_ends_before_it_grows_over_2_mib_and_one_entry_always_fits() {
        let half = 1024 * 1024;
        for (entries, fits) in [
            (&[][..], 0),
            (&[1, 1, 1], 3),
            (&[half, half, 1], 2),
            (&[half, half + 1, 1], 1),
            (&[6 * half, 1], 1),
        ] {
            assert_eq!(fitting(entries.iter().copied()), fits, "{entries:?}");
        }
    }

    #[test]
    fn behind_long_events_no_more_are_read_than_a_page_has_and_behind_short_ones_as_many_as_may_be() {
        let (short, long) = (envelope(10), envelope(PAGE_BYTES_MAX / 3));
        let mut pages = Pages::of(64);
        for (read, fits, is_full, next) in [
            (vec![short.clone(); 64], 64, true, 64),
            (vec![long.clone(); 64], 3, true, 3),
            (vec![long.clone(); 3], 3, true, 6),
            (vec![long.clone(); 6], 3, true, 3),
            (vec![envelope(3 * PAGE_BYTES_MAX), short.clone()], 1, true, 1),
            (vec![short.clone()], 1, true, 2),
            (vec![short], 1, false, 4),
            (vec![], 0, false, 8),
        ] {
            let mut page = read;
            pages.cut(&mut page, |event| event);
            assert_eq!((page.len(), pages.is_full(), pages.next()), (fits, is_full, next));
        }
    }

    /// Returns an event with so many bytes of text.
    fn envelope(bytes: usize) -> Envelope {
        Envelope {
            stream: DebateId(uuid::Uuid::nil()).into(),
            seq: Seq(1),
            kind: "noted".to_owned(),
            version: 1,
            at: Timestamp(0),
            tenant: String::new(),
            actor: "test".to_owned(),
            trace: None,
            // The kind and the actor count too.
            body: "x".repeat(bytes - "notedtest".len()),
            prose: None,
            prose_digest: None,
            hash: Digest::default(),
        }
    }
}
