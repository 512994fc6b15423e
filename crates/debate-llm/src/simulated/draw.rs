//! Numbers drawn from a seed and a prompt; the same on every machine, whatever is drawn elsewhere.

use std::f64::consts::TAU;

use crate::ChatRequest;

/// A stream of drawn numbers (SplitMix64; Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub struct Draw {
    state: u64,
}

impl Draw {
    /// Starts a stream; equal seeds give equal streams.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.state)
    }

    /// Returns a number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Returns an index below `count`; 0 when `count` is 0.
    pub fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.next_u64()) * count as u128) >> 64) as usize
    }

    /// Returns true with probability `rate`.
    pub fn chance(&mut self, rate: f64) -> bool {
        self.unit() < rate
    }

    /// Returns one of `items`, or `None` when there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// Returns a number from the standard normal distribution (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(TAU * self.unit())
    }
}

/// What a seed and a request's messages come to; every draw about the request starts here.
#[derive(Debug, Clone, Copy)]
pub(super) struct PromptKey(u64);

impl PromptKey {
    /// Keys a request by its messages alone: neither order of arrival nor attempt nor limits change it, nor the day that it
    /// states, so that a debate can be repeated on another one.
    pub(super) fn of(seed: u64, request: &ChatRequest) -> Self {
        let mut state = mix(seed ^ 0x5851_F42D_4C95_7F2D);
        for message in &request.messages {
            state = fold(state, message.role.as_str().as_bytes());
            for part in around_the_day(&message.content) {
                state = fold(state, part.as_bytes());
            }
        }
        Self(state)
    }

    /// Starts the stream of one purpose.
    pub(super) fn draw(self, purpose: &str, attempt: u32) -> Draw {
        Draw::new(fold(mix(self.0 ^ u64::from(attempt)), purpose.as_bytes()))
    }
}

/// What stands before the day as of which a prompt is debated.
const TODAY: [&str; 2] = ["Today is ", "今天是 "];

/// Returns what stands before and behind the day that a message states, which is the last one; the whole where it states
/// none.
fn around_the_day(text: &str) -> impl Iterator<Item = &str> {
    let day = TODAY.iter().find_map(|words| {
        let at = text.rfind(words)? + words.len();
        Some((&text[..at], text.get(at + "2026-11-28".len()..)?))
    });
    let (before, behind) = day.map_or((text, None), |(before, behind)| (before, Some(behind)));
    std::iter::once(before).chain(behind)
}

/// Takes bytes and their number into a state, eight at a time.
fn fold(mut state: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state = mix(state.rotate_left(23) ^ u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(mix(state.rotate_left(23) ^ u64::from_le_bytes(last)) ^ bytes.len() as u64)
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_published_ones() {
        // First outputs of SplitMix64 for seed 1234567, as published with the reference code.
        let mut draw = Draw::new(1_234_567);
        assert_eq!(draw.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(draw.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn draws_are_spread_as_they_should_be() {
        let mut draw = Draw::new(7);
        let n = 100_000;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let normal: Vec<f64> = (0..n).map(|_| draw.normal()).collect();
        let squares: Vec<f64> = normal.iter().map(|x| x * x).collect();
        assert!(mean(&normal).abs() < 0.02 && (mean(&squares) - 1.0).abs() < 0.02);
        let mut counts = [0; 7];
        (0..n).for_each(|_| counts[draw.below(7)] += 1);
        assert!(counts.iter().all(|count| (13_700..14_900).contains(count)), "{counts:?}");
        assert_eq!((draw.below(0), draw.pick::<u8>(&[])), (0, None));
        assert!((0..n).filter(|_| draw.chance(0.1)).count().abs_diff(10_000) < 500);
    }

    #[test]
    fn the_day_that_a_message_states_is_left_out() {
        let parts = |text| around_the_day(text).collect::<Vec<_>>();
        assert_eq!(
            parts("Today is 1999-01-01? Today is 2026-11-28.\nGo."),
            ["Today is 1999-01-01? Today is ", ".\nGo."]
        );
        assert_eq!(parts("今天是 2026-11-28。"), ["今天是 ", "。"]);
        for text in ["", "No day.", "Today is 2026", "Today is 东京东京"] {
            assert_eq!(parts(text), [text], "{text}");
        }
    }

    #[test]
    fn folding_tells_lengths_and_places_apart() {
        let all = [&b""[..], b"\0", b"\0\0", b"abcdefgh", b"abcdefgh\0", b"hgfedcba", b"abcdefghabcdefg"];
        let mut folded: Vec<u64> = all.iter().map(|bytes| fold(1, bytes)).collect();
        folded.sort_unstable();
        folded.dedup();
        assert_eq!(folded.len(), all.len());
    }
}
