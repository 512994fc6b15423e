//! A server of debates that ends with its test, and a client of it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use debate_proto::v1;
use debate_proto::v1::debate_service_client::DebateServiceClient;
use debate_proto::v1::watch_debate_response::Item;
use tonic::transport::{Channel, Endpoint};

use crate::program::Program;

/// A server that is killed when the test ends, however it ends.
pub(crate) struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub(crate) address: String,
}

impl Server {
    /// Starts a server on a free port, with more arguments.
    pub(crate) fn start(program: &Program, args: &[&str]) -> Self {
        Self::start_at(program, "127.0.0.1:0", args)
    }

    /// Starts a server at an address, with more arguments.
    pub(crate) fn start_at(program: &Program, address: &str, args: &[&str]) -> Self {
        let args = ["serve", "--listen", address].into_iter().chain(args.iter().copied());
        Self::of(program.command(args))
    }

    /// Starts a server on a free port, with a store in memory, twice: a setting is given as an argument, and in its environment.
    pub(crate) fn start_both_ways(
        program: &Program,
        (flag, variable): (&str, &str),
        value: &str,
    ) -> [Self; 2] {
        let memory = ["serve", "--listen", "127.0.0.1:0", "--store", "memory"];
        let mut of_the_environment = program.command(memory);
        of_the_environment.env(variable, value);
        [program.command(memory.iter().chain(&[flag, value])), of_the_environment].map(Self::of)
    }

    /// Starts the server that a command is.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self { child, stdout, address: String::new() };
        let line = server.says();
        let address = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}"));
        server.address = address.to_owned();
        server
    }

    /// Returns the next line that the server says.
    pub(crate) fn says(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    /// Returns a client of the server.
    pub(crate) async fn client(&self) -> DebateServiceClient<Channel> {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address)).unwrap();
        DebateServiceClient::new(endpoint.connect().await.unwrap())
    }

    /// Asks the process to end, and waits for it.
    pub(crate) fn terminate(mut self) -> ExitStatus {
        self.signal("-TERM");
        self.child.wait().unwrap()
    }

    /// Sends the process a signal, such as `-STOP`.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(status.success());
    }

    /// Kills the process with SIGKILL; nothing of it gets to say a word.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a small request; the same number is the same request.
pub(crate) fn request(number: usize) -> v1::StartDebateRequest {
    let outcome =
        |id: &str| v1::Outcome { id: id.to_owned(), label: id.to_owned(), description: String::new() };
    let context = v1::PredictionContext {
        task: Some(prost_types::Value::from(format!("Will crash {number} be survived?"))),
        outcomes: vec![outcome("yes"), outcome("no")],
        ..Default::default()
    };
    let request = v1::DebateRequest {
        task_id: format!("crash-{number}"),
        prediction_context: Some(context),
        ..Default::default()
    };
    v1::StartDebateRequest {
        request_id: format!("crash-{number}"),
        format: Some(v1::start_debate_request::Format::Prediction(request)),
    }
}

/// Opens a debate and returns its id.
pub(crate) async fn open(client: &mut DebateServiceClient<Channel>, number: usize) -> String {
    client.start_debate(request(number)).await.unwrap().into_inner().debate.unwrap().id
}

/// Follows a debate until it has so many events, or to its end.
pub(crate) async fn follow(client: &mut DebateServiceClient<Channel>, id: &str, events: usize) {
    let watch = v1::WatchDebateRequest { debate_id: id.to_owned(), ..Default::default() };
    let mut stream = client.watch_debate(watch).await.unwrap().into_inner();
    let mut seen = 0;
    while let Some(response) = stream.message().await.unwrap() {
        seen += usize::from(matches!(response.item, Some(Item::Event(_))));
        if seen == events {
            return;
        }
    }
}
