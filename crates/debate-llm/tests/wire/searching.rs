//! The search service against a server that misbehaves (rules D9, K13).

use debate_llm::ApiKey;
use debate_llm::http::search::{
    SearchAnswer, SearchConfigError, SearchEndpoint, SearchError, SearchQuestion,
};
use serde_json::json;

use crate::KEY;
use crate::fault_server::{FaultServer, Response};

async fn ask(server: &FaultServer) -> Result<SearchAnswer, SearchError> {
    let url = format!("{}/find?token=t-secret", server.base_url());
    let endpoint = SearchEndpoint::new(&url, Some(&ApiKey::new(KEY))).unwrap();
    assert!(!format!("{endpoint:?}").contains("secret"), "{endpoint:?}");
    endpoint
        .ask(&SearchQuestion {
            tool: "search_web",
            query: "harbour rents",
            count: 8,
            as_of: "2026-11-21T00:00:00.000Z",
        })
        .await
}

#[tokio::test]
async fn d9_a_search_service_is_asked_and_read_as_documented() {
    let body = json!({
        "verdict": "disputed",
        "results": [{"title": "Rents", "url": "https://rents.test/2", "snippet": "They fell.", "rank": 1}, {}],
    });
    let server = FaultServer::start(vec![Response::json(200, &body)]).await;
    let answer = ask(&server).await.unwrap();
    assert_eq!((answer.verdict.as_deref(), answer.results.len()), (Some("disputed"), 2));
    assert_eq!(answer.results[0].url, "https://rents.test/2");
    let [seen] = &server.requests()[..] else { panic!("one request") };
    assert_eq!(
        seen.json(),
        json!({"tool": "search_web", "query": "harbour rents", "count": 8, "as_of": "2026-11-21T00:00:00.000Z"})
    );
    assert!(seen.head.contains(&format!("authorization: Bearer {KEY}")), "{}", seen.head);
    assert_eq!(seen.head.matches(KEY).count(), 1, "{}", seen.head);
}

#[tokio::test]
async fn k13_a_search_service_that_misbehaves_is_one_clear_error_without_its_words_or_the_key() {
    let flood = format!("{{\"results\": [{{\"snippet\": \"{}\"}}]}}", "sk-very-secret ".repeat(100_000));
    let table = [
        (Response::json(401, &json!({"error": KEY})), "the search service answered with status 401"),
        (Response::json(302, &json!({})).header("location", "http://evil.test/"), "answered with status 302"),
        (Response::html(200), "answered with no JSON object that has results"),
        (Response::json(200, &json!({"items": []})), "answered with no JSON object that has results"),
        (Response::json(200, &json!({"results": KEY})), "answered with no JSON object that has results"),
        (Response::of_type(200, "application/json", &flood), "answered with more than 1048576 bytes"),
        (Response::of_type(200, "application/json", &flood).without_end(), "more than 1048576 bytes"),
        (Response::json(200, &json!({"results": []})).cut_off(), "cannot be reached"),
        (Response::reset(), "the search service cannot be reached"),
    ];
    for (response, expected) in table {
        let server = FaultServer::start(vec![response]).await;
        let error = ask(&server).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
        assert!(!error.contains("secret") && !error.contains("127.0.0.1"), "{error}");
    }
}

#[test]
fn k12_an_address_that_is_none_is_refused() {
    for address in ["search.test/find", "ftp://search.test", "http://me:pw@search.test/", ""] {
        let refused = SearchEndpoint::new(address, None);
        assert!(matches!(refused, Err(SearchConfigError::Address)), "{address}");
    }
    let key = ApiKey::new("a\nb");
    assert!(matches!(SearchEndpoint::new("http://h/", Some(&key)), Err(SearchConfigError::Key)));
}
