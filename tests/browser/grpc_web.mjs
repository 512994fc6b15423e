// A page of another site, in a real browser, runs a debate over gRPC-web with a third-party client.
//
// DEBATE_BIN names the program, DEBATE_DESCRIPTORS the file with the descriptors of the services. Ends with 0 when all of
// it holds.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import puppeteer from "puppeteer-core";

const TOKEN = "open-sesame-4711";
const PATIENCE_MS = 60_000;

const chromium = process.env.PATH.split(delimiter).map((folder) => join(folder, "chromium")).find((path) => existsSync(path));
const bundle = await build({ entryPoints: [fileURLToPath(new URL("page.mjs", import.meta.url))], bundle: true, write: false, format: "iife", logLevel: "error" });
const descriptors = await readFile(process.env.DEBATE_DESCRIPTORS);
const files = {
  "/": ["text/html", "<!doctype html><title>gRPC-web</title><script src=/page.js></script>"],
  "/page.js": ["text/javascript", bundle.outputFiles[0].text],
  "/descriptors": ["application/octet-stream", descriptors],
};
const pages = createServer((request, response) => {
  const [type, body] = files[request.url] ?? [];
  response.writeHead(type ? 200 : 404, { "Content-Type": type ?? "text/plain" }).end(body);
});
await once(pages.listen(0, "127.0.0.1"), "listening");
const origin = `http://127.0.0.1:${pages.address().port}`;

/** Starts a server that pages of some origins may use, and returns it with its address. */
async function serve(origins) {
  const args = ["serve", "--listen", "127.0.0.1:0", "--store", "memory", "--model", "simulated:seed=7", "--cors-origins", origins];
  const server = spawn(process.env.DEBATE_BIN, args, { env: { ...process.env, DEBATE_TOKEN: TOKEN }, stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface(server.stdout)) {
    if (line.startsWith("listening on ")) return { server, address: `http://${line.split(" ").at(-1)}` };
  }
  throw new Error("the server never says where it listens");
}

const known = await serve(origin);
const strange = await serve("https://elsewhere.example");
const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(origin);
  const seen = await page.evaluate((address, token) => window.debate(address, token), known.address, TOKEN);
  assert.deepEqual(seen.seqs, seen.seqs.map((_, place) => place + 1), "every event once and in order");
  assert.equal(seen.last, "concluded");
  assert.equal(seen.isSame, true, "the same request opens one debate");
  assert.equal(seen.wrongToken, "Unauthenticated");
  assert.equal(seen.missing, "NotFound");
  assert.equal(seen.invalid, "InvalidArgument");
  const refused = await page.evaluate((address, token) => window.debate(address, token).catch((error) => String(error)), strange.address, TOKEN);
  assert.match(refused, /fetch/i, "a site that is not named is not served");
  console.log(`${seen.seqs.length} events over gRPC-web in ${await browser.version()}; a site that is not named is refused`);
} finally {
  await browser.close();
  for (const { server } of [known, strange]) server.kill();
  pages.close();
}
