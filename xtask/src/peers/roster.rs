//! Who is measured: each peer, what it is started with, and how much of it a machine can bear.

use std::ffi::OsString;
use std::path::PathBuf;

/// One orchestrator.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) program: Program,
    /// When its calls may begin: `pipelined`, `superstep` or `barrier`.
    pub(crate) schedule: &'static str,
    pub(crate) pace: Pace,
}

/// How a peer is built and started.
#[derive(Debug)]
pub(crate) enum Program {
    /// A package of benches/peers, its binary, and more arguments.
    Rust(&'static str, &'static str, &'static [&'static str]),
    /// A file of requirements and a script of benches/peers/python.
    Python(&'static str, &'static str),
}

/// How many debates a peer holds in reasonable time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pace {
    /// Many a second.
    Fast,
    /// A few a second.
    Slow,
    /// A few a second, or fewer, and no ratio depends on it.
    Slower,
}

/// A peer that is installed.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) peer: &'static Peer,
    /// The program and its first arguments.
    pub(crate) commands: Vec<OsString>,
    /// The recorded requests.
    pub(crate) tape: PathBuf,
    /// Where it may store what it likes; emptied before each run.
    pub(crate) work: PathBuf,
}

/// The engine, and what it is compared with.
pub(crate) const OURS: &str = "ours";
pub(crate) const FLOOR: &str = "floor";
pub(crate) const LOG_FLOOR: &str = "floor-log";
pub(crate) const LANGGRAPH: &str = "langgraph";

/// Every peer, in the order in which they run.
pub(crate) const PEERS: [Peer; 14] = [
    Peer {
        name: OURS,
        program: Program::Rust("peer-ours", "peer-ours", &[]),
        schedule: "pipelined",
        pace: Pace::Fast,
    },
    Peer {
        name: FLOOR,
        program: Program::Rust("peer-floor", "peer-floor", &[]),
        schedule: "pipelined",
        pace: Pace::Fast,
    },
    Peer {
        name: LOG_FLOOR,
        program: Program::Rust("peer-floor", "peer-floor", &["--log"]),
        schedule: "pipelined",
        pace: Pace::Fast,
    },
    Peer {
        name: "floor-barrier",
        program: Program::Rust("peer-floor", "peer-floor", &[]),
        schedule: "barrier",
        pace: Pace::Fast,
    },
    Peer {
        name: "floor-stream",
        program: Program::Rust("peer-floor", "peer-floor", &["--stream"]),
        schedule: "pipelined",
        pace: Pace::Fast,
    },
    Peer {
        name: "lean",
        program: Program::Rust("peer-floor", "peer-lean", &[]),
        schedule: "pipelined",
        pace: Pace::Fast,
    },
    Peer {
        name: "rig",
        program: Program::Rust("peer-rig", "peer-rig", &[]),
        schedule: "pipelined",
        pace: Pace::Fast,
    },
    Peer {
        name: "aiohttp",
        program: Program::Python("asyncio", "aiohttp_peer.py"),
        schedule: "pipelined",
        pace: Pace::Fast,
    },
    Peer {
        name: "httpx",
        program: Program::Python("asyncio", "httpx_peer.py"),
        schedule: "pipelined",
        pace: Pace::Slower,
    },
    Peer {
        name: LANGGRAPH,
        program: Program::Python("langgraph", "langgraph_peer.py"),
        schedule: "superstep",
        pace: Pace::Slow,
    },
    Peer {
        name: "autogen",
        program: Program::Python("autogen", "autogen_peer.py"),
        schedule: "pipelined",
        pace: Pace::Slower,
    },
    Peer {
        name: "agent-framework",
        program: Program::Python("agent-framework", "agent_framework_peer.py"),
        schedule: "pipelined",
        pace: Pace::Slower,
    },
    Peer {
        name: "camel",
        program: Program::Python("camel", "camel_peer.py"),
        schedule: "pipelined",
        pace: Pace::Slower,
    },
    Peer {
        name: "crewai",
        program: Program::Python("crewai", "crewai_peer.py"),
        schedule: "pipelined",
        pace: Pace::Slower,
    },
];
