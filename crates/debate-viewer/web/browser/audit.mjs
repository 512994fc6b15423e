// What an auditor asks the page for, and what refreshes without user input.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

/** The prompt of a request is shown once it is asked for, with whether it is what was sent. */
export async function prompts({ page, setup, open, data, holds }) {
  for (const id of [...setup.calm.slice(0, 5), setup.hostile[0]]) {
    await open(`/debates/${id}?tab=audit`);
    await page.waitForSelector("section[aria-labelledby=calls] .entry");
    const { calls } = await data(`/debates/${id}/calls?limit=100`);
    const asked = [];
    const hear = (request) => request.url().endsWith("/prompt") && asked.push(request.url());
    page.on("request", hear);
    for (const place of [0, calls.length - 1]) {
      const { seq, prompt } = calls[place];
      const said = await data(`/debates/${id}/calls/${seq}/prompt`);
      assert.deepEqual([said.agrees, said.sent.digest], [true, prompt.digest]);
      const entry = (await page.$$("section[aria-labelledby=calls] > .entry"))[place];
      await entry.evaluate((entry) => {
        entry.open = true;
        [...entry.querySelectorAll("button")].find((button) => button.textContent === "Show the prompt").click();
      });
      const of = (selector) => entry.$$eval(selector, (found) => found.map((element) => element.textContent));
      await holds((entry) => entry.querySelector("p[role=status] .badge.good") !== null, entry);
      assert.deepEqual(await of("p[role=status]"), ["rendered again from the log, digest agrees"]);
      const shown = await of("pre[aria-label^='Prompt, message']");
      assert.deepEqual(shown, said.rendered.messages.map((message) => message.text), `${id} ${seq}`);
    }
    page.off("request", hear);
    assert.equal(asked.length, 2, "a prompt is asked for one at a time, and only when it is wanted");
  }
}

/** The bundle is saved as a file that is named for its debate. */
export async function bundles({ page, browser, setup, open, press }) {
  const id = setup.calm[0];
  const folder = mkdtempSync(join(tmpdir(), "bundles-"));
  const devtools = await browser.target().createCDPSession();
  await devtools.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: folder, eventsEnabled: true });
  const saved = new Promise((done) => devtools.on("Browser.downloadProgress", ({ state }) => state === "completed" && done()));
  await open(`/debates/${id}?tab=audit`);
  await page.waitForSelector("section[aria-labelledby=check] button");
  await press("Download the bundle");
  await saved;
  const lines = gunzipSync(readFileSync(join(folder, `${id}.bundle`))).toString().split("\n");
  assert.ok(lines[1].includes(id), `${lines[1]} is of another debate`);
  await devtools.detach();
  rmSync(folder, { recursive: true });
}

/** A notice of what went wrong is gone once the same thing goes well. */
export async function mended({ page, setup, open, holds, withheld, press }) {
  await open(`/debates/${setup.calm[0]}?tab=audit`);
  await page.waitForSelector("section[aria-labelledby=check] .badge.good");
  const lift = await withheld((url) => url.pathname.endsWith("/verification"));
  await press("Check again");
  await page.waitForSelector("main > .notice.bad");
  await lift();
  await press("Check again");
  await holds(() => document.querySelector("main > .notice.bad") === null);
}

/** The audit of a debate under way goes on as it does, and a list on which nothing moved shows what begins. */
export async function renewed({ page, browser, setup, open, data, control, holds }) {
  const list = await browser.newPage();
  // Fifteen seconds are a long time for a test.
  await list.evaluateOnNewDocument((token) => {
    sessionStorage.setItem("debate-token", token);
    const real = window.setInterval.bind(window);
    window.pauses = [];
    window.setInterval = (what, ms) => {
      window.pauses.push(ms);
      return real(what, ms / 50);
    };
  }, setup.token);
  await list.goto(`${setup.site}/viewer/?search=quay`, { waitUntil: "domcontentloaded" });
  await list.waitForSelector(".list");
  assert.equal((await list.$$(".list > li")).length, 0);
  assert.equal(await list.evaluate(() => Math.max(...window.pauses)), 15_000, "a list on which nothing moves is seldom asked for");

  const id = await (await control("/begin")).text();
  await list.waitForSelector(".list > li .badge.note");
  assert.equal(await list.$eval(".list > li a", (link) => link.pathname.split("/").pop()), id);
  assert.equal(await list.evaluate(() => window.pauses.at(-1)), 2_000, "one that moves is asked for often");

  await page.bringToFront();
  await open(`/debates/${id}?tab=audit`);
  const entries = (section) => page.$$eval(`section[aria-labelledby=${section}] > .entry`, (found) => found.length);
  await holds(() => document.querySelector("section[aria-labelledby=calls] .entry .badge")?.textContent === "no reply");
  await page.waitForSelector("section[aria-labelledby=events] .entry");
  const before = [await entries("calls"), await entries("events")];
  await control("/free");
  await holds(() => document.querySelector(".whole .badge")?.textContent === "Full: nothing is missing");
  const { calls } = await data(`/debates/${id}/calls`);
  const { head_seq: head } = await data(`/debates/${id}`);
  await holds((calls) => document.querySelectorAll("section[aria-labelledby=calls] > .entry").length === calls, calls.length);
  await holds(() => ![...document.querySelectorAll("section[aria-labelledby=calls] .badge")].some((badge) => badge.textContent === "no reply"));
  await holds((head) => document.querySelectorAll("section[aria-labelledby=events] > .entry").length === Math.min(head, 100), head);
  await holds((head) => document.querySelector("section[aria-labelledby=check] .card")?.textContent.includes(`Head ${head}:`), head);
  assert.ok(before[0] < calls.length && before[1] < Math.min(head, 100), `${before} were there before`);
  await list.bringToFront();
  await list.waitForSelector(".list > li .badge.good");
  await list.close();
}

/** A log whose pages end before they are full is walked whole: each goes on where the last one ended. */
export async function pages({ page, setup, open, data, holds, press }) {
  const id = setup.calm[0];
  const short = (request) => {
    const url = new URL(request.url());
    if (!/\/(events|calls)$/.test(url.pathname)) return request.continue();
    url.searchParams.set("limit", "9");
    return request.continue({ url: url.href });
  };
  page.on("request", short);
  await page.setRequestInterception(true);
  await open(`/debates/${id}?tab=audit`);
  const numbers = (section) => page.$$eval(`section[aria-labelledby=${section}] > .entry .number`, (found) => found.map((entry) => Number(entry.textContent)));
  const { head_seq: head } = await data(`/debates/${id}`);
  const seen = [];
  for (;;) {
    await holds((first) => document.querySelector("section[aria-labelledby=events] > .entry .number")?.textContent === String(first), seen.length + 1);
    seen.push(...(await numbers("events")));
    const label = await page.$eval("section[aria-labelledby=events] .row span", (span) => span.textContent);
    assert.ok(label.includes(` to ${seen.length} of ${head}`), label);
    if (await page.$eval("section[aria-labelledby=events] .row button:last-child", (button) => button.disabled)) break;
    await press("Later");
  }
  assert.deepEqual(seen, Array.from({ length: head }, (_, place) => place + 1), "every event is shown once");
  const { calls } = await data(`/debates/${id}/calls`);
  for (let shown = 9; shown < calls.length; shown += 9) {
    await holds((shown) => document.querySelectorAll("section[aria-labelledby=calls] > .entry").length === shown, shown);
    await press("More requests");
  }
  await holds((all) => document.querySelectorAll("section[aria-labelledby=calls] > .entry").length === all, calls.length);
  assert.deepEqual(await numbers("calls"), calls.map((call) => call.seq), "every request is shown once");
  page.off("request", short);
  await page.setRequestInterception(false);
}
