//! How much a message may hold for its length: of a list of empty entries each takes two bytes on the wire, and hundreds in
//! memory once it is decoded and read. Messages are looked through before they are decoded.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use prost::Message as _;
use prost::bytes::Buf as _;
use prost::encoding::{WireType, decode_key, decode_varint};
use prost_types::field_descriptor_proto::Type;
use prost_types::{DescriptorProto, FileDescriptorSet};

use crate::v1::FILE_DESCRIPTOR_SET;

/// Bytes of memory that one entry may take at most, with what it becomes until the request is answered: a message of this
/// package, a value or entry of a map, a text.
const MESSAGE_BYTES: usize = 640;
const VALUE_BYTES: usize = 180;
const TEXT_BYTES: usize = 240;

/// Bytes of memory that a message may take in all, for each of its bytes and besides.
const MEMORY_PER_BYTE: usize = 16;
const MEMORY_FREE: usize = 512 * 1024;

/// Messages in messages at most, as in prost.
const DEPTH_MAX: usize = 100;

/// The package of values of JSON, whose messages are small.
const VALUES: &str = ".google.protobuf.";

/// A message holds too many entries for its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany {
    bytes: usize,
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the message holds too many entries for its {} bytes", self.bytes)
    }
}

impl std::error::Error for TooMany {}

/// What the fields of a message hold that are messages, by number.
#[derive(Debug, Default)]
struct Shape {
    bytes: usize,
    fields: HashMap<u32, usize>,
}

/// All messages, by place.
#[derive(Debug, Default)]
struct Shapes {
    all: Vec<Shape>,
    places: HashMap<String, usize>,
}

static SHAPES: LazyLock<Shapes> = LazyLock::new(|| {
    let mut shapes = Shapes::default();
    let Ok(files) = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET) else { return shapes };
    for file in &files.file {
        let package = format!(".{}", file.package());
        file.message_type.iter().for_each(|message| shapes.add(&package, message));
    }
    for file in &files.file {
        let package = format!(".{}", file.package());
        file.message_type.iter().for_each(|message| shapes.link(&package, message));
    }
    shapes
});

impl Shapes {
    fn add(&mut self, scope: &str, message: &DescriptorProto) {
        let name = format!("{scope}.{}", message.name());
        let is_entry = message.options.as_ref().is_some_and(prost_types::MessageOptions::map_entry);
        let is_value = is_entry || name.starts_with(VALUES);
        self.places.insert(name.clone(), self.all.len());
        let bytes = if is_value { VALUE_BYTES } else { MESSAGE_BYTES };
        self.all.push(Shape { bytes, ..Shape::default() });
        message.nested_type.iter().for_each(|nested| self.add(&name, nested));
    }

    fn link(&mut self, scope: &str, message: &DescriptorProto) {
        let name = format!("{scope}.{}", message.name());
        let of_messages = message.field.iter().filter(|field| field.r#type() == Type::Message);
        let linked = of_messages.filter_map(|field| {
            Some((u32::try_from(field.number()).ok()?, *self.places.get(field.type_name())?))
        });
        let linked: HashMap<u32, usize> = linked.collect();
        if let Some(place) = self.places.get(&name) {
            self.all[*place].fields = linked;
        }
        message.nested_type.iter().for_each(|nested| self.link(&name, nested));
    }
}

/// Checks a message that was not decoded yet, of a full name such as `debate.v1.StartDebateRequest`.
///
/// What cannot be decoded passes: decoding says why.
///
/// # Errors
/// It holds too many entries for its length.
pub fn check(name: &str, message: &[u8]) -> Result<(), TooMany> {
    let shapes = &*SHAPES;
    let allowed = MEMORY_FREE + MEMORY_PER_BYTE * message.len();
    let shape = shapes.places.get(&format!(".{name}")).copied();
    let mut taken = 0;
    let _undecodable = look(shapes, shape, message, DEPTH_MAX, allowed, &mut taken);
    if taken > allowed { Err(TooMany { bytes: message.len() }) } else { Ok(()) }
}

/// Counts what the entries of a message may take; stops where that is too much or it cannot be decoded.
fn look(
    shapes: &Shapes,
    shape: Option<usize>,
    mut message: &[u8],
    depth: usize,
    allowed: usize,
    taken: &mut usize,
) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    while message.has_remaining() {
        let (field, wire_type) = decode_key(&mut message).ok()?;
        let length = match wire_type {
            WireType::Varint => {
                decode_varint(&mut message).ok()?;
                continue;
            }
            WireType::SixtyFourBit => 8,
            WireType::ThirtyTwoBit => 4,
            WireType::LengthDelimited => usize::try_from(decode_varint(&mut message).ok()?).ok()?,
            WireType::StartGroup | WireType::EndGroup => return None,
        };
        let (content, rest) = message.split_at_checked(length)?;
        message = rest;
        if wire_type != WireType::LengthDelimited {
            continue;
        }
        let inner = shape.and_then(|shape| shapes.all[shape].fields.get(&field)).copied();
        *taken += inner.map_or(TEXT_BYTES, |inner| shapes.all[inner].bytes);
        if *taken > allowed {
            return None;
        }
        if inner.is_some() {
            look(shapes, inner, content, depth, allowed, taken)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1;

    const REQUEST: &str = "debate.v1.StartDebateRequest";

    fn prediction(context: v1::PredictionContext) -> Vec<u8> {
        let request = v1::DebateRequest { prediction_context: Some(context), ..Default::default() };
        let format = v1::start_debate_request::Format::Prediction(request);
        v1::StartDebateRequest { format: Some(format), ..Default::default() }.encode_to_vec()
    }

    #[test]
    fn f3_lists_of_empty_entries_are_refused_before_they_are_decoded() {
        for bytes in [64 * 1024, 512 * 1024, 2 * 1024 * 1024] {
            let outcomes = vec![v1::Outcome::default(); bytes / 2];
            let entries = prediction(v1::PredictionContext { outcomes, ..Default::default() });
            assert_eq!(check(REQUEST, &entries), Err(TooMany { bytes: entries.len() }));
            let values = vec![prost_types::Value::default(); bytes / 2];
            let kind = Some(prost_types::value::Kind::ListValue(prost_types::ListValue { values }));
            let task = Some(prost_types::Value { kind });
            let values = prediction(v1::PredictionContext { task, ..Default::default() });
            assert_eq!(check(REQUEST, &values), Err(TooMany { bytes: values.len() }));
        }
    }

    #[test]
    fn f3_what_people_write_passes() {
        let outcome = |place: usize| v1::Outcome {
            id: format!("o{place}"),
            label: "A label of some words".to_owned(),
            ..Default::default()
        };
        let outcomes = (0..50).map(outcome).collect();
        let field = |place: usize| {
            let kind = Some(prost_types::value::Kind::NumberValue(0.5));
            (format!("variable number {place}"), prost_types::Value { kind })
        };
        let fields = (0..5_000).map(field).collect();
        let kind = Some(prost_types::value::Kind::StructValue(prost_types::Struct { fields }));
        let task = Some(prost_types::Value { kind });
        let message = prediction(v1::PredictionContext { task, outcomes, ..Default::default() });
        assert_eq!(check(REQUEST, &message), Ok(()));
        assert_eq!(check(REQUEST, &vec![0x0a; 4_096]), Ok(()), "what cannot be decoded is not judged here");
        assert_eq!(check("debate.v1.Unknown", &message), Ok(()));
    }
}
