// A model server written by others, with which the adapters must get along.
//
// AIMOCK names the folder in which npm installed it. Starts it on a free port, tells its address in
// DEBATE_AIMOCK_URL to the command given as arguments, and ends as that command ends.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.env.AIMOCK, "package.json"));
const { LLMock } = require("@copilotkit/aimock");

const mock = new LLMock({ port: 0, chunkSize: 3, strict: true });
const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
// Each agent of a roundtable has its own position and answers the others in later rounds. Registered first because
// the first match answers, and these prompts are long.
mock.on({ userMessage: "# Output format" }, ({ messages }) => {
  const said = (role) => messages.filter((one) => one.role === role).map((one) => one.content).join("\n");
  const name = /You are ([^.]+)\./.exec(said("system"))?.[1] ?? "no one";
  const round = Number(/This is round (\d+)/.exec(said("user"))?.[1] ?? 1);
  const stance = /Your assigned stance: (YES|NO|NEUTRAL)/.exec(said("system"))?.[1] ?? null;
  const position = `${name} holds in round ${round} that ${name.length} of ten would pay for it.`;
  const reasoning = round > 1 ? "I disagree with what was said before: who counts the costs?" : "Somebody has to begin.";
  const reply = { stance, position, reasoning, confidence: 0.4 + 0.1 * (name.length % 3), citations: [] };
  return { content: JSON.stringify(reply), usage };
});
mock.on({ userMessage: "greet" }, { content: "Grüße aus 東京 — héllo!", usage });
mock.on({ userMessage: "think" }, { content: "42", reasoning: "six times seven" });
mock.on({ userMessage: "answer as JSON" }, { content: '{"x": 0.25, "why": "because"}' });
mock.on({ userMessage: "add", hasToolResult: true }, { content: "The sum is 3." });
mock.on(
  { userMessage: "add", hasToolResult: false },
  { toolCalls: [{ name: "add", arguments: '{"x":1,"y":2}' }] },
);
mock.on({ userMessage: "be long" }, { content: "cut here", finishReason: "length" });
mock.on({ userMessage: "break off" }, { content: "never said to its end" }, { truncateAfterChunks: 4, latency: 10 });
for (const [name, status, type] of [
  ["no key", 401, "authentication_error"],
  ["no model", 404, "not_found_error"],
  ["no sense", 400, "invalid_request_error"],
  ["too fast", 429, "rate_limit_error"],
  ["broken", 500, "api_error"],
  ["busy", 503, "overloaded_error"],
]) {
  mock.on({ userMessage: name }, { error: { message: `it says ${name}`, type }, status, retryAfter: 0 });
}

await mock.start();
const [program, ...args] = process.argv.slice(2);
const env = { ...process.env, DEBATE_AIMOCK_URL: mock.url };
const child = spawn(program, args, { env, stdio: "inherit" });
const [code] = await once(child, "exit");
await mock.stop();
process.exit(code ?? 1);
