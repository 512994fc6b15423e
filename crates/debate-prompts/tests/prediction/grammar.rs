//! Reads a prompt back by the grammar that its module documents.

use debate_prompts::prompts::{Prompt, Speaker};

/// One block of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    pub(crate) tag: String,
    pub(crate) attributes: Vec<(String, String)>,
    /// Its lines; one for a block on one line.
    pub(crate) lines: Vec<String>,
    /// The blocks in it.
    pub(crate) inner: Vec<Block>,
}

impl Block {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A prompt, read back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parsed {
    pub(crate) system: String,
    pub(crate) blocks: Vec<Block>,
    /// The fixed words of the head, if it has any.
    pub(crate) head: String,
    pub(crate) task: String,
}

impl Parsed {
    pub(crate) fn block(&self, tag: &str) -> Option<&Block> {
        self.blocks.iter().find(|block| block.tag == tag)
    }

    pub(crate) fn lines(&self, tag: &str) -> &[String] {
        self.block(tag).map_or(&[], |block| &block.lines)
    }

    pub(crate) fn points(&self) -> &[Block] {
        self.block("points").map_or(&[], |block| &block.inner)
    }

    /// Returns what no text from outside may change: tags and attributes of all blocks in order, and the task.
    pub(crate) fn structure(&self) -> (Vec<String>, &str) {
        let mut tags = Vec::new();
        for block in &self.blocks {
            tags.push(block.tag.clone());
            tags.extend(block.inner.iter().map(|inner| format!("{} {:?}", inner.tag, inner.attributes)));
        }
        (tags, &self.task)
    }
}

/// Reads a prompt; whatever the grammar does not know is a failure.
pub(crate) fn parse(prompt: &Prompt) -> Parsed {
    let [system, said @ ..] = &prompt.messages[..] else { panic!("{prompt:?}") };
    assert_eq!(system.speaker, Speaker::System);
    assert!((1..=2).contains(&said.len()), "{said:?}");
    let (head, task) = (String::new(), String::new());
    let mut parsed = Parsed { system: system.text.to_string(), blocks: Vec::new(), head, task };
    for message in said {
        assert_eq!(message.speaker, Speaker::User);
        let text = &*message.text;
        let (material, words) = match text.split_once("\n\n") {
            Some((material, words)) => (material, words),
            None if text.starts_with('<') => (text, ""),
            None => ("", text),
        };
        assert!(!words.contains("\n\n"), "{words}");
        let mut lines = material.lines();
        parsed.blocks.extend(std::iter::from_fn(|| block(&mut lines)));
        parsed.head = std::mem::replace(&mut parsed.task, words.to_owned());
    }
    parsed
}

fn block<'t>(lines: &mut impl Iterator<Item = &'t str>) -> Option<Block> {
    let line = lines.next()?;
    let (head, rest) =
        line.strip_prefix('<').and_then(|line| line.split_once('>')).unwrap_or_else(|| panic!("{line}"));
    let (tag, attributes) = head.split_once(' ').unwrap_or((head, ""));
    let mut block =
        Block { tag: tag.to_owned(), attributes: pairs(attributes), lines: Vec::new(), inner: Vec::new() };
    let close = format!("</{tag}>");
    if let Some(text) = rest.strip_suffix(&close) {
        assert!(!text.contains(['<', '>']), "{line}");
        block.lines.push(text.to_owned());
        return Some(block);
    }
    assert_eq!(rest, "", "{line}");
    loop {
        let line = lines.next().unwrap_or_else(|| panic!("{tag} is not closed"));
        if line == close {
            return Some(block);
        }
        if tag == "points" {
            block.inner.push(self::block(&mut std::iter::once(line)).unwrap());
        } else {
            assert!(!line.contains(['<', '>']), "{line}");
            block.lines.push(line.to_owned());
        }
    }
}

fn pairs(attributes: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut rest = attributes;
    while !rest.is_empty() {
        let (key, after) = rest.split_once("=\"").unwrap();
        let (value, after) = after.split_once('"').unwrap();
        pairs.push((key.to_owned(), value.to_owned()));
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    pairs
}
