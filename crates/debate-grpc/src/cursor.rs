//! Places in lists and streams as clients keep them: good for what they were made for, and for nothing else.
//!
//! A place ends with a digest without a key: it detects mistakes, and does not keep a client from making up a place.
//! No place shows a client another tenant's debates, because every query is for one tenant.

use debate_core::id::Digest;
use debate_store::Position;

/// Returns a text that stands for a position in what the parts describe.
pub(crate) fn sealed(about: &[&[u8]], position: Position) -> String {
    format!("{:016x}{:016x}", position.0, seal(about, position))
}

/// Returns the text for a position in the events of all debates of a tenant.
pub(crate) fn of_feed(tenant: &str, position: Position) -> String {
    sealed(&[b"feed", tenant.as_bytes()], position)
}

/// Reads a position back; `None` where the text was not made for this.
pub(crate) fn opened(about: &[&[u8]], text: &str) -> Option<Position> {
    let (position, given) = text.split_at_checked(16)?;
    let position = Position(u64::from_str_radix(position, 16).ok()?);
    let given = u64::from_str_radix(given, 16).ok()?;
    (given == seal(about, position)).then_some(position)
}

fn seal(about: &[&[u8]], position: Position) -> u64 {
    let place = position.0.to_le_bytes();
    Digest::of_parts(about.iter().copied().chain([&place[..]])).as_seed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_fits_what_it_was_made_for_alone() {
        let about: &[&[u8]] = &[b"page", b"tenant", b"prediction"];
        let text = sealed(about, Position(77));
        assert_eq!(opened(about, &text), Some(Position(77)));
        assert_eq!(opened(&[b"page", b"other", b"prediction"], &text), None);
        for bad in ["", "4d", "x", &text[1..], &format!("{text}0"), &"é".repeat(16)] {
            assert_eq!(opened(about, bad), None, "{bad}");
        }
    }
}
