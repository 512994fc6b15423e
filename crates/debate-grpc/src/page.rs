//! How many events one answer holds, so that none is larger than clients take or a server has room for.

use debate_core::envelope::Envelope;

/// Bytes of texts on a page; clients of gRPC take messages of 4 MiB.
const PAGE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Ends a page before it grows over 2 MiB; one event stays on it, however long.
pub(crate) fn fit(page: &mut Vec<Envelope>) {
    let mut bytes = 0;
    let fits = page.iter().take_while(|envelope| {
        bytes += envelope.body.len() + envelope.prose.as_ref().map_or(0, |prose| prose.text.len());
        bytes <= PAGE_BYTES_MAX
    });
    let fits = fits.count().max(1);
    page.truncate(fits);
}

#[cfg(test)]
mod tests {
    use debate_core::envelope::StreamId;
    use debate_core::id::{DebateId, Digest, Seq, Timestamp};

    use super::*;

    fn event(bytes: usize) -> Envelope {
        let id: DebateId = "00000000-0000-4000-8000-000000000001".parse().unwrap();
        Envelope {
            stream: StreamId::from(id),
            seq: Seq(1),
            kind: "opened".to_owned(),
            version: 1,
            at: Timestamp(0),
            tenant: String::new(),
            actor: String::new(),
            trace: None,
            body: "x".repeat(bytes),
            prose: None,
            prose_digest: None,
            hash: Digest::of_text(""),
        }
    }

    #[test]
    fn a_page_ends_before_it_grows_too_large_and_one_event_always_fits() {
        let half = PAGE_BYTES_MAX / 2;
        for (sizes, fitting) in [
            (&[][..], 0),
            (&[1, 1, 1], 3),
            (&[half, half, 1], 2),
            (&[half, half + 1, 1], 1),
            (&[3 * PAGE_BYTES_MAX, 1], 1),
        ] {
            let mut page: Vec<Envelope> = sizes.iter().map(|bytes| event(*bytes)).collect();
            fit(&mut page);
            assert_eq!(page.len(), fitting, "{sizes:?}");
        }
    }
}
