//! In which language prompts ask for answers (rule K19).

/// Names the language of answers: the one that the request sets, or `own`, such as `the language of the topic`.
pub(crate) fn named(language: Option<&str>, own: &str) -> String {
    language.map_or_else(|| own.to_owned(), |tag| format!("the language {tag} (BCP 47)"))
}
