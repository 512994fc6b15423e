// Opens logs to which an event was added: the page says so and names the event. tests/viewer/faults.rs passes the
// setup as JSON.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { PATIENCE_MS, begin, whole } from "./begin.mjs";

const { chromium, site, controls, report, folded, unfolded, watched } = JSON.parse(process.argv[2]);
const looking = await begin(chromium);
const { page } = looking;

const found = async (id) => (await fetch(`${site}/viewer/data/debates/${id}/verification`)).json();
const open = (id, search = "") => page.goto(`${site}/viewer/debates/${id}${search}`, { waitUntil: "domcontentloaded" });

/** Within a part of the page there is one badge on the log, a bad one, and the event with what is wrong with it behind it. */
async function named(part, { id, added }) {
  const { fault } = await found(id);
  await page.waitForFunction((part) => !document.querySelector(part)?.textContent.includes("Checking…") && document.querySelector(part)?.querySelector(".badge"), { polling: "raf", timeout: PATIENCE_MS }, part);
  const badges = await page.$$eval(`${part} .badge`, (badges) => badges.map((badge) => [badge.className, badge.textContent]));
  const lines = await page.$$eval(`${part} .badge + p`, (lines) => lines.map((line) => line.textContent));
  assert.deepEqual([badges, lines], [[["badge bad", "NOT INTACT"]], [`Event ${added}: ${fault}`]], page.url());
}

/** The part of the glance that says whether the log is intact. */
const mark = () =>
  page.waitForSelector(".glance").then(() =>
    page.$$eval(".glance dl > div", (parts) => {
      parts.find((part) => part.querySelector("dt").textContent === "Is the log intact?").id = "intact";
    }),
  );

await whole(looking, async () => {
  for (const search of ["", "?at=3", "?tab=audit"]) {
    await open(folded.id, search);
    await mark();
    await named("#intact", folded);
  }
  await named("section[aria-labelledby=check] .card", folded);
  await page.goto(pathToFileURL(report).href, { waitUntil: "domcontentloaded" });
  await mark();
  await named("#intact", folded);
  // Of what does not fold there is nothing to glance at.
  for (const search of ["", "?at=3", "?tab=audit"]) {
    await open(unfolded.id, search);
    await named("section[aria-labelledby=check] .card", unfolded);
    const notice = await page.$eval(".notice.bad", (notice) => notice.textContent);
    assert.ok(notice.includes(`the log of debate ${unfolded.id} does not hold together`), notice);
    assert.equal(await page.$(".glance"), null);
  }
  // Somebody looks at a log while the event is added.
  const press = (name) => page.$$eval("button", (buttons, name) => buttons.find((button) => button.ariaLabel === name || button.textContent === name).click(), name);
  await open(watched.id);
  await page.waitForSelector(".glance .badge.good");
  const added = await (await fetch(`${controls}/forge`, { method: "POST" })).text();
  await press("One event back");
  await page.waitForFunction((id) => document.querySelector("main > .notice.bad:first-child")?.textContent.includes(`the log of debate ${id} does not hold together`), {}, watched.id);
  await press("Audit");
  await named("section[aria-labelledby=check] .card", { id: watched.id, added });
  const notices = await page.$$eval(".notice.bad", (notices) => notices.map((notice) => notice.textContent));
  assert.equal(notices.filter((notice) => !notice.startsWith("Simulated")).length, 1, "it is said once");
});
