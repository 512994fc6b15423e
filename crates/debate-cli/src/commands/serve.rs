//! `debate serve`: the engine as a service.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::thread;

use anyhow::Context as _;
use clap::builder::{FalseyValueParser, NonEmptyStringValueParser};
use debate_core::counted::counted;
use debate_engine::{ReviewersFolder, Settings};
use debate_grpc::tls::TlsFiles;
use debate_grpc::{Connections, Mount, Origin, ServeError, ServeOptions};
use debate_prompts::tokens;
use debate_viewer::{Viewer, viewer};
use futures::FutureExt as _;
use futures::channel::oneshot;
use futures::future::select_all;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::admission::admission;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::exit::{self, End, Failure};
use crate::handles;
use crate::telemetry::Scrape;

/// Serve gRPC, REST and the web page on one port
///
/// Debates that an earlier process left behind are taken up where their logs end. SIGINT and SIGTERM end the server:
/// streams are closed, what runs stays in the log and goes on at the next start.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate serve
  debate serve --listen 127.0.0.1:0 --store memory
  debate serve --config deploy/debate.toml
  DEBATE_TOKEN=… debate serve --listen 0.0.0.0:50051 --model openai:gpt-5-mini
  debate serve --listen 0.0.0.0:50051 --tokens tokens.json --tls-certificate chain.pem --tls-key key.pem
  grpcurl -plaintext localhost:50051 debate.v1.DebateService/ListDebates
  curl --json @examples/ice.json http://localhost:50051/api/v1/reasoning/debate")]
pub(crate) struct Serve {
    /// Where to listen; port 0 takes a free one
    #[arg(long, env = "DEBATE_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:50051")]
    listen: SocketAddr,

    /// Token that clients must send, of at least 16 characters; needed unless only this machine can connect. Better set in
    /// the environment, where other users of the machine do not see it
    #[arg(
        long,
        env = "DEBATE_TOKEN",
        value_name = "TOKEN",
        hide_env_values = true,
        value_parser = NonEmptyStringValueParser::new()
    )]
    token: Option<String>,

    /// File of tokens, made by `debate token create`; read again whenever it changes
    #[arg(long, env = "DEBATE_TOKENS", value_name = "FILE")]
    tokens: Option<PathBuf>,

    /// Serve simulated models to others than this machine too: a program makes up what they answer
    #[arg(long, env = "DEBATE_ALLOW_SIMULATED", value_parser = FalseyValueParser::new())]
    allow_simulated: bool,

    /// Certificate chain of this server in PEM, for TLS; read again whenever it changes
    #[arg(long, env = "DEBATE_TLS_CERTIFICATE", value_name = "FILE")]
    tls_certificate: Option<PathBuf>,

    /// Private key of the certificate in PEM
    #[arg(long, env = "DEBATE_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,

    /// Certificates of authorities in PEM: only clients with a certificate of theirs may connect (mutual TLS)
    #[arg(long, env = "DEBATE_TLS_CLIENT_AUTHORITIES", value_name = "FILE")]
    tls_client_authorities: Option<PathBuf>,

    /// Origins (scheme and host) of pages that may use this server through a browser (CORS); none unless set. They
    /// need a token as everybody does
    #[arg(
        long,
        env = "DEBATE_CORS_ORIGINS",
        value_name = "ORIGINS",
        value_delimiter = ',',
        // One that is none may hold a login.
        hide_env_values = true
    )]
    cors_origins: Vec<Origin>,

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

    /// Connections at one time; fewer where the process may not have so many files. More wait to be accepted
    #[arg(
        long,
        env = "DEBATE_CONNECTIONS_MAX",
        value_name = "NUMBER",
        default_value_t = 20_000,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    connections_max: u32,

    /// Connections of one address at one time; more are ended. Behind a proxy all come from its address
    #[arg(
        long,
        env = "DEBATE_CONNECTIONS_PER_ADDRESS_MAX",
        value_name = "NUMBER",
        default_value_t = 10_000,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    connections_per_address_max: u32,

    /// Where metrics are served for Prometheus, at /metrics, such as 127.0.0.1:9464; nowhere unless set. Any client
    /// that can connect can read them: how much is debated and how it goes, never what is said
    #[arg(long, env = "DEBATE_METRICS_LISTEN", value_name = "ADDRESS")]
    pub(crate) metrics_listen: Option<SocketAddr>,

    /// Folder of the skills of deliberations: a folder for each, with SKILL.md in it
    #[arg(long, env = "DEBATE_SKILLS_DIR", value_name = "FOLDER")]
    skills_dir: Option<PathBuf>,

    /// Folder of reviewers, into whose folder prompts proposals for their prompts are written; without it none can be
    /// asked for
    #[arg(long, env = "DEBATE_REVIEWERS_DIR", value_name = "FOLDER")]
    reviewers_dir: Option<PathBuf>,
}

impl Serve {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let tls = self.tls()?;
        self.check_models(options)?;
        handles::raise();
        thread::spawn(tokens::warm_up);
        let listener = TcpListener::bind(self.listen)
            .await
            .with_context(|| format!("cannot listen on {}", self.listen))?;
        let address = listener.local_addr()?;
        let scrape = Scrape::bind(self.metrics_listen).await?;
        let scraped = scrape.address();
        let app = AppContext::open(options, self.settings(options)).await?;
        let (up, is_up) = oneshot::channel();
        let closing = CancellationToken::new();
        let viewer = viewer(app.engine.clone(), closing.clone());
        // The server waits for its end from the moment it serves, and never when it refuses to.
        let shutdown = async move {
            let _no_receiver = up.send(());
            ending().await;
            closing.cancel();
        };
        let served = self.serve(options, tls, listener, &app, viewer, shutdown);
        let announced = async {
            if is_up.await.is_ok() {
                let taken = app.engine.recover().await?;
                let scheme = if self.tls_certificate.is_some() { "https" } else { "http" };
                announce(&app, scheme, address, scraped, taken)?;
            }
            Ok(())
        };
        let ended = tokio::select! {
            ended = async { tokio::try_join!(served, announced) } => ended.map(|((), ())| End::Done),
            never = scrape.serve() => match never {},
        };
        app.close().await;
        ended
    }

    /// Serves until `shutdown`, unless the address and the token are not fit for each other.
    async fn serve(
        &self,
        options: &Options,
        tls: Option<TlsFiles>,
        listener: TcpListener,
        app: &AppContext,
        viewer: Viewer,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> anyhow::Result<()> {
        let reviewers = self.reviewers_dir.as_deref().map(ReviewersFolder::open).transpose();
        let serving = ServeOptions {
            reviewers: reviewers.map_err(|error| Failure::bad_input(format!("{error}")))?.map(Arc::new),
            token: self.token.clone(),
            tokens: self.tokens.clone(),
            tls,
            connections: self.connections(),
            cors_origins: self.cors_origins.clone(),
            admission: admission(options, self.skills_dir.clone())?,
            pages: viewer.pages,
            data: viewer.data,
            mount: mount(),
            ..ServeOptions::default()
        };
        let served = debate_grpc::serve(listener, app.engine.clone(), serving, shutdown).await;
        served.map_err(|error| match error {
            ServeError::TokenNeeded { .. }
            | ServeError::Token
            | ServeError::Tokens(_)
            | ServeError::Tls(_) => Failure::bad_input(exit::one_line(&error.into())),
            ServeError::Listener(_) | ServeError::Descriptors(_) => error.into(),
        })
    }

    /// Refuses to serve made-up answers to others, unless that is wanted (rule O3).
    fn check_models(&self, options: &Options) -> anyhow::Result<()> {
        // Without a token others are refused anyway.
        let serves_others =
            !self.listen.ip().is_loopback() && (self.token.is_some() || self.tokens.is_some());
        let mut models = std::iter::once(&options.model).chain(&options.offer);
        let simulated = models.find(|model| model.is_simulated()).filter(|_| !self.allow_simulated);
        match simulated {
            Some(model) if serves_others => Err(Failure::bad_input(format!(
                "--listen {} serves others too, and {} makes up its answers; choose a model with --model, or add \
                 --allow-simulated",
                self.listen,
                model.name()
            ))),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the files of TLS, if it is wanted.
    ///
    /// # Errors
    /// Only some of those are named that are needed together.
    pub(crate) fn tls(&self) -> anyhow::Result<Option<TlsFiles>> {
        let client_authorities = self.tls_client_authorities.clone();
        match (self.tls_certificate.clone(), self.tls_key.clone()) {
            (Some(certificate), Some(key)) => Ok(Some(TlsFiles { certificate, key, client_authorities })),
            (None, None) if client_authorities.is_none() => Ok(None),
            (None, None) => {
                Err(Failure::bad_input("tls-client-authorities needs tls-certificate and tls-key"))
            }
            (Some(_), None) => Err(Failure::bad_input("tls-certificate needs tls-key")),
            (None, Some(_)) => Err(Failure::bad_input("tls-key needs tls-certificate")),
        }
    }

    /// Returns how many connections there may be: no more than leave files for the store and for providers.
    fn connections(&self) -> Connections {
        let (asked, per_address_max) = (self.connections_max, self.connections_per_address_max as usize);
        let max = handles::for_clients(u64::from(asked));
        if max < u64::from(asked) {
            tracing::info!(connections_max = max, "fewer connections than asked for: files are short");
        }
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        Connections { max, per_address_max, ..Connections::default() }
    }

    fn settings(&self, options: &Options) -> Settings {
        Settings {
            debates_max: self.debates_max as usize,
            calls_max: self.calls_max as usize,
            ..options.settings()
        }
    }
}

/// Says where the server is; a program that starts one reads the address from the first line.
fn announce(
    app: &AppContext,
    scheme: &str,
    address: SocketAddr,
    scraped: Option<SocketAddr>,
    taken: usize,
) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "listening on {address}")?;
    let kept = app.store.place().unwrap_or_else(|| "memory".to_owned());
    let taken = counted(taken, "debate", "debates");
    writeln!(stdout, "model {}, store {kept}, {taken} to resume", app.engine.model_name())?;
    if app.is_simulated {
        writeln!(stdout, "SIMULATED: a program makes up every reply; results say nothing about the world")?;
    }
    if let Some(scraped) = scraped {
        writeln!(stdout, "measurements at http://{scraped}/metrics")?;
    }
    writeln!(stdout, "page for people: {scheme}://{address}/viewer/")?;
    stdout.flush()
}

/// Returns the tools for agents, where this program has them.
fn mount() -> Option<Mount> {
    #[cfg(feature = "mcp")]
    let mount = Some(debate_mcp::mount());
    #[cfg(not(feature = "mcp"))]
    let mount = None;
    mount
}

/// Waits for SIGINT, SIGTERM or another signal that ends processes; a second one ends this one at once.
pub(super) async fn ending() {
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

    // What would end the process at once unless it is heard.
    let kinds = [
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::quit(),
        SignalKind::user_defined1(),
        SignalKind::user_defined2(),
    ];
    let mut signals: Vec<_> = kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect();
    let heard = signals.iter_mut().map(|signal| async move { _ = signal.recv().await }.boxed());
    select_all(heard.chain([interrupted().boxed()])).await;
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

#[cfg(test)]
mod tests {
    use crate::args::Args;
    use crate::commands::Command;

    use super::*;

    #[test]
    fn the_authorities_of_clients_that_are_named_are_those_of_the_server() {
        let options = ["tls-certificate", "tls-key", "tls-client-authorities"];
        let options = options.map(|name| format!("--{name}={name}.pem").into());
        let argv: Vec<_> = ["debate", "serve"].map(Into::into).into_iter().chain(options).collect();
        let Command::Serve(serve) = crate::config::parse(&argv).unwrap().command else { panic!("{argv:?}") };
        let [certificate, key, authorities] =
            ["tls-certificate.pem", "tls-key.pem", "tls-client-authorities.pem"].map(PathBuf::from);
        let files = TlsFiles { certificate, key, client_authorities: Some(authorities) };
        assert_eq!(serve.tls().unwrap(), Some(files));
    }

    #[test]
    fn a_server_has_the_documented_limits_by_default() {
        let argv = ["debate", "serve"].map(Into::into);
        let Args { options, command } = crate::config::parse(&argv).unwrap();
        let Command::Serve(serve) = command else { panic!("{argv:?}") };
        // As many as are asked for, whatever files this machine allows.
        let connections = Connections { max: serve.connections_max as usize, ..serve.connections() };
        assert_eq!(connections, Connections::default());
        assert_eq!(serve.settings(&options), options.settings());
    }
}
