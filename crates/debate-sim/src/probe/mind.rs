//! What a simulated model says when it is probed, and what its tools find. Both follow from the question alone.

use debate_llm::simulated::{Draw, Flaws, Mind};
use debate_llm::{ChatRequest, Role};

use super::VALUE_MAX;
use super::prompts::{Reply, TOOLS_LINE, ToolAsk};

/// Turns that may ask for tools before an answer is due.
const TOOL_TURNS_MAX: usize = 2;

/// How often a turn asks for tools.
const TOOLS_RATE: f64 = 0.25;

/// How many numbers above [`VALUE_MAX`] are said among the others.
const UNUSABLE: u32 = 3;

/// A mind that answers a probe.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProbeMind;

impl Mind for ProbeMind {
    fn reply(&self, request: &ChatRequest, draw: &mut Draw, _flaws: &Flaws) -> String {
        let turns = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
        let has_tools = request.messages.iter().any(|message| message.content.contains(TOOLS_LINE));
        let reply = if has_tools && turns < TOOL_TURNS_MAX && draw.chance(TOOLS_RATE) {
            let uses = 1 + draw.below(2);
            let ask = |index: usize| {
                let tool = if (index + turns).is_multiple_of(2) { "lookup" } else { "count" };
                ToolAsk {
                    tool: tool.to_owned(),
                    arguments: format!("{{\"key\":\"{:016x}\"}}", draw.next_u64()),
                }
            };
            Reply { tools: (0..uses).map(ask).collect(), ..Reply::default() }
        } else {
            let value = draw.below((VALUE_MAX + UNUSABLE) as usize + 1);
            let text = format!("Word {:08x}.", draw.next_u64() >> 32);
            Reply { value: u32::try_from(value).ok(), text, ..Reply::default() }
        };
        serde_json::to_string(&reply).expect("a reply has string keys and whole numbers")
    }
}

/// The tools of all subjects.
pub const TOOLS: [&str; 9] = [
    "lookup",
    "count",
    "read_file",
    "search",
    "git_log",
    "git_blame",
    "check_quote",
    "search_web",
    "fact_check",
];

/// Returns what a tool finds.
///
/// # Errors
/// It does not do what it was asked, and says so in the same words.
pub fn tool(name: &str, arguments: &str) -> Result<String, String> {
    let sum = arguments.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let found = Draw::new(sum).next_u64() % 100;
    let said = format!("{name} finds {found}");
    if found >= 15 { Ok(said) } else { Err(said) }
}
