//! Real replies with what is to be taken of each, from outside of the project.

use debate_prompts::prompts::Received;
use serde_json::{Map, Value};

/// A value is quoted up to so many characters.
const QUOTED_CHARS: usize = 120;

/// What is to be taken of a reply.
#[derive(Debug)]
pub(crate) enum Take {
    /// These fields; values as JSON, those that are longer than is quoted only up to there.
    Fields(Map<String, Value>),
    /// The text as it is.
    Text,
    /// Nothing.
    Nothing,
}

/// A reply of a real model.
#[derive(Debug)]
pub(crate) struct RealReply {
    pub(crate) file: String,
    /// The question that it answers, such as `argue/2/judge`, where that is known.
    pub(crate) call: Option<String>,
    pub(crate) take: Take,
    pub(crate) is_cut: bool,
    pub(crate) text: String,
}

impl RealReply {
    pub(crate) fn received(&self) -> Received<'_> {
        if self.is_cut { Received::cut(&self.text) } else { Received::whole(&self.text) }
    }

    fn parse(file: String, content: &str) -> Self {
        let (header, text) = content.split_once("\n---\n").expect("a header");
        let take = header.lines().find_map(|line| line.strip_prefix("# TAKE: ")).expect("a TAKE line");
        let take = match take {
            nothing if nothing.starts_with("nothing") => Take::Nothing,
            text if text.starts_with("the text") => Take::Text,
            fields => {
                let start = fields.find("{\"").expect("the fields");
                Take::Fields(serde_json::from_str(&fields[start..]).expect("fields as JSON"))
            }
        };
        let call =
            header.split_once(", call ").and_then(|(_, rest)| Some(rest.split_once(',')?.0.to_owned()));
        let is_cut = header.contains("failure truncated") || header.contains("cut by the client");
        let text = text.strip_suffix('\n').unwrap_or(text).to_owned();
        Self { file, call, take, is_cut, text }
    }
}

/// Reads the replies, or says that they are not here.
pub(crate) fn real_replies() -> Vec<RealReply> {
    let folder = format!("{}/../../../shared/data/real_replies", env!("CARGO_MANIFEST_DIR"));
    let Ok(files) = std::fs::read_dir(folder) else {
        eprintln!("skipped: ../shared/data/real_replies is not here");
        return Vec::new();
    };
    let mut replies: Vec<RealReply> = files
        .map(|file| file.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .map(|path| {
            let content = std::fs::read_to_string(&path).expect("the reply");
            RealReply::parse(path.file_name().expect("a name").to_string_lossy().into_owned(), &content)
        })
        .collect();
    replies.sort_by(|a, b| a.file.cmp(&b.file));
    assert_eq!(replies.len(), 46);
    replies
}

/// Tells whether a value is what is quoted of it.
pub(crate) fn is_quoted(value: &Value, quoted: &Value) -> bool {
    let quoted = quoted.as_str().expect("a value as JSON");
    if let Ok(whole) = serde_json::from_str::<Value>(quoted) {
        return *value == whole;
    }
    assert_eq!(quoted.chars().count(), QUOTED_CHARS, "{quoted}");
    let written = serde_json::to_string(value).expect("JSON");
    written.starts_with(quoted)
}
