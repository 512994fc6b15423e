//! The README's example: starts a debate, watches it, shows what it came to.

use debate_client::{Client, WatchOptions, v1};

/// Holds a debate on a server such as `http://localhost:50051`.
pub async fn run(address: &str) -> anyhow::Result<v1::GetDebateResponse> {
    let client = Client::new(address, None)?;
    let speaker = |name: &str| v1::Speaker { name: name.into(), ..Default::default() };
    let participants = vec![speaker("ann"), speaker("ben")];
    let topic = "Should the library move to a new schema?".into();
    let request = v1::DeliberationRequest { topic, participants, ..Default::default() };
    let format = Some(v1::start_debate_request::Format::Deliberation(request));
    let started = client.start(v1::StartDebateRequest { format, ..Default::default() }).await?;
    let id = started.debate.unwrap_or_default().id;
    let mut watch = client.watch(&id, WatchOptions::default());
    while let Some(event) = watch.next_event().await? {
        println!("{:>4}  {}", event.seq, event.kind);
    }
    let held = client.get(&id, true).await?;
    Ok(held)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let address = std::env::var("DEBATE_SERVER").unwrap_or_else(|_| "http://localhost:50051".to_owned());
    println!("{:?}", run(&address).await?.result);
    Ok(())
}
