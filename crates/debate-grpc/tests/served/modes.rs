//! The example of every mode of roundtables (rule T1), started over REST and over gRPC.

use debate_core::formats::roundtable::mode::Mode;
use debate_proto::v1;
use debate_proto::v1::debate_service_client::DebateServiceClient;
use debate_proto::v1::get_debate_response::Result as DebateOutcome;
use debate_proto::v1::start_debate_request::Format;
use serde_json::Value;

use crate::house::{House, PATIENCE};

fn example(mode: Mode) -> Value {
    let (folder, mode) = (env!("CARGO_MANIFEST_DIR"), mode.as_str());
    let text = std::fs::read_to_string(format!("{folder}/../../examples/roundtable-{mode}.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn number(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

fn list<T>(value: &Value, read: fn(&Value) -> T) -> Vec<T> {
    value.as_array().unwrap().iter().map(read).collect()
}

/// Calls `read` with every field of an object; `read` fails on a field that it does not know.
fn each(object: &Value, mut read: impl FnMut(&str, &Value)) {
    object.as_object().unwrap().iter().for_each(|(name, value)| read(name, value));
}

/// Writes an example as a message.
fn message(example: &Value) -> v1::RoundtableRequest {
    let mut request = v1::RoundtableRequest::default();
    each(example, |name, value| match name {
        "format" => assert_eq!(value, "roundtable"),
        "topic" => request.topic = text(value),
        "mode" => request.mode = Some(text(value)),
        "agents" => {
            request.agents = list(value, |agent| {
                assert_eq!(agent.as_object().unwrap().len(), 1, "{agent}");
                v1::RoundtableAgent { name: text(&agent["name"]), perspective: None }
            });
        }
        "rounds" => request.rounds = Some(number(value)),
        "tools" => request.tools = list(value, text),
        "perspective_config" => {
            let config = request.perspective_config.insert(v1::RoundtablePerspectives::default());
            each(value, |name, value| match name {
                "perspectives" => config.perspectives = list(value, text),
                "assignment_strategy" => config.assignment_strategy = Some(text(value)),
                _ => panic!("{name} is in no message"),
            });
        }
        "sequential" => {
            let option = request.sequential.insert(v1::RoundtableSequentialOption::default());
            each(value, |name, value| match name {
                "max_tokens" => option.max_tokens = Some(number(value)),
                _ => panic!("{name} is in no message"),
            });
        }
        "options" => {
            let options = request.options.insert(v1::RoundtableOptions::default());
            each(value, |name, value| match name {
                "seed" => options.seed = value.as_u64(),
                _ => panic!("{name} is in no message"),
            });
        }
        "flags" => request.flags = Some(flags(value)),
        _ => panic!("{name} is in no message"),
    });
    request
}

fn flags(given: &Value) -> v1::RoundtableFlags {
    let mut flags = v1::RoundtableFlags::default();
    each(given, |group, named| {
        each(named, |name, value| match (group, name) {
            ("sequential_parallelization", "enabled") => {
                flags.sequential_parallelization.get_or_insert_default().enabled = value.as_bool();
            }
            ("sequential_parallelization", "level") => {
                flags.sequential_parallelization.get_or_insert_default().level = Some(text(value));
            }
            ("groupthink_detection", "action") => {
                flags.groupthink_detection.get_or_insert_default().action = Some(text(value));
            }
            ("exit_criteria", "enabled") => {
                flags.exit_criteria.get_or_insert_default().enabled = value.as_bool();
            }
            ("exit_criteria", "shadow") => {
                flags.exit_criteria.get_or_insert_default().shadow = value.as_bool();
            }
            ("exit_criteria", "consensus_threshold") => {
                flags.exit_criteria.get_or_insert_default().consensus_threshold = value.as_f64();
            }
            ("exit_criteria", "convergence_rounds") => {
                flags.exit_criteria.get_or_insert_default().convergence_rounds = Some(number(value));
            }
            _ => panic!("{group}.{name} is in no message"),
        });
    });
    flags
}

#[tokio::test]
async fn t1_the_example_of_every_mode_is_held_alike_over_rest_and_grpc() {
    let house = House::open().await;
    let mut client = DebateServiceClient::new(house.channel().await);
    for mode in Mode::ALL {
        let example = example(mode);
        let over_rest = house.post(&[], example.to_string().as_bytes()).await;
        assert_eq!(over_rest.status, 200, "{mode:?}: {}", over_rest.body);
        let over_rest = over_rest.json();
        assert_eq!(
            (over_rest["mode"].as_str(), &over_rest["completeness"]["state"], &over_rest["simulated"]),
            (Some(mode.as_str()), &Value::from("full"), &Value::from(true)),
            "{over_rest}"
        );
        let format = Some(Format::Roundtable(message(&example)));
        let started = client.start_debate(v1::StartDebateRequest { request_id: String::new(), format }).await;
        let debate_id = started.unwrap().into_inner().debate.unwrap().id;
        assert!(house.engine.concluded(debate_id.parse().unwrap(), PATIENCE).await.unwrap(), "{mode:?}");
        let asked = v1::GetDebateRequest { debate_id, include_result: true, read_mask: None };
        let got = client.get_debate(asked).await.unwrap().into_inner();
        let Some(DebateOutcome::Roundtable(over_grpc)) = got.result else { panic!("{mode:?}: {got:?}") };
        let decision = over_grpc.decision.unwrap();
        let level = over_rest["decision"]["agreement_level"].as_f64();
        assert_eq!((Some(decision.agreement_level), over_grpc.mode.as_str()), (level, mode.as_str()));
        assert_eq!(decision.position.as_deref(), over_rest["decision"]["position"].as_str(), "{mode:?}");
        // The same flags, each with the same source: nothing is lost on the way of either.
        let sent_flags = over_grpc.metadata.unwrap().flags;
        let sent_flags: Vec<_> =
            sent_flags.into_iter().map(|flag| (flag.flag, flag.value, flag.source)).collect();
        let expected = list(&over_rest["metadata"]["flags"], |flag| {
            (text(&flag["flag"]), flag["value"].to_string(), text(&flag["source"]))
        });
        assert_eq!(sent_flags, expected, "{mode:?}");
        let spoken = over_rest["evidence"]["rounds"].as_array().unwrap().len();
        assert_eq!(over_grpc.evidence.unwrap().rounds.len(), spoken, "{mode:?}");
    }
}
