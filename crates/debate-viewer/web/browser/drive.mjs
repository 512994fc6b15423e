// Opens the page in a real browser and compares it with what the server says. tests/viewer/browser.rs passes the
// setup as JSON. If DEBATE_SCREENSHOTS is set to a folder, the script saves pictures there.
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { PATIENCE_MS, begin, whole } from "./begin.mjs";
import { bundles, mended, pages, prompts, renewed } from "./audit.mjs";
import { faint, saysTheSame, withholding } from "./looks.mjs";

const setup = JSON.parse(process.argv[2]);
const pictures = process.env.DEBATE_SCREENSHOTS;
const WIDE = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };

const looking = await begin(setup.chromium);
const { browser, page, wrong } = looking;
page.on("console", (message) => {
  const isExpected = message.text().includes("net::ERR_") || /status of 40[134]/.test(message.text());
  if (message.type() === "error" && !isExpected) wrong.push(`console: ${message.text()}`);
});
const reports = pathToFileURL(setup.reports).href;
page.on("request", (request) => {
  const isOurs = [setup.site, "data:", "blob:", reports].some((start) => request.url().startsWith(start));
  if (!isOurs) wrong.push(`asked elsewhere: ${request.url()}`);
  if (request.url().includes(setup.token)) wrong.push(`the token is in an address: ${request.url()}`);
});
await page.evaluateOnNewDocument(() => {
  window.violations = [];
  document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
});

const data = async (path) => (await fetch(`${setup.site}/viewer/data${path}`, { headers: { Authorization: `Bearer ${setup.token}` } })).json();
const control = (path) => fetch(`${setup.controls}${path}`, { method: "POST" });
/** What the interface for programs says of a debate, which the page does not ask. */
const interfaceSays = async (id) => (await fetch(`${setup.site}/api/v1/reasoning/debate/${id}`, { headers: { Authorization: `Bearer ${setup.token}` } })).json();
const open = async (path) => {
  assert.deepEqual(await page.evaluate(() => window.violations ?? []), [], `the policy held on ${page.url()}`);
  await page.goto(`${setup.site}/viewer${path}`, { waitUntil: "domcontentloaded" });
};
const text = (selector) => page.$eval(selector, (element) => element.textContent);
const count = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
const texts = (selector) => page.$$eval(selector, (elements) => elements.map((element) => element.textContent));
const withheld = (which) => withholding(page, which);
const press = (name) => page.$$eval("button", (buttons, name) => buttons.find((button) => button.textContent === name).click(), name);
const holds = (what, ...given) => page.waitForFunction(what, { polling: "raf", timeout: PATIENCE_MS }, ...given);
/** Takes a picture of a page from its beginning, as far down as one looks. */
const picture = async (name, most = 2_400) => {
  if (pictures === undefined) return;
  await page.evaluate(() => window.scrollTo(0, 0));
  const [width, height] = await page.evaluate(() => [document.documentElement.clientWidth, document.documentElement.scrollHeight]);
  await page.screenshot({ path: join(pictures, `${name}.webp`), type: "webp", quality: 60, clip: { x: 0, y: 0, width, height: Math.min(height, most) }, captureBeyondViewport: true });
};

async function step(name, look) {
  const began = performance.now();
  await look();
  assert.deepEqual(await page.evaluate(() => window.violations), [], "the policy held");
  console.log(`${name}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
}

/** Nothing is shown without a token, what it reaches with one, and it is gone with its tab. */
async function tokens() {
  const give = async (token) => {
    await page.waitForSelector("input[name=token]");
    await page.$eval("input[name=token]", (input, token) => (input.value = token), token);
    await page.focus("input[name=token]");
    await Promise.all([page.waitForNavigation({ waitUntil: "domcontentloaded" }), page.keyboard.press("Enter")]);
  };
  const path = `/debates/${setup.hostile[0]}`;
  await open(path);
  await page.waitForSelector("input[name=token]");
  assert.equal((await page.$$("h1, .list > li")).length, 0, "nothing is shown without a token");
  await give("dbt_wrong");
  await page.waitForSelector(".notice.bad");
  assert.ok((await text(".notice.bad")).includes("token"), "the page reports a wrong token");
  await give(setup.stranger);
  await holds(() => document.querySelector(".notice.bad")?.textContent.startsWith("there is no debate"));
  await page.evaluate(() => sessionStorage.clear());
  await open(path);
  await give(setup.reader);
  await page.waitForSelector("h1");
  await press("Audit");
  await holds(() => document.querySelector(".notice.bad")?.textContent.includes("scope audit"));
  await give(setup.token);
  await page.waitForSelector(".entry");
  assert.ok(!page.url().includes(setup.token) && !(await page.cookies()).length, "the token is in no address and no cookie");
  const kept = await page.evaluate(() => [JSON.stringify(localStorage), JSON.stringify(sessionStorage)]);
  assert.deepEqual([kept[0], kept[1].includes(setup.token)], ["{}", true]);
  const other = await browser.newPage();
  await other.goto(page.url(), { waitUntil: "domcontentloaded" });
  await other.waitForSelector("input[name=token]");
  await other.close();
}

/** The list has every debate, and the search finds what the server finds. */
async function list() {
  await page.setViewport(WIDE);
  await open("/");
  await page.waitForSelector(".list > li");
  const bytes = await page.evaluate(() =>
    [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
      .reduce((sum, entry) => sum + entry.transferSize, 0),
  );
  assert.ok(bytes < 200_000, `first paint took ${bytes} bytes`);
  console.log(`  first paint: ${bytes} bytes`);
  await picture("list", 1_200);
  for (;;) {
    const shown = await page.$$eval(".list > li", (rows) => rows.length);
    const more = await page.evaluateHandle(() => [...document.querySelectorAll("main > button")].find((button) => button.textContent === "Older debates") ?? null);
    if (more.asElement() === null) break;
    await more.click();
    await holds((shown) => document.querySelectorAll(".list > li").length > shown, shown);
  }
  const links = await page.$$eval(".list > li a", (links) => links.map((link) => link.pathname.split("/").pop()));
  assert.equal(new Set(links).size, setup.debates, "every debate stands on the list once");
  await page.type("input[type=search]", "closed winter");
  await holds(() => document.querySelectorAll(".list > li").length === 2);
  const found = await data("/debates?search=closed%20winter");
  assert.deepEqual(await texts(".list > li a"), found.debates.map((debate) => debate.title));
  assert.ok(page.url().includes("search=closed"), "the address holds what is looked for");
  const filtered = async (query, fields) => {
    await open(`/${query}`);
    await page.waitForSelector(".list");
    for (const [label, value] of Object.entries(fields)) {
      if (!/^\d/.test(value)) await holds((value) => [...document.querySelectorAll(".filters option")].some((option) => option.value === value), value);
      await page.evaluate(
        (label, value) => {
          const field = [...document.querySelectorAll(".filters label")].find((entry) => entry.firstChild.textContent === label).querySelector("select, input");
          Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value").set.call(field, value);
          field.dispatchEvent(new Event("input", { bubbles: true }));
        },
        label,
        value,
      );
      await page.waitForFunction((value) => location.search.includes(value), { timeout: PATIENCE_MS }, value);
    }
    const found = await data(`/debates${await page.evaluate(() => location.search.replace(/((?:since|until)=[\d-]+)/g, "$1T00:00:00Z"))}`);
    await holds((titles) => JSON.stringify([...document.querySelectorAll(".list > li a")].map((link) => link.textContent)) === titles, JSON.stringify(found.debates.map((debate) => debate.title)));
    return found.debates;
  };
  for (const [fields, holdsFor] of [
    [{ Format: "roundtable" }, (debate) => debate.format === "roundtable"],
    [{ State: "running" }, (debate) => debate.state === "running"],
    [{ Format: "prediction", Completeness: "void" }, (debate) => debate.completeness === "void"],
    [{ Format: "review", State: "concluded", Completeness: "full" }, (debate) => debate.format === "review"],
  ]) {
    const found = await filtered("", fields);
    assert.ok(found.length > 0 && found.every(holdsFor), JSON.stringify(fields));
  }
  assert.equal((await filtered("", { "Opened before": "2000-01-01" })).length, 0);
  assert.ok((await filtered("?format=deliberation", { "Opened from": "2000-01-01" })).length > 0);
}

/** A live debate is watched to its end, through a reload and a cut. */
async function live() {
  const id = setup.live;
  // What is said before the page listens it need not hear.
  const listens = page.waitForResponse((response) => response.url().endsWith(`/debates/${id}/follow`));
  await open(`/debates/${id}`);
  await page.waitForSelector("h1");
  await holds(() => document.querySelector("section[aria-label='Under way']")?.textContent.includes("round 1, argue"));
  assert.ok((await text(".whole")).includes("running"), "what is not whole comes first");
  await listens;
  await control("/speak/2");
  await page.waitForSelector("article.said.live");
  await control("/speak/3");
  await page.waitForSelector("article.said:not(.live)");
  const twice = () => page.evaluate(() => {
    const said = [...document.querySelectorAll("article.said:not(.live) > .prose")].map((text) => text.textContent);
    return [...document.querySelectorAll("article.live > .prose")].filter((text) => said.includes(text.textContent)).length;
  });
  assert.equal(await twice(), 0, "what was said is no longer being said");
  assert.ok((await text(".whole")).includes("Still to come: "), "what is still to be said is not missing");
  await picture("live", 1_700);
  await page.reload({ waitUntil: "domcontentloaded" });
  await page.waitForSelector("article.said:not(.live)");
  const before = (await data(`/debates/${id}`)).seq;
  await control("/speak/4");
  await holds((before) => Number(document.querySelector("label[for=moment]").textContent.match(/\d+/)[0]) > before, before);
  await control("/cut");
  await holds(() => document.body.textContent.includes("The connection was cut"));
  const lift = await withheld((url) => url.pathname.endsWith(`/debates/${id}`));
  await control("/mend");
  await holds(() => !document.body.textContent.includes("The connection was cut"));
  await control("/free");
  // The stream says the end; the page that shows it cannot be had.
  await holds(() => document.querySelector(".notice.warn")?.textContent.startsWith("The server cannot be reached"));
  for (let state; state !== "concluded"; ) ({ state } = await data(`/debates/${id}`));
  assert.ok((await text(".whole")).includes("running"), "nothing else is shown than what was had");
  await lift();
  await holds(() => document.querySelector(".whole .badge")?.textContent === "Full: nothing is missing");
  await holds(() => document.querySelector(".glance").textContent.includes("Intact"));
  assert.equal((await page.$$(".notice.warn")).length, 0, "what was late is there");
  await agrees(id);
}

/** The page says what the server says. */
async function agrees(id) {
  const said = await data(`/debates/${id}`);
  const { result } = said;
  assert.equal(await text("h1"), said.title);
  assert.ok((await text(".notice.bad")).startsWith("Simulated"), "what is made up says so");
  assert.ok((await text("label[for=moment]")).endsWith(`of ${said.head_seq}`));
  const labels = new Map(said.rules.outcomes.map((outcome, place) => [outcome, said.brief.outcomes[place].label]));
  const ranked = [...result.probability_distribution].sort((a, b) => b.probability - a.probability);
  const bars = ranked.map((entry) => `${labels.get(entry.outcome_id)}${(entry.probability * 100).toFixed(1)}\u00a0%`);
  assert.deepEqual(await texts("section[aria-labelledby=answer] .bars > li"), bars);
  const all = result.debate_log.rounds.flatMap((round) => round.arguments);
  assert.deepEqual(await texts("article.said > .prose"), all.map((argument) => argument.argument));
  assert.deepEqual(await texts("article.said .score"), all.map((argument) => `score ${argument.scores.composite?.toFixed(2) ?? "–"}`));
  assert.deepEqual(await texts("article.said h4"), all.map((argument) => argument.role));
  const rebuttals = all.flatMap((argument) => (argument.rebuts.length > 0 ? [`rebuts ${argument.rebuts.join(", ")}`] : []));
  assert.deepEqual((await texts("article.said header > span")).filter((span) => span.startsWith("rebuts")), rebuttals);
  assert.equal(await text("section[aria-labelledby=reasoning] .prose"), result.extra.judge_reasoning);
  const cells = await page.$$eval("table tbody:first-of-type tr:first-child td.number", (cells) => cells.map((cell) => cell.textContent));
  const first = result.extra.ledger.filter((entry) => entry.role === said.rules.roles[0]);
  assert.deepEqual(cells, first.map((entry) => `${(entry.probabilities[0] * 100).toFixed(1)}\u00a0%`));
  assert.equal((await page.$$(".chart svg[role=img][aria-label]")).length, said.rules.outcomes.length);
  const points = await page.$$eval(".chart:first-child .mark", (marks) => marks.length);
  assert.equal(points, result.extra.ledger.length, "a mark for each role and round");
  await saysTheSame(page, await interfaceSays(id));
}

/** Every moment of a long debate is near. */
async function slider() {
  const { head_seq: head } = await data(`/debates/${setup.long}`);
  assert.ok(head >= 5_000, `${head} events`);
  await open(`/debates/${setup.long}?at=17`);
  await holds(() => document.querySelector("label[for=moment]")?.textContent.startsWith("Event 17 of"));
  assert.ok((await text(".whole")).includes((await data(`/debates/${setup.long}?at=17`)).state));
  await page.focus("#moment");
  await page.keyboard.press("ArrowLeft");
  await holds(() => document.querySelector("label[for=moment]").textContent.startsWith("Event 16 of"));
  assert.ok(page.url().includes("at=16"), "the address names the moment");
  await holds((note) => document.querySelector(".notice.note")?.textContent === note, `As it was at event 16 of ${count(head)}; it has since concluded.`);
  // The whole log is checked, whatever moment is shown.
  await holds(() => document.querySelector(".glance").textContent.includes("Intact"));
  const lift = await withheld((url) => url.searchParams.get("at") === "15");
  await page.keyboard.press("ArrowLeft");
  await holds(() => document.querySelector(".notice.warn")?.textContent.startsWith("The server cannot be reached"));
  await lift();
  await holds(() => document.querySelector(".notice.note")?.textContent.startsWith("As it was at event 15 "));
  assert.equal((await page.$$(".notice.warn")).length, 0);
  let asks = 0;
  page.on("request", (request) => (asks += request.url().includes(`/debates/${setup.long}`) ? 1 : 0));
  const before = asks;
  const waits = await page.evaluate(async (head) => {
    const slider = document.querySelector("#moment");
    const shown = document.querySelector("#moment-at");
    const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
    const waits = [];
    for (let place = 0; place < 40; place += 1) {
      const at = 1 + ((place * 1_237) % head);
      const began = performance.now();
      set.call(slider, String(at));
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      while (shown.textContent === "…" || !location.search.includes(`at=${at}`)) await new Promise(requestAnimationFrame);
      await new Promise(requestAnimationFrame);
      waits.push(performance.now() - began);
    }
    return waits.sort((a, b) => a - b);
  }, head);
  const at = Number(new URL(page.url()).searchParams.get("at"));
  const then = await data(`/debates/${setup.long}?at=${at}`);
  assert.ok((await text(".whole")).includes(then.state), `state at ${at}`);
  assert.equal((await texts("article.said:not(.live)")).length, then.result.debate_log.rounds.flatMap((round) => round.arguments).length);
  const asked = asks - before;
  assert.ok(asked <= 45, `40 moments were asked for with ${asked} requests`);
  const shape = await page.evaluate(() => [document.querySelectorAll("#page *").length, document.querySelectorAll("article.said").length]);
  assert.ok(shape[0] < 2_000 + 40 * shape[1], `a page of ${shape[1]} speeches has ${shape[0]} elements, whatever the log is`);
  console.log(`  ${head} events: a moment is shown after ${waits[20].toFixed(0)} ms (median), ${waits[39].toFixed(0)} ms (longest)`);
  await picture("slider", 900);
  await press("Back to the latest");
  await holds((head) => document.querySelector("label[for=moment]").textContent.replaceAll(",", "").startsWith(`Event ${head} of`), head);
}

/** A debate and its fork are set side by side, at the first thing in which they differ. */
async function comparison() {
  const both = [setup.calm[0], setup.fork];
  const { difference } = await data(`/difference?a=${both[0]}&b=${both[1]}`);
  await open("/compare");
  await page.waitForSelector("input[name=a]");
  await page.type("input[name=a]", both[0]);
  await page.type("input[name=b]", both[1]);
  await Promise.all([page.waitForNavigation({ waitUntil: "domcontentloaded" }), page.keyboard.press("Enter")]);
  await page.waitForSelector("section[aria-labelledby=as-they-stand]");
  assert.equal(await page.title(), "Compare");
  assert.equal(await text("section[aria-labelledby=first-difference] code"), difference.field);
  const places = await page.$$eval("section[aria-labelledby=first-difference] .card a", (links) => links.map((link) => link.pathname.split("/").pop() + link.search));
  assert.deepEqual(places, [difference.a, difference.b].map((place) => `${place.debate_id}?at=${place.seq}`));
  const shares = await Promise.all(both.map(async (id) => (await data(`/debates/${id}`)).result.probability_distribution));
  const shown = shares.flat().map((entry) => `${(entry.probability * 100).toFixed(1)}\u00a0%`);
  assert.deepEqual(await texts("section[aria-labelledby=as-they-stand] .bars strong"), shown);
  await picture("comparison");
}

/** The calibration page has the numbers of the server, by keyboard and on a phone too. */
async function calibration() {
  const found = await data("/calibration");
  const signed = (value, digits) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;
  const interval = (found, digits) => (found === null ? "–" : spread(found, digits));
  const spread = ({ mean, low, high }, digits) => `${signed(mean, digits)} [${signed(low, digits)}, ${signed(high, digits)}]`;
  const rows = (selector) => page.$$eval(`${selector} tbody tr`, (rows) => rows.map((row) => [...row.querySelectorAll("td.number")].map((cell) => cell.textContent)));
  await page.setViewport(WIDE);
  await open("/");
  await page.waitForSelector("nav.top");
  await page.$$eval("nav.top a", (links) => links.find((link) => link.textContent === "Calibration").click());
  await page.waitForSelector(".reliability");
  assert.equal(found.source, "simulated");
  assert.ok((await text(".notice.bad")).startsWith("Simulated: a program made up"), "what is made up says so");
  assert.equal(await text("p[role=status]"), `${found.resolved} simulated debates on ${found.questions} questions resolved.`);
  assert.deepEqual(
    await rows("section[aria-labelledby=gains]"),
    found.comparisons.map(({ brier, log_bits, questions }) => [interval(brier, 4), interval(log_bits, 3), String(questions)]),
  );
  const parts = (mean, apart, debates) => [
    ...[mean, apart?.loss, apart?.reliability, apart?.resolution, apart?.uncertainty, apart?.within_bins].map((value) => value?.toFixed(4).replace("-", "−") ?? "–"),
    String(debates),
  ];
  const losses = ["brier", "log_bits"].flatMap((loss) => found.forecasts.map((forecast) => parts(forecast[`${loss}_mean`], forecast[loss], forecast.debates)));
  assert.deepEqual(await rows(".losses"), losses);
  assert.equal((await rows("section[aria-labelledby=groups]")).length, found.groups.length);
  const reliable = async (key) => {
    const { calibration: bins, debates } = found.forecasts.find(({ of, role }) => (role === undefined ? of : `${of}:${role}`) === key);
    await holds((many) => document.querySelector(".reliability figcaption")?.textContent.includes(`${many};`), `${debates} forecast${debates === 1 ? "" : "s"}`);
    assert.deepEqual((await rows(".bins")).map(([many]) => many), bins.map((bin) => String(bin.count)), key);
    assert.equal((await page.$$(".reliability .mark")).length, bins.filter((bin) => bin.count > 0).length, key);
    assert.ok((await page.$eval(".reliability svg[role=img]", (chart) => chart.getAttribute("aria-label"))).includes("The numbers are in the table"));
  };
  await reliable("final");
  await picture("calibration", 3_000);
  assert.ok(found.forecasts.some(({ of }) => of === "opening"), "a persona alone is a forecaster of its own");
  await page.focus("#reliability ~ .choice select");
  for (let step = 0; step < found.forecasts.length - 1; step += 1) await page.keyboard.press("ArrowDown");
  const last = found.forecasts[found.forecasts.length - 1];
  await holds((key) => new URLSearchParams(location.search).get("of") === key, `${last.of}:${last.role}`);
  await reliable(`${last.of}:${last.role}`);
  await open("/calibration?of=market");
  await page.waitForSelector(".reliability");
  await reliable("market");
  await page.setViewport(PHONE);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "a phone shows it whole");
  const tallest = await page.$$eval("tr", (rows) => Math.max(...rows.map((row) => row.getBoundingClientRect().height)));
  assert.ok(tallest < 200, `words of tables stay whole: a row is ${tallest} pixels high`);
  await page.setViewport(WIDE);
  // An id may begin with a 3 too.
  const known = (await data("/debates?search=harbour%203%20freeze")).debates.find((debate) => debate.title.includes("harbour 3 "));
  await open(`/debates/${known.debate_id}`);
  await page.waitForSelector(".glance");
  const { resolved, rules } = await data(`/debates/${known.debate_id}`);
  const given = resolved.market[rules.outcomes.indexOf(resolved.outcome)];
  assert.ok((await text(".glance")).includes(`a market had given it ${(given * 100).toFixed(1)}`), "the page shows the outcome next to the forecast");
}

/** Text of people and models is text, whatever it holds. */
async function hostile() {
  const [prediction, deliberation, roundtable, review, investigation, ended] = setup.hostile;
  for (const viewport of [WIDE, PHONE]) {
    await page.setViewport(viewport);
    for (const path of ["/", `/debates/${prediction}`, `/debates/${prediction}?tab=audit`, `/debates/${deliberation}`, `/debates/${deliberation}?tab=audit`, `/debates/${roundtable}`, `/debates/${review}`, `/debates/${investigation}`, `/debates/${ended}`, `/compare?a=${prediction}&b=${deliberation}`]) {
      await open(path);
      await holds(() => !document.querySelector("p[role=status]")?.textContent.includes("…") && document.querySelector("#page").textContent.includes("poisoned"));
      if (path.includes("audit")) await page.waitForSelector(".entry");
      const seen = await page.evaluate(() => {
        for (const folded of document.querySelectorAll("details")) folded.open = true;
        return {
          title: document.title,
          elements: document.querySelectorAll("#page script, #page img, #page iframe").length,
          isText: document.querySelector("#page").textContent.includes("<script>document.title"),
          wide: document.documentElement.scrollWidth <= window.innerWidth ? [] : [...document.querySelectorAll("#page *")].filter((element) => element.getBoundingClientRect().right > window.innerWidth).map((element) => element.outerHTML.slice(0, 80)),
          loose: [...document.querySelectorAll(".words, .prose")].filter((element) => !/isolate|plaintext/.test(getComputedStyle(element).unicodeBidi)).length,
        };
      });
      assert.notEqual(seen.title, "harmed", path);
      assert.deepEqual({ ...seen, title: "" }, { title: "", elements: 0, isText: true, wide: [], loose: 0 }, `${path} at ${viewport.width}`);
    }
  }
  await page.setViewport(WIDE);
  await open(`/debates/${ended}`);
  await page.waitForSelector(".glance");
  const { cancelled_because: why } = await data(`/debates/${ended}`);
  assert.ok(why.includes("<script>") && (await texts(".glance bdi")).includes(why), "the reason of who ended it is text");
  await open(`/debates/${prediction}`);
  await page.waitForSelector("section[aria-labelledby=precedents]");
  assert.ok((await text(".legend")).includes("skipper"), "a role with a persona of its own takes part");
  await open(`/debates/${deliberation}`);
  await page.waitForSelector(".said");
  await picture("hostile", 1_200);
}

/** Every format is shown with what it came to and what was said. */
async function formats() {
  await page.setViewport(WIDE);
  for (const id of [...setup.hostile.slice(1, 5), ...setup.calm.slice(1, 5)]) {
    const said = await data(`/debates/${id}`);
    await open(`/debates/${id}`);
    await holds(() => document.querySelector(".glance")?.textContent.includes("Intact"));
    const shown = await texts(".glance .prose");
    assert.deepEqual(shown, said.decision.decided, said.format);
    assert.ok(shown.length > 0, said.format);
    const rounds = [...new Set(said.said.map((entry) => entry.round))].sort((a, b) => (a ?? Infinity) - (b ?? Infinity));
    const names = rounds.flatMap((round) => said.said.filter((entry) => entry.round === round).map((entry) => entry.role ?? entry.kind.replaceAll("_", " ")));
    assert.deepEqual(await texts("article.said h4"), names, said.format);
    if (setup.calm.includes(id)) await picture(said.format, 1_700);
  }
}

/** The lines of a debate with many roles are distinguishable, resolved or not, and look right on a phone and in dark mode. */
async function many() {
  const id = setup.calm[5];
  await open(`/debates/${id}`);
  await holds(() => document.querySelector(".glance")?.textContent.includes("Intact"));
  await agrees(id);
  const { rules } = await data(`/debates/${id}`);
  const lines = await page.$$eval(".legend li", (entries) => entries.map((entry) => [entry.querySelector(".line").getAttribute("class"), entry.querySelector(".mark").getAttribute("class")].join()));
  assert.equal(new Set(lines).size, rules.roles.length, "no two roles look alike");
  assert.ok((await text(".glance")).includes("What happened"));
  await picture("debate");
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  await picture("debate-dark", 1_700);
  await page.emulateMediaFeatures([]);
  await page.setViewport(PHONE);
  await picture("debate-phone", 2_000);
  await page.setViewport(WIDE);
}

/** A report says what the page says, without a server. */
async function report() {
  for (const id of [...setup.hostile, ...setup.calm]) {
    const said = await data(`/debates/${id}`);
    await page.goto(`${reports}/${id}.html`, { waitUntil: "domcontentloaded" });
    await page.waitForSelector(".glance");
    assert.equal(await text("h1"), said.title);
    assert.ok((await text(".whole .badge")).toLowerCase().startsWith(`${said.completeness.state}:`));
    assert.ok((await text(".glance")).includes("Intact"));
    assert.deepEqual(await texts(".glance .prose"), said.decision.decided);
    if (said.format === "prediction") assert.equal((await page.$$(".chart svg[role=img][aria-label]")).length, said.rules.outcomes.length);
    assert.equal(await page.$$eval("#page script, #page img, #page iframe", (found) => found.length), 0);
    assert.notEqual(await page.title(), "harmed");
  }
}

/** Everything can be read: contrast of WCAG AA, light and dark. */
async function contrast() {
  await page.setViewport(WIDE);
  for (const scheme of ["light", "dark"]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    const [prediction, ...others] = setup.calm.slice(0, 5).map((id) => `/debates/${id}`);
    for (const path of [prediction, `${prediction}?tab=audit`, `${prediction}?at=17`, ...others, `/debates/${setup.hostile[5]}`, `/compare?a=${setup.calm[0]}&b=${setup.fork}`, "/calibration", "/"]) {
      await open(path);
      await page.waitForSelector(".badge, .reliability, .pair");
      if (path.includes("audit")) await page.waitForSelector(".entry .badge");
      await holds(() => !document.querySelector("p[role=status]")?.textContent.includes("…"));
      await page.$$eval("details", (folded) => folded.forEach((entry, place) => (entry.open = place % 7 === 0)));
      if (path.includes("audit")) {
        await press("Show the prompt");
        await page.waitForSelector("pre[aria-label^='Prompt, message']");
        await picture(`audit-${scheme}`, 2_200);
      }
      await page.$$eval("details", (folded) => folded.forEach((entry) => (entry.open = true)));
      assert.deepEqual(await page.evaluate(faint), [], `${path}, ${scheme}`);
    }
  }
  await page.emulateMediaFeatures([]);
}

await whole(looking, async () => {
  await step("tokens", tokens);
  await step("list", list);
  await step("live", live);
  const tools = { page, browser, setup, open, data, control, holds, withheld, press };
  await step("renewed", () => renewed(tools));
  await step("prompts", () => prompts(tools));
  await step("bundles", () => bundles(tools));
  await step("mended", () => mended(tools));
  await step("pages", () => pages(tools));
  await step("slider", slider);
  await step("comparison", comparison);
  await step("calibration", calibration);
  await step("hostile", hostile);
  await step("formats", formats);
  await step("many", many);
  await step("contrast", contrast);
  await step("report", report);
});
