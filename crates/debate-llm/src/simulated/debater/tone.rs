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

/// Returns how many more words of a text are hopeful than gloomy; below 0 when more are gloomy.
pub(super) fn of(text: &str) -> i32 {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.map(of_word).sum()
}

fn of_word(word: &str) -> i32 {
    if word.len() < 2 || word.len() > WORD_BYTES_MAX {
        return 0;
    }
    let mut lower = [0; WORD_BYTES_MAX];
    let lower = &mut lower[..word.len()];
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    let is_in = |list: &[&str]| list.binary_search_by(|known| known.as_bytes().cmp(lower)).is_ok();
    i32::from(is_in(&HOPEFUL)) - i32::from(is_in(&GLOOMY))
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
