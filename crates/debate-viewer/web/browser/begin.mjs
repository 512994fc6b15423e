// A real browser for what looks at the page, and how such a look ends.
import assert from "node:assert/strict";
import puppeteer from "puppeteer-core";

/** Longer than anything here takes; reached only where something hangs. */
export const PATIENCE_MS = 60_000;

/** Opens a browser with a page, and a list of what goes wrong in it. */
export async function begin(chromium) {
  const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
  const wrong = [];
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.on("pageerror", (error) => wrong.push(`error in the page: ${error.message}`));
  return { browser, page, wrong };
}

/** Looks, and fails where anything went wrong, with what the page shows. */
export async function whole({ browser, page, wrong }, look) {
  try {
    await look();
    assert.deepEqual(wrong, [], "nothing went wrong in the page");
  } catch (error) {
    console.error(error.message, wrong, error.stack);
    console.error(page.url(), (await page.evaluate(() => document.body.innerText)).slice(0, 3_000));
    process.exitCode = 1;
  } finally {
    await browser.close();
  }
}
