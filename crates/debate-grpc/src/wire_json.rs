//! Wire messages as the JSON of REST: the names of the contract, every field there, states as plain words.

use std::sync::LazyLock;

use debate_proto::v1;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use serde_json::Value;

/// What is known of every message of `debate.v1`.
pub(crate) static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(v1::FILE_DESCRIPTOR_SET).expect("the descriptors are those that were compiled")
});

/// How the values of an enum begin in proto and not in JSON.
const STATE_PREFIX: &str = "DEBATE_STATE_";

/// Returns a message, `debate.v1.NAME`, as JSON.
pub(crate) fn of<M: Message>(message: &M, name: &str) -> Value {
    let descriptor =
        POOL.get_message_by_name(&format!("debate.v1.{name}")).expect("every message is described");
    let dynamic = DynamicMessage::decode(descriptor, &*message.encode_to_vec());
    let options = SerializeOptions::new()
        .use_proto_field_name(true)
        .skip_default_fields(false)
        .stringify_64_bit_integers(false);
    let dynamic = dynamic.expect("a message is what its descriptor says");
    let mut json = dynamic
        .serialize_with_options(serde_json::value::Serializer, &options)
        .expect("a message has string keys and finite numbers");
    if let Some(Value::String(state)) = json.get_mut("state") {
        *state = state.trim_start_matches(STATE_PREFIX).to_lowercase();
    }
    json
}
