import assert from "node:assert/strict";
import { test } from "node:test";
import { inkOf, open, until } from "./browser.mjs";

const ground = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

test("dark mode turns page and charts, when it is switched too", async () => {
  const page = await open("tune");
  const [light, lightInk] = [await ground(page), await inkOf(page, "shares")];
  await page.emulateMedia({ colorScheme: "dark" });
  assert.notEqual(await ground(page), light);
  // The charts update with the next frame.
  await until(async () => (await inkOf(page, "shares")) !== lightInk, "the chart stays light");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("on paper everything is there, and light", async () => {
  const page = await open("tune", { colorScheme: "dark" });
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await page.waitForFunction(() => document.documentElement.hasAttribute("data-paper"));
  for (const chart of ["throughput", "step-time", "shares", "memory"])
    assert.equal(await page.locator(`#${chart}[data-drawn]`).count(), 1, `${chart} is missing`);
  const lightInk = "0,114,178"; // #0072b2, the light palette's first
  await until(async () => (await inkOf(page, "shares")) === lightInk, "the chart stays dark");
  assert.equal(await page.locator("#trials td button:visible", { hasText: "steps" }).count(), 0);
  const pdf = await page.pdf({ format: "A4" });
  assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
  await page.context().close();
});

test("without scripts the answer, the headline chart and the trials show", async () => {
  const page = await open("tune", { javaScriptEnabled: false });
  assert.match(await page.locator("#sentence").innerText(), /^Train with batch 1\u202f024/);
  const box = await page.locator("#headline svg").boundingBox();
  assert.ok(box.width > 600 && box.height > 200);
  assert.equal(await page.locator("#trials tbody tr").count(), 11);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a narrow window needs no sideways scrolling", async () => {
  const page = await open("tune", { viewport: { width: 360, height: 700 } });
  await page.locator("#memory").scrollIntoViewIfNeeded();
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 360));
  await page.context().close();
});
