//! Interim responses (1xx), of which a server may send as many as it likes before it answers: here they are
//! counted.

use std::io;

/// The most interim responses to one request; providers send one or two.
const INTERIM_MAX: u32 = 32;

/// What every response begins with, up to the byte that tells an interim one apart: a `1` there, and `?` is
/// any digit.
const INTERIM_START: &[u8] = b"HTTP/1.? 1";

/// A server sent interim responses and no answer.
#[derive(Debug, thiserror::Error)]
#[error("the server sent more than {INTERIM_MAX} interim responses and no answer")]
pub(super) struct TooManyInterim;

/// Counts the interim responses since the last bytes were sent, from the bytes that come.
#[derive(Debug, Default)]
pub(super) struct InterimCount {
    place: Place,
    seen: u32,
}

/// Where the bytes are.
#[derive(Debug)]
enum Place {
    /// So far into the beginning of a response.
    Start(usize),
    /// In the head of an interim response; whether the line so far is empty.
    Head { is_empty_line: bool },
    /// Behind all interim responses, or in something that is no HTTP/1.
    Behind,
}

impl Default for Place {
    fn default() -> Self {
        Self::Start(0)
    }
}

impl InterimCount {
    /// Begins anew, as a request is sent.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }

    /// Returns whether no interim response can come any more.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.place, Place::Behind)
    }

    /// Reads on.
    ///
    /// # Errors
    /// [`TooManyInterim`].
    pub(super) fn read(&mut self, bytes: &[u8]) -> io::Result<()> {
        for byte in bytes {
            self.place = match self.place {
                Place::Behind => return Ok(()),
                Place::Start(0) if matches!(byte, b'\r' | b'\n') => Place::Start(0),
                Place::Start(at) if *byte != INTERIM_START[at] && INTERIM_START[at] != b'?' => Place::Behind,
                Place::Start(at) if at + 1 < INTERIM_START.len() => Place::Start(at + 1),
                Place::Start(_) => Place::Head { is_empty_line: false },
                Place::Head { is_empty_line: true } if *byte == b'\n' => {
                    self.seen += 1;
                    if self.seen > INTERIM_MAX {
                        return Err(io::Error::other(TooManyInterim));
                    }
                    Place::Start(0)
                }
                Place::Head { is_empty_line } => {
                    Place::Head { is_empty_line: *byte == b'\n' || is_empty_line && *byte == b'\r' }
                }
            };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interim_responses_are_counted_wherever_they_are_split() {
        let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n";
        let answer = "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 100 x\r\n\r\n".repeat(99);
        for (text, want) in [
            (format!("{}{answer}", interim.repeat(16)), Ok(true)),
            (interim.repeat(17), Err(())),
            (interim.replace("\r\n", "\n").repeat(17), Err(())),
            ("HTTP/1.1 100 Continue\r\n".to_owned(), Ok(false)),
            ("\u{16}\u{3}\u{3}".repeat(99), Ok(true)),
        ] {
            for size in [1, 5, 100_000] {
                let mut count = InterimCount::default();
                let read = text.as_bytes().chunks(size).try_for_each(|piece| count.read(piece));
                assert_eq!(read.map(|()| count.is_over()).map_err(drop), want, "{text:?} by {size}");
            }
        }
    }
}
