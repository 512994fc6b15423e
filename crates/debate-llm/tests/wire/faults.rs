//! What a server can do wrong in an answer, the same for every protocol: rows are faults, columns are
//! protocols.

use debate_llm::{ChatReply, ChatRequest, Ending, HttpModel, ModelError, Provider, Usage};
use serde_json::{Value, json};

use crate::fault_server::{FaultServer, Response};
use crate::faults_said::{
    bad_reply, ended, ended_by, error_within, gateway, long_names, nulls, thought, wrong_key, wrong_model,
};
use crate::speech::{delta, end_mark, events as event_of, failing, ok, part, stop};
use crate::{ask, config, request};

/// A fault, what the server says where the protocol can express it, and what comes of it.
struct Fault {
    name: &'static str,
    said: fn(Provider) -> Option<Response>,
    want: Want,
    /// The text that arrived, of an answer or kept with the failure.
    text: &'static str,
    /// Tokens read and written, where the provider has counted them.
    used: [Option<u64>; 2],
}

/// What a call becomes.
#[derive(Debug, PartialEq)]
enum Want {
    Answer(Ending),
    Failure(&'static str, Option<Ending>),
}

use Want::{Answer, Failure};

/// Nothing is counted.
const UNCOUNTED: [Option<u64>; 2] = [None, None];
/// All is counted.
const COUNTED: [Option<u64>; 2] = [Some(9), Some(4)];

fn said(text: &str) -> Option<Response> {
    Some(Response::events(text))
}

/// Says an answer that begins well, and then these words for its end, one after another.
fn for_reasons(provider: Provider, words: &[&str]) -> Option<Response> {
    let ends: String = words.iter().map(|word| ended_by(provider, word)).collect();
    said(&format!("{}{ends}{}", part(provider, &["hé"]), end_mark(provider)))
}

/// How an answer ends (rule K18).
const ENDINGS: [Fault; 9] = [
    Fault {
        name: "a word for a failure of the provider",
        said: |provider| for_reasons(provider, &["error"]),
        want: Failure("stream_error", Some(Ending::Failed)),
        text: "hé",
        used: COUNTED,
    },
    Fault {
        name: "a word that is not known",
        said: |provider| for_reasons(provider, &["something_new"]),
        want: Failure("truncated", Some(Ending::Unknown)),
        text: "hé",
        used: COUNTED,
    },
    Fault {
        name: "an empty word",
        said: |provider| match provider {
            // The kind of its last event says how a response ended.
            Provider::OpenAiResponses => None,
            _ => for_reasons(provider, &[""]),
        },
        want: Failure("truncated", Some(Ending::Unknown)),
        text: "hé",
        used: [Some(9), None],
    },
    Fault {
        name: "an end mark and no word",
        said: |provider| match provider {
            // It has no end mark.
            Provider::Gemini => None,
            Provider::OpenAiResponses => said(&format!("{}data: [DONE]\n\n", part(provider, &["hé"]))),
            _ => said(&format!("{}{}", part(provider, &["hé"]), end_mark(provider))),
        },
        want: Failure("truncated", Some(Ending::Unknown)),
        text: "hé",
        used: UNCOUNTED,
    },
    Fault {
        name: "text behind the word",
        said: |provider| match provider {
            // Nothing is read behind its last event.
            Provider::OpenAiResponses => None,
            _ => said(&format!(
                "{}{}{}{}",
                part(provider, &["hé"]),
                stop(provider),
                delta(provider, "llo"),
                end_mark(provider)
            )),
        },
        want: Failure("truncated", Some(Ending::Unknown)),
        text: "héllo",
        used: UNCOUNTED,
    },
    Fault {
        name: "two words, of which the last counts",
        said: |provider| match provider {
            Provider::OpenAiResponses => None,
            _ => for_reasons(provider, &["error", "max_tokens"]),
        },
        want: Answer(Ending::CutInText),
        text: "hé",
        used: COUNTED,
    },
    Fault {
        name: "an error within the last part of the answer",
        said: |provider| said(&format!("{}{}", part(provider, &["hé"]), error_within(provider))),
        want: Failure("server_error", Some(Ending::Failed)),
        text: "hé",
        used: UNCOUNTED,
    },
    Fault {
        name: "the limit reached by thoughts alone",
        said: |provider| said(&format!("{}{}", thought(provider), ended(provider, Ending::CutInText))),
        want: Answer(Ending::CutInThinking),
        text: "",
        used: COUNTED,
    },
    Fault {
        name: "the limit reached within the text",
        said: |provider| said(&format!("{}{}", part(provider, &["hé"]), ended(provider, Ending::CutInText))),
        want: Answer(Ending::CutInText),
        text: "hé",
        used: COUNTED,
    },
];

/// What is kept of an answer that fails (rule K22).
const BROKEN: [Fault; 3] = [
    Fault {
        name: "a stream that is cut",
        said: |provider| said(&part(provider, &["hé", "llo"])).map(Response::cut_off),
        want: Failure("truncated", Some(Ending::Unknown)),
        text: "héllo",
        used: UNCOUNTED,
    },
    Fault {
        name: "a stream that stalls",
        said: |provider| said(&part(provider, &["hé"])).map(Response::then_stall),
        want: Failure("timeout_idle", Some(Ending::Unknown)),
        text: "hé",
        used: UNCOUNTED,
    },
    Fault {
        name: "an error event",
        said: |provider| Some(failing(provider)),
        want: Failure("stream_error", Some(Ending::Failed)),
        text: "hé",
        used: UNCOUNTED,
    },
];

/// What is said in a way that means nothing, or something else (K3, K5).
const SAID: [Fault; 4] = [
    Fault {
        name: "nulls wherever a text belongs",
        said: |provider| said(&nulls(provider)),
        want: Answer(Ending::Complete),
        text: "hé",
        used: COUNTED,
    },
    Fault {
        name: "a reply that the server finds not to keep to the schema",
        said: |_| Some(Response::json(400, &bad_reply())),
        want: Failure("malformed_response", None),
        text: "{\"a",
        used: UNCOUNTED,
    },
    Fault {
        name: "a bad reply that the stream reports",
        said: |provider| match provider {
            Provider::Anthropic | Provider::OpenAiResponses => said(&event_of(&[with_type(bad_reply())])),
            Provider::Gemini | Provider::OpenAi => said(&event_of(&[bad_reply()])),
        },
        want: Failure("malformed_response", None),
        text: "{\"a",
        used: UNCOUNTED,
    },
    Fault {
        name: "an encoding that was not asked for",
        said: |provider| Some(ok(provider).header("content-encoding", "br")),
        want: Failure("malformed_response", None),
        text: "",
        used: UNCOUNTED,
    },
];

/// What gateways pass on.
const GATEWAYS: [Fault; 5] = [
    Fault {
        name: "a wrong model in the words of a gateway",
        said: |_| Some(Response::json(400, &wrong_model())),
        want: Failure("unknown_model", None),
        text: "",
        used: UNCOUNTED,
    },
    Fault {
        name: "a wrong key in the words of a gateway",
        said: |_| Some(Response::json(400, &wrong_key())),
        want: Failure("unauthorised", None),
        text: "",
        used: UNCOUNTED,
    },
    Fault {
        name: "an error within that of a gateway",
        said: |_| Some(Response::json(502, &gateway(&json!({"error": {"code": 404, "message": "gone"}})))),
        want: Failure("unknown_model", None),
        text: "",
        used: UNCOUNTED,
    },
    Fault {
        name: "an error within the message of a gateway",
        said: |_| {
            let inner = json!({"error": {"code": 402, "message": "no credit"}});
            let message = format!("litellm.BadRequestError: OpenAIException - {inner}");
            Some(Response::json(400, &json!({"error": {"message": message, "code": "400"}})))
        },
        want: Failure("quota_exhausted", None),
        text: "",
        used: UNCOUNTED,
    },
    Fault {
        name: "a redirect",
        said: |_| {
            let elsewhere = "https://u:p@elsewhere.test:8443/v1?key=1";
            Some(Response::json(307, &json!({})).header("location", elsewhere))
        },
        want: Failure("bad_request", None),
        text: "",
        used: UNCOUNTED,
    },
];

fn with_type(mut error: Value) -> Value {
    error["type"] = json!("error");
    error
}

fn got(reply: &Result<ChatReply, ModelError>) -> (Want, &str, [Option<u64>; 2]) {
    let counts = |usage: &Usage| [usage.input, usage.output];
    match reply {
        Ok(reply) => (Answer(reply.ending), &reply.text, counts(&reply.usage)),
        Err(error) => (Failure(error.kind.label(), error.ending), &error.text, counts(&error.usage)),
    }
}

async fn check(faults: impl IntoIterator<Item = Fault>) {
    for fault in faults {
        let mut columns = 0;
        for provider in Provider::ALL {
            let Some(response) = (fault.said)(provider) else { continue };
            columns += 1;
            let server = FaultServer::start(vec![response]).await;
            let mut request = request();
            request.time.idle = std::time::Duration::from_millis(60);
            let reply = HttpModel::new(config(provider, &server.base_url())).unwrap();
            let (reply, streamed) = ask(&reply, &request).await;
            let name = format!("{provider}: {}: {reply:?}", fault.name);
            let (want, text, used) = got(&reply);
            assert_eq!((&want, text), (&fault.want, fault.text), "{name}");
            // Where no count came at the end, what was read may still be known.
            let is_expected = used == fault.used || fault.used == UNCOUNTED && used == [Some(9), None];
            assert!(is_expected, "{name}: {used:?}");
            assert!(streamed == text || streamed.is_empty(), "{name}");
        }
        assert!(columns > 0, "{}", fault.name);
    }
}

#[tokio::test]
async fn k18_an_answer_ends_alike_in_every_protocol() {
    check(ENDINGS).await;
}

#[tokio::test]
async fn k22_what_had_arrived_is_kept_with_a_failure() {
    check(BROKEN).await;
}

#[tokio::test]
async fn k5_what_is_said_oddly_is_read_alike() {
    check(SAID).await;
}

#[tokio::test]
async fn k5_the_reason_within_a_gateways_error_counts() {
    check(GATEWAYS).await;
}

#[tokio::test]
async fn k5_a_redirect_names_its_target_and_the_variable() {
    for provider in Provider::ALL {
        let redirect = || {
            let elsewhere = "https://u:p@elsewhere.test:8443/v1?key=1";
            Response::json(307, &json!({})).header("location", elsewhere)
        };
        let server = FaultServer::start(vec![redirect()]).await;
        let error = ask(&HttpModel::new(config(provider, &server.base_url())).unwrap(), &request()).await;
        let line = error.0.unwrap_err().to_string();
        let variable = provider.base_url_variable();
        let want = format!(
            "bad_request: HTTP 307: the server redirects to https://elsewhere.test:8443; if that is the right \
             server, set {variable} to its address"
        );
        assert_eq!(line, want);
    }
}

#[tokio::test]
async fn k3_a_zero_takes_back_no_count_and_is_none_alone() {
    for provider in Provider::ALL {
        for (name, last, want) in [
            ("a zero at the end", [0, 4], [Some(9), Some(4)]),
            ("counts at the end", [9, 4], [Some(9), Some(4)]),
            ("zeros alone", [0, 0], [None, None]),
        ] {
            // A response counts at its end alone.
            let is_begun = provider != Provider::OpenAiResponses && want[0].is_some();
            if provider == Provider::OpenAiResponses && name == "a zero at the end" {
                continue;
            }
            let said = crate::faults_said::counted(provider, is_begun, last);
            let server = FaultServer::start(vec![Response::events(&said)]).await;
            let model = HttpModel::new(config(provider, &server.base_url())).unwrap();
            let usage = ask(&model, &request()).await.0.unwrap().usage;
            assert_eq!([usage.input, usage.output], want, "{provider}: {name}");
        }
    }
}

#[tokio::test]
async fn k3_names_that_a_provider_gives_are_bounded() {
    for provider in Provider::ALL {
        let long = "x".repeat(10_000);
        let response =
            Response::events(&long_names(provider, &long)).header("x-request-id", &"y".repeat(5_000));
        let server = FaultServer::start(vec![response]).await;
        let model = HttpModel::new(config(provider, &server.base_url())).unwrap();
        let reply = ask(&model, &request()).await.0.unwrap();
        let call = &reply.tool_calls[0];
        let names = [&reply.model, &call.name, reply.request_id.as_ref().unwrap()];
        assert_eq!(names.map(String::len), [256; 3], "{provider}");
        assert!(call.id.len() <= 256, "{provider}");
        assert_eq!(call.arguments, "{}", "{provider}");
    }
}

#[tokio::test]
async fn k5_a_reply_that_is_bad_twice_is_asked_without_schema() {
    for provider in Provider::ALL {
        let bad = || Response::json(400, &bad_reply());
        let server = FaultServer::start(vec![bad(), bad(), ok(provider), ok(provider), bad()]).await;
        let model = HttpModel::new(config(provider, &server.base_url())).unwrap();
        let schema = debate_llm::ReplySchema::new("answer", json!({}));
        let request = ChatRequest { schema: Some(schema), ..request() };
        let kind =
            |reply: Result<ChatReply, ModelError>| reply.map_err(|error| error.kind.label()).map(|_| ());
        assert_eq!(kind(ask(&model, &request).await.0), Err("malformed_response"), "{provider}");
        assert_eq!(kind(ask(&model, &request).await.0), Ok(()), "{provider}");
        assert_eq!(kind(ask(&model, &request).await.0), Ok(()), "{provider}");
        assert_eq!(kind(ask(&model, &request).await.0), Err("malformed_response"), "{provider}");
        let bodies: Vec<String> = server.requests().iter().map(|seen| seen.json().to_string()).collect();
        let sent = bodies.iter().map(|body| {
            let has_schema = body.contains("json_schema") || body.contains("responseJsonSchema");
            (has_schema, body.contains("must match this schema"))
        });
        // The call that did without the schema is the only one: others are asked with it.
        let [with, without] = [(true, false), (false, true)];
        assert_eq!(sent.collect::<Vec<_>>(), [with, with, without, with, with], "{provider}");
    }
}
