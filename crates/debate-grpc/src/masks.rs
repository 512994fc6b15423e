//! Field masks: an answer with the fields that its reader wants (google.protobuf.FieldMask).

use std::collections::BTreeMap;

use debate_core::request::{Violation, Violations};
use prost::Message;
use prost_reflect::{DynamicMessage, Kind, MessageDescriptor, ReflectMessage as _};
use prost_types::FieldMask;

use crate::refusal::Refusal;
use crate::wire_json::POOL;

/// Paths of one mask.
const PATHS_MAX: usize = 100;

/// Fields by name, each with those below it; none below means all of it.
#[derive(Debug, Default)]
struct Tree(BTreeMap<String, Tree>);

/// The fields of an answer that are wanted; all of it where no mask names any.
#[derive(Debug)]
pub(crate) struct Mask(Option<(MessageDescriptor, Tree)>);

impl Mask {
    /// Reads the mask of an answer, the message `debate.v1.NAME`: before anything is done that it could be refused after.
    ///
    /// # Errors
    /// It names fields that the answer has not, or too many.
    pub(crate) fn read(name: &str, mask: Option<&FieldMask>) -> Result<Self, Violations> {
        let Some(mask) = mask.filter(|mask| !mask.paths.is_empty()) else { return Ok(Self(None)) };
        let descriptor =
            POOL.get_message_by_name(&format!("debate.v1.{name}")).expect("every message is described");
        let tree = tree(&descriptor, mask)?;
        Ok(Self(Some((descriptor, tree))))
    }

    /// Returns an answer with the fields that are wanted alone.
    ///
    /// # Errors
    /// The answer is not the message that the mask was read for.
    pub(crate) fn keep<M: Message + Default>(self, answer: M) -> Result<M, Refusal> {
        let Some((descriptor, tree)) = self.0 else { return Ok(answer) };
        let bytes = answer.encode_to_vec();
        let mut dynamic =
            DynamicMessage::decode(descriptor, &*bytes).map_err(|error| Refusal::defect(&error))?;
        prune(&mut dynamic, &tree);
        M::decode(&*dynamic.encode_to_vec()).map_err(|error| Refusal::defect(&error))
    }
}

fn tree(descriptor: &MessageDescriptor, mask: &FieldMask) -> Result<Tree, Violations> {
    if mask.paths.len() > PATHS_MAX {
        let reason = format!("must have at most {PATHS_MAX} paths");
        return Err(Violation::new("read_mask", reason).into());
    }
    let mut root = Tree::default();
    let mut unknown = Vec::new();
    for (place, path) in mask.paths.iter().enumerate() {
        if !is_known(descriptor, path) {
            let reason = format!("{path:?} is no field of the answer");
            unknown.push(Violation::new(format!("read_mask.paths[{place}]"), reason));
            continue;
        }
        let mut node = &mut root;
        let mut is_covered = false;
        for name in path.split('.') {
            let is_new = !node.0.contains_key(name);
            node = node.0.entry(name.to_owned()).or_default();
            is_covered = !is_new && node.0.is_empty();
            if is_covered {
                break;
            }
        }
        if !is_covered {
            node.0.clear();
        }
    }
    if unknown.is_empty() { Ok(root) } else { Err(Violations(unknown)) }
}

/// Returns whether a path leads to a field; through lists and maps none does.
fn is_known(descriptor: &MessageDescriptor, path: &str) -> bool {
    let mut within = Some(descriptor.clone());
    path.split('.').all(|name| {
        let Some(field) = within.as_ref().and_then(|message| message.get_field_by_name(name)) else {
            return false;
        };
        within = match field.kind() {
            Kind::Message(message) if !field.is_list() && !field.is_map() => Some(message),
            _ => None,
        };
        true
    })
}

fn prune(message: &mut DynamicMessage, tree: &Tree) {
    for field in message.descriptor().fields() {
        match tree.0.get(field.name()) {
            None => message.clear_field(&field),
            Some(below) if below.0.is_empty() || !message.has_field(&field) => {}
            Some(below) => {
                if let Some(inner) = message.get_field_mut(&field).as_message_mut() {
                    prune(inner, below);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use debate_proto::v1;

    use super::*;

    fn kept(paths: &[&str]) -> Result<v1::GetDebateResponse, Refusal> {
        let debate =
            v1::Debate { id: "x".to_owned(), head_seq: 7, title: "t".to_owned(), ..Default::default() };
        let result =
            v1::DebateResult { task_id: "k".to_owned(), consensus_score: Some(0.5), ..Default::default() };
        let answer = v1::GetDebateResponse {
            debate: Some(debate),
            result: Some(v1::get_debate_response::Result::Prediction(result)),
        };
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        Mask::read("GetDebateResponse", Some(&FieldMask { paths }))?.keep(answer)
    }

    #[test]
    fn only_the_fields_of_the_mask_are_kept() {
        let id = kept(&["debate.id"]).unwrap();
        let only = v1::Debate { id: "x".to_owned(), ..Default::default() };
        assert_eq!((id.debate, id.result), (Some(only), None));
        for paths in [&["debate", "debate.id"][..], &["debate.id", "debate"]] {
            let whole = kept(paths).unwrap();
            assert_eq!((whole.debate.unwrap().head_seq, whole.result), (7, None), "{paths:?}");
        }
        let both = kept(&["debate.id", "debate.title", "prediction.consensus_score"]).unwrap();
        assert_eq!(both.debate.unwrap().title, "t");
        let Some(v1::get_debate_response::Result::Prediction(result)) = both.result else {
            panic!("no result")
        };
        assert_eq!((result.task_id.as_str(), result.consensus_score), ("", Some(0.5)));
        assert_eq!(kept(&[]).unwrap().debate.unwrap().title, "t");
    }

    #[test]
    fn k12_every_unknown_path_is_named() {
        let paths =
            ["debate.id", "weather", "debate.id.x", "prediction.probability_distribution.outcome_id", ""];
        let Err(Refusal::Invalid(violations)) = kept(&paths) else { panic!("unknown paths are taken") };
        let fields: Vec<_> = violations.0.iter().map(|violation| violation.field.as_str()).collect();
        assert_eq!(
            fields,
            ["read_mask.paths[1]", "read_mask.paths[2]", "read_mask.paths[3]", "read_mask.paths[4]"]
        );
    }

    #[test]
    fn k12_a_mask_of_more_paths_than_an_answer_has_is_refused_at_once() {
        assert!(kept(&["debate.id"; PATHS_MAX]).is_ok());
        let refused = Refusal::field("read_mask", "must have at most 100 paths");
        assert_eq!(kept(&["weather"; PATHS_MAX + 1]).unwrap_err(), refused);
    }
}
