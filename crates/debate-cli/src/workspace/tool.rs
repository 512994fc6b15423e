//! What a folder offers, as tools.

use std::sync::Arc;

use async_trait::async_trait;
use debate_core::formats::investigation::evidence::CHECK_TOOL;
use debate_core::id::Timestamp;
use debate_engine::Tool;
use serde_json::{Value, json};

use super::{Workspace, clipped};

/// One way to look into a folder.
struct Look {
    workspace: Arc<Workspace>,
    name: &'static str,
    arguments: Value,
}

#[async_trait]
impl Tool for Look {
    fn name(&self) -> &str {
        self.name
    }

    fn arguments(&self) -> &Value {
        &self.arguments
    }

    async fn run(&self, arguments: &str, _as_of: Timestamp) -> Result<String, String> {
        let found = self.workspace.run(self.name, arguments).await;
        found.map(|found| clipped(&found)).map_err(|error| clipped(&format!("{error:#}")))
    }
}

impl Workspace {
    /// Returns the tools that look into this folder.
    pub(crate) fn tools(self) -> Vec<Arc<dyn Tool>> {
        let workspace = Arc::new(self);
        let (text, number) = (json!({ "type": "string" }), json!({ "type": "integer", "minimum": 1 }));
        // A line of a file, or a commit.
        let quoted = json!({ "path": text, "line": number, "commit": text, "quote": text });
        let lines = json!({ "path": text, "from": number, "to": number });
        let looks = [
            ("read_file", lines.clone(), vec!["path"]),
            ("search", json!({ "text": text, "path": text }), vec!["text"]),
            (CHECK_TOOL, quoted, vec!["quote"]),
            ("git_log", json!({ "path": text, "count": number }), Vec::new()),
            ("git_blame", lines, vec!["path"]),
        ];
        let tool = |(name, properties, required)| -> Arc<dyn Tool> {
            let arguments = json!({ "type": "object", "properties": properties, "required": required });
            Arc::new(Look { workspace: Arc::clone(&workspace), name, arguments })
        };
        looks.map(tool).into()
    }
}
