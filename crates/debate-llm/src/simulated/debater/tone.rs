//! Whether words are hopeful or gloomy: a word list, no understanding.

/// Words of growth and success, sorted.
#[rustfmt::skip]
const HOPEFUL: [&str; 81] = [
    "above", "accelerate", "accelerated", "accepted", "achieve", "achieved", "achieves", "agree",
    "agreed", "agreement", "ahead", "approval", "approve", "approved", "beat", "beats", "best", "better",
    "boom", "ceasefire", "complete", "completed", "confident", "confirmed", "deal", "exceed", "exceeds",
    "expand", "expansion", "favorite", "favourite", "gain", "gains", "good", "great", "greater", "grew",
    "grow", "growing", "growth", "high", "higher", "improve", "improved", "improvement", "improves",
    "improving", "increase", "increased", "increases", "increasing", "lead", "leading", "leads", "more",
    "optimism", "optimistic", "pass", "passed", "passes", "peace", "positive", "progress", "ready",
    "recover", "recovery", "resilient", "rise", "rises", "rising", "rose", "stable", "strong", "stronger",
    "succeed", "success", "successful", "support", "win", "wins", "yes",
];

/// Words of risk and failure, sorted.
#[rustfmt::skip]
const GLOOMY: [&str; 95] = [
    "against", "attack", "bad", "ban", "below", "blocked", "cancel", "cancelled", "collapse", "conflict",
    "crisis", "cut", "cuts", "damage", "decline", "declined", "declines", "declining", "decrease",
    "decreased", "default", "defeat", "delay", "delayed", "delays", "deny", "died", "difficult", "doubt",
    "doubts", "down", "drop", "dropped", "fail", "failed", "fails", "failure", "fall", "fallen",
    "falling", "falls", "fear", "fears", "fell", "fewer", "gap", "halt", "inflation", "lack", "lacks",
    "late", "less", "lose", "loses", "loss", "losses", "lost", "low", "lower", "miss", "missed",
    "negative", "neither", "never", "no", "none", "not", "opposed", "opposition", "pessimism",
    "postponed", "problem", "problems", "recession", "reject", "rejected", "resign", "risk", "risks",
    "sanctions", "shortage", "slow", "slowed", "slowing", "stall", "stalled", "tariffs", "tension",
    "threat", "uncertain", "under", "unlikely", "war", "weak", "worse",
];

/// The longest word of the lists, in bytes.
const WORD_BYTES_MAX: usize = 12;

const HOPEFUL_KEYS: [u128; HOPEFUL.len()] = keys(HOPEFUL);
const GLOOMY_KEYS: [u128; GLOOMY.len()] = keys(GLOOMY);

/// Returns how many more words of a text are hopeful than gloomy; below 0 when more are gloomy.
pub(super) fn of(text: &str) -> i32 {
    let (mut tone, mut key, mut length) = (0, 0, 0);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            length += 1;
            key = (key << 8) | u128::from(byte.to_ascii_lowercase());
        } else {
            tone += of_word(key, length);
            (key, length) = (0, 0);
        }
    }
    tone + of_word(key, length)
}

fn of_word(key: u128, length: usize) -> i32 {
    if !(2..=WORD_BYTES_MAX).contains(&length) {
        return 0;
    }
    let key = key << (8 * (WORD_BYTES_MAX - length));
    i32::from(HOPEFUL_KEYS.binary_search(&key).is_ok()) - i32::from(GLOOMY_KEYS.binary_search(&key).is_ok())
}

/// Returns words as numbers in the same order.
const fn keys<const N: usize>(words: [&str; N]) -> [u128; N] {
    let mut keys = [0; N];
    let mut place = 0;
    while place < N {
        let word = words[place].as_bytes();
        let mut at = 0;
        while at < WORD_BYTES_MAX {
            let byte = if at < word.len() { word[at] } else { 0 };
            keys[place] = (keys[place] << 8) | byte as u128;
            at += 1;
        }
        place += 1;
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_lists_are_sorted_and_apart() {
        assert!(HOPEFUL.is_sorted() && GLOOMY.is_sorted());
        assert!(HOPEFUL.iter().all(|word| !GLOOMY.contains(word)));
        assert!(HOPEFUL.iter().chain(&GLOOMY).all(|word| word.len() <= WORD_BYTES_MAX));
    }

    #[test]
    fn hopeful_words_count_up_and_gloomy_ones_down() {
        for (text, tone) in [
            ("Yes", 1),
            ("No", -1),
            ("", 0),
            ("Growth was STRONG, risks are low.", 0),
            ("The rate will rise", 1),
            ("delayed again; a failure", -2),
            ("снижение", 0),
        ] {
            assert_eq!(of(text), tone, "{text}");
        }
    }
}
