//! Counts in sentences for people.

use std::fmt::Display;

/// Returns a count with its noun, such as `1 rule` or `2 rules`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, one: &str, more: &str) -> String {
    let noun = if count == N::from(1) { one } else { more };
    format!("{count} {noun}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_written_in_the_singular() {
        assert_eq!(counted(1_u32, "hypothesis", "hypotheses"), "1 hypothesis");
        assert_eq!([0_usize, 2].map(|count| counted(count, "rule", "rules")), ["0 rules", "2 rules"]);
    }
}
