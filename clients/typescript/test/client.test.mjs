// The client against real servers. DEBATE_BIN names the program, DEBATE_CLIENT the folder of what tsc wrote.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { inspect, promisify } from "node:util";

const built = process.env.DEBATE_CLIENT;
const { DebateClient, Problem } = await import(pathToFileURL(join(built, "client.js")).href);
const here = (name) => readFileSync(join(import.meta.dirname, "..", name), "utf8");
const deliberation = { format: "deliberation", topic: "Move?", participants: [{ name: "ann" }, { name: "ben" }] };

/** Starts a server, ended with the test, and returns its address and what kills it. */
async function serve(context, options, address = "127.0.0.1:0") {
  const environment = Object.entries(process.env).filter(([name]) => !name.startsWith("DEBATE_"));
  const child = spawn(process.env.DEBATE_BIN, ["serve", "--listen", address, ...options], {
    env: Object.fromEntries(environment),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  context.after(kill);
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return { address: line.replace("listening on ", ""), kill };
}

test("the example of the README runs as it stands", async (context) => {
  assert.ok(here("README.md").includes(`\`\`\`ts\n${here("src/quickstart.ts")}\`\`\``));
  const { address } = await serve(context, ["--store", "memory"]);
  const env = { ...process.env, DEBATE_SERVER: `http://${address}` };
  const { stdout } = await promisify(execFile)(process.execPath, [join(built, "quickstart.js")], { env });
  assert.match(stdout, /^1 opened\n/);
  assert.match(stdout, /\d+ concluded\n/);
});

test("events whose server is killed, and a start that is sent again, are neither lost nor repeated", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "debate-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const slow = ["--store", `sqlite://${folder}/a.sqlite`, "--model", "simulated:latency=60ms,tokens_per_second=2000"];
  const first = await serve(context, slow);
  const client = new DebateClient(`http://${first.address}`, { triesMax: 60 });
  const { id } = await client.start(deliberation, "one");
  const seen = [];
  for await (const event of client.events(id)) {
    seen.push(event);
    if (seen.length === 8) {
      await first.kill();
      // No server runs for a while: the client has to wait.
      void serve(context, slow, first.address);
      assert.equal((await client.start(deliberation, "one")).id, id);
    }
  }
  assert.deepEqual(seen.map((event) => event.seq), seen.map((_, index) => index + 1));
  assert.equal(seen.at(-1).kind, "concluded");
  assert.equal((await client.show(id)).debate.state, "concluded");
});

test("permanent errors are thrown at once, with every invalid field", async (context) => {
  const { address } = await serve(context, ["--store", "memory", "--token", "open-sesame-4711"]);
  const missing = "00000000-0000-4000-8000-000000000000";
  const stranger = new DebateClient(`http://${address}`);
  await assert.rejects(stranger.show(missing), (error) => error instanceof Problem && error.status === 401);
  const client = new DebateClient(`http://${address}`, { token: "open-sesame-4711" });
  await assert.rejects(client.events(missing).next(), (error) => error instanceof Problem && error.status === 404);
  await assert.rejects(client.start({ format: "deliberation" }), (error) => {
    assert.deepEqual(error.errors.map(({ field }) => field).sort(), ["participants", "topic"]);
    return error.status === 422;
  });
});

test("an address with a login, a query or a fragment, or an invalid one, is refused and not printed", () => {
  for (const odd of ["http://ann:s3cret@h:9", "http://h/?key=s3cret", "http://h/#s3cret", "s3cret@http://h", "ann:s3cret@h:9"]) {
    assert.throws(
      () => new DebateClient(odd),
      (error) => error instanceof TypeError && !inspect(error).includes("s3cret"),
    );
  }
});

test("a client does not print with its token", () => {
  const client = new DebateClient("http://h:9", { token: "open-sesame-4711" });
  const printed = `${inspect(client, { showHidden: true, depth: null })} ${JSON.stringify(client)}`;
  assert.ok(printed.includes("http://h:9") && !printed.includes("open-sesame"), printed);
});

test("a redirect is an error at once and is not followed", async (context) => {
  const asked = [];
  const listen = async (answer) => {
    const server = createServer((request, response) => {
      asked.push(`${server.address().port} ${request.method}`);
      answer(response);
    });
    context.after(() => server.close().closeAllConnections());
    await once(server.listen(0, "127.0.0.1"), "listening");
    return server.address().port;
  };
  const elsewhere = await listen((response) => response.end("{}"));
  for (const status of [301, 302, 303, 307, 308]) {
    const location = `http://127.0.0.1:${elsewhere}/`;
    const port = await listen((response) => response.writeHead(status, { location }).end());
    const client = new DebateClient(`http://127.0.0.1:${port}`, { token: "open-sesame-4711" });
    const led = (error) => error instanceof Problem && error.reason === "REDIRECTED";
    await assert.rejects(client.start(deliberation), led);
    await assert.rejects(client.events("any").next(), led);
    assert.deepEqual(asked.splice(0), [`${port} POST`, `${port} GET`]);
  }
});
