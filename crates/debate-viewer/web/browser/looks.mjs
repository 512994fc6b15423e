// What is held of one page that stands in the browser.
import assert from "node:assert/strict";

/** The page says what the interface for programs says: how sure, why it ended, who differs, how it moved. */
export async function saysTheSame(page, said) {
  const texts = (selector) => page.$$eval(selector, (elements) => elements.map((element) => element.textContent));
  const [glance] = await texts(".glance");
  assert.ok(glance.includes(`confidence ${said.extra.confidence.toFixed(2)}, agreement ${said.consensus_score.toFixed(2)}`), glance);
  assert.equal(said.extra.stop_reason, "max_rounds");
  assert.ok(glance.includes("All rounds were held."));
  const topics = said.disagreement_map.map((entry) => `${entry.topic} ${entry.resolved ? "settled" : "open"}`);
  assert.deepEqual(await texts("section[aria-labelledby=disagreements] h3"), topics);
  const strengths = said.disagreement_map.flatMap((entry) => entry.positions.map((position) => position.strength));
  assert.deepEqual(await page.$$eval("section[aria-labelledby=disagreements] progress", (bars) => bars.map((bar) => bar.value)), strengths);
  const insights = await page.$$eval("section[aria-labelledby=insights] li > bdi", (entries) => entries.map((entry) => entry.textContent));
  assert.deepEqual(insights, said.key_insights.map((entry) => entry.insight));
  // The chart is 190 high, with 12 above and 26 below what it shows.
  const shares = (heights) => heights.map((y) => (1 - (y - 12) / (190 - 12 - 26)).toFixed(2));
  const best = said.probability_distribution.reduce((best, entry) => (entry.probability > best.probability ? entry : best));
  const place = said.probability_distribution.indexOf(best);
  const lines = await page.$$eval(".chart:first-child .line", (lines) => lines.map((line) => [...line.getAttribute("d").matchAll(/[ML]\S+ (\S+?)(?=[ML]|$)/g)].map(([, y]) => Number(y))));
  const roles = [...new Set(said.extra.ledger.map((entry) => entry.role))];
  const moved = (role) => said.extra.ledger.filter((entry) => entry.role === role).map((entry) => entry.probabilities[place].toFixed(2));
  assert.deepEqual(lines.map(shares).map(String).sort(), roles.map(moved).map(String).sort(), "lines run where the numbers are");
  const ends = await page.$$eval(".chart:first-child .end", (ends) => ends.map((end) => Number(end.getAttribute("d").match(/ (\S+)h/)[1])));
  assert.deepEqual(shares(ends), [best.judge_probability, best.consensus_probability, best.probability].map((share) => share.toFixed(2)));
}

/** Returns the texts whose contrast is below 4.5, in the page. */
export function faint() {
  const rgb = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const light = (colour) => {
    const [r, g, b] = rgb(colour).map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let behind = element; behind !== null; behind = behind.parentElement) {
      const colour = getComputedStyle(behind).backgroundColor;
      if ((rgb(colour)[3] ?? 1) === 1) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const found = new Set();
  for (const element of document.querySelectorAll("#page *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== "");
    if (!own || element.disabled === true || element.checkVisibility() === false) continue;
    const style = getComputedStyle(element);
    const ink = element instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(ink), light(ground(element))].sort((a, b) => b - a);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.add(`${element.tagName}.${element.getAttribute("class") ?? ""} ${ratio.toFixed(2)}`);
  }
  return [...found];
}

/** Withholds answers from the page until what is returned is called. */
export async function withholding(page, which) {
  const decide = (request) => (which(new URL(request.url())) ? request.abort("connectionfailed") : request.continue());
  page.on("request", decide);
  await page.setRequestInterception(true);
  return async () => {
    page.off("request", decide);
    await page.setRequestInterception(false);
  };
}
