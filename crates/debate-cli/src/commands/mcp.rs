//! `debate mcp`: roundtables as tools for agents, over stdio.

use std::path::PathBuf;

use crate::args::Options;
use crate::exit::End;

/// Serve roundtables as tools of the Model Context Protocol
///
/// The same tools are served over HTTP by `debate serve`, at /mcp. Roundtables that an earlier process left behind are
/// taken up where their logs end. It ends when its client goes; what runs stays in the log and goes on at the next start.
/// Needs a program that was built with `--features mcp`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate mcp
  debate mcp --store sqlite://roundtables.db --model openai:gpt-5-mini
  npx @modelcontextprotocol/inspector debate mcp")]
pub(crate) struct Mcp {
    /// Folder of the skills of deliberations: a folder for each, with SKILL.md in it
    #[arg(long, env = "DEBATE_SKILLS_DIR", value_name = "FOLDER")]
    skills_dir: Option<PathBuf>,
}

#[cfg(feature = "mcp")]
impl Mcp {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        use debate_grpc::Facade;

        std::thread::spawn(debate_prompts::tokens::warm_up);
        let admission = crate::admission::admission(options, self.skills_dir.clone())?;
        let settings = options.settings();
        let app = crate::app_context::AppContext::open(options, settings).await?;
        app.engine.recover().await?;
        let closing = tokio_util::sync::CancellationToken::new();
        let facade = Facade::new(app.engine.clone(), admission, closing.clone());
        let ending = async {
            super::serve::ending().await;
            closing.cancel();
        };
        let served = debate_mcp::serve_stdio(facade, ending).await;
        app.close().await;
        served?;
        Ok(End::Done)
    }
}

#[cfg(not(feature = "mcp"))]
impl Mcp {
    /// Says how to build a program that has the command.
    pub(crate) async fn run(&self, _options: &Options) -> anyhow::Result<End> {
        let _unused = &self.skills_dir;
        Err(crate::exit::Failure::bad_input(
            "this program was built without MCP; build it with --features mcp",
        ))
    }
}
