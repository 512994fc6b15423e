//! Fits prioritised sections into a token budget and says what was left out (P15).

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{count, lengths};

/// Marks where a text was cut.
const ELLIPSIS: &str = "…";

/// Times a prompt is rendered again at most for each floor of its sections.
const RENDERS_MAX: usize = 12;

/// A text that may be shortened to fit a budget.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// What the section is called in [`Omission`].
    pub name: &'a str,
    /// The whole text, not yet escaped.
    pub text: &'a str,
    /// The lowest priority is cut first; equal priorities are cut to equal lengths.
    pub priority: u8,
    /// Tokens below which it is not cut while others can be; at 0 it may be left out altogether.
    pub tokens_min: u32,
    /// Tokens below which it is never cut, at most `tokens_min`.
    pub tokens_least: u32,
}

/// What was left out of a section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Omission {
    /// Name of the section.
    pub section: String,
    /// Tokens of it that stayed.
    pub kept_tokens: u32,
    /// Tokens of it that did not.
    pub dropped_tokens: u32,
}

/// A prompt within its budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitted {
    /// The rendered prompt.
    pub text: String,
    /// Its tokens.
    pub tokens: u32,
    /// What was left out, in section order; empty when everything fitted.
    pub omissions: Vec<Omission>,
}

/// A prompt does not fit even when every section is cut to its least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("needs at least {tokens_needed} tokens, allowed are {tokens_max}")]
pub struct FitError {
    /// Tokens of the prompt with every section at its least.
    pub tokens_needed: u32,
    /// The budget.
    pub tokens_max: u32,
}

/// Renders a prompt of at most `tokens_max` tokens, cutting sections as little as needed (P15): first to their
/// `tokens_min`, then to their `tokens_least`, each time the lowest priority first.
///
/// `render` gets one text per section, in order, and returns the whole prompt; it may escape and
/// frame them, the budget holds for what it returns. It is called once when everything fits.
///
/// # Errors
///
/// [`FitError`] when the prompt is too long with every section at its least.
pub fn fit(
    sections: &[Section<'_>],
    tokens_max: u32,
    render: impl Fn(&[Cow<'_, str>]) -> String,
) -> Result<Fitted, FitError> {
    let full: Vec<u32> = sections.iter().map(|section| count(section.text)).collect();
    let mut texts: Vec<Cow<'_, str>> = sections.iter().map(|section| Cow::Borrowed(section.text)).collect();
    let mut text = render(&texts);
    let mut tokens = count(&text);
    if tokens > tokens_max {
        let frame = count(&render(&vec![Cow::Borrowed(""); sections.len()]));
        let plain: u32 = full.iter().sum();
        let rendered = tokens.saturating_sub(frame);
        let mut allotted = full.clone();
        let floors: [fn(&Section<'_>) -> u32; 2] =
            [|section| section.tokens_min, |section| section.tokens_least];
        let can_be_less = sections.iter().any(|section| section.tokens_least < section.tokens_min);
        let floors = floors.into_iter().take(if can_be_less { 2 } else { 1 });
        for floor in floors.flat_map(|floor| [floor; RENDERS_MAX]) {
            if tokens <= tokens_max {
                break;
            }
            let over = deflated(tokens - tokens_max, plain, rendered);
            if !shrink(sections, floor, &mut allotted, over) {
                continue;
            }
            for (index, section) in sections.iter().enumerate() {
                if allotted[index] < full[index] {
                    texts[index] = cut(section.text, allotted[index]);
                }
            }
            text = render(&texts);
            tokens = count(&text);
        }
    }
    if tokens > tokens_max {
        return Err(FitError { tokens_needed: tokens, tokens_max });
    }
    Ok(Fitted { text, tokens, omissions: omissions(sections, &full, &texts) })
}

/// Returns how many plain tokens to take so that `over` rendered ones go, at least 1.
///
/// Escaping makes texts longer: `plain` tokens of sections became `rendered` ones.
fn deflated(over: u32, plain: u32, rendered: u32) -> u32 {
    let share = u64::from(over) * u64::from(plain.min(rendered));
    let taken = share.div_ceil(u64::from(rendered.max(1)));
    u32::try_from(taken).unwrap_or(over).max(1)
}

/// Returns at most `tokens_max` tokens of `text`, cut after a sentence or else a word, with `…`.
///
/// The whole text when it fits; nothing when not even one word would.
pub fn cut(text: &str, tokens_max: u32) -> Cow<'_, str> {
    let ends = lengths(text, tokens_max);
    if ends.iter().map(|(_, tokens)| tokens).sum::<u32>() <= tokens_max {
        return Cow::Borrowed(text);
    }
    let mut used = 0;
    let mut fitting = 0;
    for (_, tokens) in &ends {
        used += tokens;
        // One token is for the ellipsis.
        if used >= tokens_max {
            break;
        }
        fitting += 1;
    }
    while fitting > 0 {
        let end = boundary(text, ends[fitting - 1].0);
        if end == 0 {
            break;
        }
        // Words that end well before the cut stay what they are; only the last ones are read again.
        let settled = &ends[..ends.partition_point(|(word_end, _)| *word_end <= end).saturating_sub(2)];
        let start = settled.last().map_or(0, |(word_end, _)| *word_end);
        let tokens: u32 = settled.iter().map(|(_, tokens)| tokens).sum();
        if tokens + count(&[&text[start..end], ELLIPSIS].concat()) <= tokens_max {
            return Cow::Owned([&text[..end], ELLIPSIS].concat());
        }
        fitting -= 1;
    }
    Cow::Borrowed("")
}

/// Takes `over` tokens off the allotments, lowest priority first. Returns whether anything was left
/// to take.
fn shrink(
    sections: &[Section<'_>],
    tokens_min: fn(&Section<'_>) -> u32,
    allotted: &mut [u32],
    over: u32,
) -> bool {
    let mut priorities: Vec<u8> = sections.iter().map(|section| section.priority).collect();
    priorities.sort_unstable();
    priorities.dedup();
    let mut left = over;
    for priority in priorities {
        let level: Vec<usize> = (0..sections.len()).filter(|&i| sections[i].priority == priority).collect();
        while left > 0 {
            // The longest gives way first, down to the next longest, so that equals end up equal.
            let Some(&longest) = level
                .iter()
                .filter(|&&i| allotted[i] > tokens_min(&sections[i]))
                .max_by_key(|&&i| (allotted[i], std::cmp::Reverse(i)))
            else {
                break;
            };
            let next = level
                .iter()
                .filter(|&&i| i != longest)
                .map(|&i| allotted[i])
                .filter(|&tokens| tokens < allotted[longest])
                .max()
                .unwrap_or(0);
            let floor = next.max(tokens_min(&sections[longest]));
            let share = left.div_ceil(u32::try_from(level.len()).unwrap_or(u32::MAX));
            let step = (allotted[longest] - floor).clamp(1, share);
            allotted[longest] -= step;
            left -= step;
        }
    }
    left < over
}

fn omissions(sections: &[Section<'_>], full: &[u32], texts: &[Cow<'_, str>]) -> Vec<Omission> {
    let mut omissions = Vec::new();
    for (index, section) in sections.iter().enumerate() {
        if texts[index] != section.text {
            let kept_tokens = count(&texts[index]);
            omissions.push(Omission {
                section: section.name.to_owned(),
                kept_tokens,
                dropped_tokens: full[index].saturating_sub(kept_tokens),
            });
        }
    }
    omissions
}

/// Returns the end of the last whole sentence before `end`, when that keeps at least half; else of
/// the last whole word, when that does; else `end`.
fn boundary(text: &str, end: usize) -> usize {
    let prefix = &text[..end];
    let mut sentence = 0;
    for (at, c) in prefix.char_indices() {
        let after = at + c.len_utf8();
        let is_end = match c {
            '.' | '!' | '?' => text[after..].starts_with(char::is_whitespace),
            '。' | '！' | '？' => true,
            '\n' => !prefix[..at].trim_end().is_empty(),
            _ => false,
        };
        if is_end {
            sentence = after;
        }
    }
    if sentence * 2 >= end {
        return prefix[..sentence].trim_end().len();
    }
    if text[end..].starts_with(char::is_whitespace) {
        return prefix.trim_end().len();
    }
    match prefix.trim_end().rfind(char::is_whitespace) {
        Some(blank) if blank * 2 >= end => prefix[..blank].trim_end().len(),
        Some(_) | None => prefix.trim_end().len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn join(texts: &[Cow<'_, str>]) -> String {
        format!("Brief: {}\nOthers: {}\nEnd.", texts[0], texts[1..].join(" | "))
    }

    fn section<'a>(name: &'a str, text: &'a str, priority: u8, tokens_min: u32) -> Section<'a> {
        Section { name, text, priority, tokens_min, tokens_least: tokens_min }
    }

    #[test]
    fn p15_what_fits_is_not_touched() {
        let fitted =
            fit(&[section("brief", "One. Two.", 2, 0), section("a", "Three.", 1, 0)], 100, join).unwrap();
        assert_eq!(fitted.text, "Brief: One. Two.\nOthers: Three.\nEnd.");
        assert_eq!(fitted.tokens, count(&fitted.text));
        assert!(fitted.omissions.is_empty());
    }

    #[test]
    fn p15_the_lowest_priority_is_cut_first_and_what_is_left_out_is_said() {
        let brief = "The vote is on Tuesday. Polls show a narrow lead. ".repeat(3);
        let other = "Turnout was low. Weather is bad. ".repeat(10);
        let whole = count(&join(&[Cow::Borrowed(&brief), Cow::Borrowed(&other)]));
        let sections = [section("brief", &brief, 2, 0), section("other", &other, 1, 10)];
        let fitted = fit(&sections, whole - 40, join).unwrap();
        assert!(fitted.tokens <= whole - 40);
        assert!(fitted.text.contains(&brief));
        let [omission] = &fitted.omissions[..] else { panic!("{:?}", fitted.omissions) };
        assert_eq!(omission.section, "other");
        assert_eq!(omission.kept_tokens + omission.dropped_tokens, count(&other));
        assert!(omission.dropped_tokens >= 40);
    }

    #[test]
    fn p15_a_cut_does_not_give_up_most_of_its_tokens_for_the_sake_of_a_whole_word() {
        let link = format!("See https://example.org/{}", "a-b_c/".repeat(40));
        let cut = cut(&link, 20);
        assert!(cut.starts_with("See https://example.org/a-b_c") && cut.ends_with('…'), "{cut}");
        assert!((18..=20).contains(&count(&cut)), "{cut}");
    }

    #[test]
    fn p15_equal_priorities_are_cut_to_equal_lengths() {
        let long = "word ".repeat(90);
        let short = "word ".repeat(30);
        let sections = [section("brief", "", 9, 0), section("a", &long, 1, 0), section("b", &short, 1, 0)];
        let fitted = fit(&sections, 50, join).unwrap();
        let kept: Vec<u32> = fitted.omissions.iter().map(|o| o.kept_tokens).collect();
        assert_eq!(kept.len(), 2, "{:?}", fitted.omissions);
        assert!(kept[0].abs_diff(kept[1]) <= 2, "{kept:?}");
        let fitted = fit(&sections, 100, join).unwrap();
        let names: Vec<&str> = fitted.omissions.iter().map(|o| o.section.as_str()).collect();
        assert_eq!(names, ["a"], "the shorter one fits its share");
    }

    #[test]
    fn p15_a_prompt_that_cannot_fit_is_refused_with_the_count() {
        let text = "many words of text ".repeat(20);
        let sections = [section("brief", &text, 2, 50), section("a", "x", 1, 1)];
        let error = fit(&sections, 30, join).unwrap_err();
        assert_eq!(error.tokens_max, 30);
        assert!(error.tokens_needed > 30 && error.tokens_needed < 70, "{error}");
    }

    #[test]
    fn p15_sections_go_below_their_minimum_only_where_all_are_at_it() {
        let text = "many words of text ".repeat(20);
        let sections = [section("a", &text, 1, 20), section("b", &text, 2, 20)];
        let sections = sections.map(|section| Section { tokens_least: 0, ..section });
        let kept = |tokens_max| {
            let fitted = fit(&sections, tokens_max, join).unwrap();
            assert!(fitted.tokens <= tokens_max);
            fitted.omissions.iter().map(|omission| omission.kept_tokens).collect::<Vec<_>>()
        };
        let (both, one) = (kept(50), kept(30));
        assert!(both.iter().all(|tokens| (15..30).contains(tokens)), "{both:?}");
        assert!(one[0] < 10 && one[1] > 10, "{one:?}");
    }

    #[test]
    fn p15_the_budget_holds_for_escaped_text() {
        let text = "a < b & c > d. ".repeat(40);
        let render = |texts: &[Cow<'_, str>]| format!("<brief>{}</brief>", crate::escape::xml(&texts[0]));
        let fitted = fit(&[section("brief", &text, 1, 0)], 120, render).unwrap();
        assert!(fitted.tokens <= 120 && fitted.tokens > 60, "{}", fitted.tokens);
        assert_eq!(count(&fitted.text), fitted.tokens);
    }

    #[test]
    fn a_cut_ends_after_a_sentence_or_else_a_word() {
        let text = "First point stands. Second point is much longer than the first one was";
        assert_eq!(cut(text, 7), "First point stands.…");
        assert_eq!(cut(text, 100), text);
        let words = "one two three four five six seven eight nine ten";
        assert_eq!(cut(words, 5), "one two three four…");
        assert_eq!(cut(words, 1), "");
        assert_eq!(cut(words, 0), "");
    }

    proptest! {
        #[test]
        fn p15_a_cut_never_exceeds_its_tokens(text in "([a-zé中]{1,9}|[.!?] |\\n|[0-9]{4}|  ){0,60}", max in 0_u32..60) {
            let short = cut(&text, max);
            prop_assert!(count(&short) <= max);
            if let Some(kept) = short.strip_suffix(ELLIPSIS) {
                prop_assert!(text.starts_with(kept));
            }
        }

        #[test]
        fn p15_a_fitted_prompt_is_within_its_budget_and_complete(
            brief in "([a-z]{1,9} |[a-z]{2}\\. ){0,80}",
            others in proptest::collection::vec("([a-z]{1,9} |<&>|\\. ){0,60}", 1..5),
            max in 20_u32..400,
        ) {
            let mut sections = vec![section("brief", &brief, 2, 0)];
            sections.extend(others.iter().map(|other| section("other", other, 1, 0)));
            let fitted = fit(&sections, max, join).unwrap();
            prop_assert!(fitted.tokens <= max);
            prop_assert!(fitted.text.starts_with("Brief: ") && fitted.text.ends_with("\nEnd."));
            let whole = sections.iter().map(|s| Cow::Borrowed(s.text)).collect::<Vec<_>>();
            if count(&join(&whole)) <= max {
                prop_assert!(fitted.omissions.is_empty());
                prop_assert_eq!(fitted.text, join(&whole));
            }
        }
    }
}
