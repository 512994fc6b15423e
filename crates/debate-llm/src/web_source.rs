//! Pages that a provider's own web search brought, as far as the provider tells of them.

/// Pages of one answer that are kept.
#[cfg(feature = "http")]
const SOURCES_MAX: usize = 50;
/// Characters of an address; a longer one would lead nowhere if it were cut, so its page is left out.
#[cfg(feature = "http")]
const URL_CHARS_MAX: usize = 2_000;
/// Characters of a title that are kept.
#[cfg(feature = "http")]
const TITLE_CHARS_MAX: usize = 500;
/// Characters of what is cited of one page that are kept.
#[cfg(feature = "http")]
const TEXT_CHARS_MAX: usize = 2_000;

/// A page that a provider's own web search found for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSource {
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: Option<String>,
    /// What is cited, as the provider tells it: words of the page (Anthropic), or words of the answer that rest on the page
    /// (Gemini) or are marked as its citation (OpenAI). None where the page was only found.
    pub cited_text: Option<String>,
}

/// The pages of an answer, each once, in the order in which the provider lists them.
#[cfg(feature = "http")]
#[derive(Debug, Default)]
pub(crate) struct WebSources(Vec<WebSource>);

#[cfg(feature = "http")]
impl WebSources {
    /// Takes a page, or further details of a page that is known.
    pub(crate) fn add(&mut self, url: &str, title: Option<&str>, cited_text: Option<&str>) {
        let url = url.trim();
        if url.is_empty() || url.chars().count() > URL_CHARS_MAX {
            return;
        }
        let kept = |text: Option<&str>, chars_max: usize| {
            let text = text.map(str::trim).filter(|text| !text.is_empty());
            text.map(|text| text.chars().take(chars_max).collect::<String>())
        };
        let (title, cited_text) = (kept(title, TITLE_CHARS_MAX), kept(cited_text, TEXT_CHARS_MAX));
        let Some(known) = self.0.iter_mut().find(|known| known.url == url) else {
            if self.0.len() < SOURCES_MAX {
                self.0.push(WebSource { url: url.to_owned(), title, cited_text });
            }
            return;
        };
        known.title = known.title.take().or(title);
        known.cited_text = match (known.cited_text.take(), cited_text) {
            (Some(before), Some(more)) if !before.lines().any(|line| line == more) => {
                Some(format!("{before}\n{more}").chars().take(TEXT_CHARS_MAX).collect())
            }
            (before, more) => before.or(more),
        };
    }

    /// Takes the pages of another part of the answer.
    pub(crate) fn extend(&mut self, others: Self) {
        for other in others.0 {
            self.add(&other.url, other.title.as_deref(), other.cited_text.as_deref());
        }
    }

    pub(crate) fn into_vec(self) -> Vec<WebSource> {
        self.0
    }
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::*;

    #[test]
    fn d9_web_sources_merge_the_citations_of_a_page() {
        let mut sources = WebSources::default();
        sources.add(" https://a.example/ ", None, None);
        sources.add("https://b.example/", Some(" B "), Some("One."));
        sources.add("https://a.example/", Some("A"), Some("Two."));
        sources.add("https://b.example/", Some("C"), Some("One."));
        sources.add("https://b.example/", None, Some("Three."));
        sources.add("", Some("Nowhere"), None);
        sources.add(&format!("https://{}", "x".repeat(URL_CHARS_MAX)), None, None);
        let merged: Vec<_> =
            sources.into_vec().into_iter().map(|source| (source.title, source.cited_text)).collect();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(merged, [(text("A"), text("Two.")), (text("B"), text("One.\nThree."))]);
    }

    #[test]
    fn d9_pages_and_what_they_say_are_bounded() {
        let mut sources = WebSources::default();
        for number in 0..100 {
            sources.add(
                &format!("https://{number}.example/"),
                Some(&"t".repeat(9_999)),
                Some(&"é".repeat(9_999)),
            );
        }
        let sources = sources.into_vec();
        assert_eq!(sources.len(), SOURCES_MAX);
        let chars = |text: &Option<String>| text.as_ref().unwrap().chars().count();
        assert!(
            sources.iter().all(|source| (chars(&source.title), chars(&source.cited_text))
                == (TITLE_CHARS_MAX, TEXT_CHARS_MAX))
        );
    }
}
