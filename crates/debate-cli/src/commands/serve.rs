//! `debate serve`: the engine as a service.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::thread;

use anyhow::Context as _;
use clap::builder::NonEmptyStringValueParser;
use debate_core::formats::accept::AcceptedRequest;
use debate_engine::Settings;
use debate_grpc::{Admission, ServeError, ServeOptions};
use debate_prompts::tokens;
use debate_viewer::{Viewer, viewer};
use futures::channel::oneshot;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::admission::admit;
use crate::args::Options;
use crate::exit::{End, Failure};
use crate::house::House;

/// Serve debates: gRPC with reflection and health, the contract's REST endpoints, and a page for people, on one port
///
/// Debates that an earlier process left behind are taken up where their logs end. SIGINT and SIGTERM end the server:
/// streams are closed, what runs stays in the log and goes on at the next start.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate serve
  debate serve --listen 127.0.0.1:0 --store memory
  DEBATE_TOKEN=… debate serve --listen 0.0.0.0:50051 --model openai:gpt-5-mini
  grpcurl -plaintext localhost:50051 debate.v1.DebateService/ListDebates
  curl --json @examples/ice.json http://localhost:50051/api/v1/reasoning/debate")]
pub(crate) struct Serve {
    /// Where to listen; port 0 takes a free one
    #[arg(long, env = "DEBATE_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:50051")]
    listen: SocketAddr,

    /// Token that clients must send; needed unless only this machine can connect. Better set in the environment, where
    /// other users of the machine do not see it
    #[arg(
        long,
        env = "DEBATE_TOKEN",
        value_name = "TOKEN",
        hide_env_values = true,
        value_parser = NonEmptyStringValueParser::new()
    )]
    token: Option<String>,

    /// Debates driven at once; more wait their turn
    #[arg(
        long,
        env = "DEBATE_DEBATES_MAX",
        value_name = "NUMBER",
        default_value_t = 1_000,
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    debates_max: u32,

    /// Requests to models at once, over all debates
    #[arg(
        long,
        env = "DEBATE_CALLS_MAX",
        value_name = "NUMBER",
        default_value_t = 5_000,
        value_parser = clap::value_parser!(u32).range(1..=100_000)
    )]
    calls_max: u32,

    /// Folder of the skills of deliberations: a folder for each, with SKILL.md in it
    #[arg(long, env = "DEBATE_SKILLS_DIR", value_name = "FOLDER")]
    skills_dir: Option<PathBuf>,
}

impl Serve {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        thread::spawn(tokens::warm_up);
        let listener = TcpListener::bind(self.listen)
            .await
            .with_context(|| format!("cannot listen on {}", self.listen))?;
        let address = listener.local_addr()?;
        let house = House::open(options, self.settings(options)).await?;
        let (up, is_up) = oneshot::channel();
        let closing = CancellationToken::new();
        let viewer = viewer(house.engine.clone(), closing.clone());
        // The server waits for its end from the moment it serves, and never when it refuses to.
        let shutdown = async move {
            let _nobody_waits_any_more = up.send(());
            ending().await;
            closing.cancel();
        };
        let served = self.serve(listener, &house, viewer, shutdown);
        let announced = async {
            if is_up.await.is_ok() {
                let taken = house.engine.recover().await?;
                announce(&house, address, taken)?;
            }
            Ok(())
        };
        let ended = tokio::try_join!(served, announced);
        house.close().await?;
        ended.map(|((), ())| End::Done)
    }

    /// Serves until `shutdown`, unless the address and the token are not fit for each other.
    async fn serve(
        &self,
        listener: TcpListener,
        house: &House,
        viewer: Viewer,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> anyhow::Result<()> {
        let options = ServeOptions {
            token: self.token.clone(),
            admission: self.admission(),
            pages: viewer.pages,
            data: viewer.data,
            ..ServeOptions::default()
        };
        let served = debate_grpc::serve(listener, house.engine.clone(), options, shutdown).await;
        served.map_err(|error| match error {
            ServeError::TokenNeeded { .. } | ServeError::Token => Failure::bad_input(error.to_string()),
            ServeError::Listener(_) | ServeError::Descriptors(_) | ServeError::Transport(_) => error.into(),
        })
    }

    fn settings(&self, options: &Options) -> Settings {
        Settings {
            debates_max: self.debates_max as usize,
            calls_max: self.calls_max as usize,
            hedging: options.hedging(),
            ..Settings::default()
        }
    }

    fn admission(&self) -> Admission {
        let skills_dir = self.skills_dir.clone();
        Arc::new(move |request: &mut AcceptedRequest| {
            for left_out in admit(request, skills_dir.as_deref())? {
                tracing::warn!("{left_out}");
            }
            Ok(())
        })
    }
}

/// Says where the server is; a program that starts one reads the address from the first line.
fn announce(house: &House, address: SocketAddr, taken: usize) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "listening on {address}")?;
    let kept = house.store.place().unwrap_or_else(|| "memory".to_owned());
    writeln!(stdout, "model {}, store {kept}, {taken} debates taken up", house.engine.model_name())?;
    if house.is_simulated {
        writeln!(stdout, "SIMULATED: a program makes up every reply; results say nothing about the world")?;
    }
    writeln!(stdout, "page for people: http://{address}/viewer/")?;
    stdout.flush()
}

/// Waits for SIGINT or SIGTERM; a second one ends the process at once.
async fn ending() {
    signalled().await;
    tracing::info!("ending");
    tokio::spawn(async {
        signalled().await;
        process::exit(End::Interrupted.code().into());
    });
}

#[cfg(unix)]
async fn signalled() {
    use tokio::signal::unix::{SignalKind, signal};

    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return interrupted().await;
    };
    tokio::select! {
        () = interrupted() => {}
        _ = terminate.recv() => {}
    }
}

#[cfg(not(unix))]
async fn signalled() {
    interrupted().await;
}

async fn interrupted() {
    // Where signals cannot be heard, nothing but the machine ends this process.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
