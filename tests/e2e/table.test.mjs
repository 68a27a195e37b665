import assert from "node:assert/strict";
import { test } from "node:test";
import { isDrawn, open, until } from "./browser.mjs";

const batches = (page) => page.locator("#trials tbody tr td:first-child").allInnerTexts();
const narrow = (text) => text.replaceAll("\u202f", "");

test("a click on a heading sorts, another turns it around", async () => {
  const page = await open("tune");
  const head = page.locator("#trials th", { hasText: "samples/s" });
  await head.locator("button").click();
  assert.equal(await head.getAttribute("aria-sort"), "ascending");
  const up = await batches(page);
  await head.locator("button").click();
  assert.equal(await head.getAttribute("aria-sort"), "descending");
  const down = await batches(page);
  // The failed one has no throughput: it is last either way.
  assert.equal(narrow(up.at(-1)), "4096");
  assert.equal(narrow(down.at(-1)), "4096");
  assert.deepEqual(up.slice(0, -1), down.slice(0, -1).reverse());
  assert.equal(await page.locator("#trials th[aria-sort]").count(), 1);
  await page.context().close();
});

test("numbers sort as numbers", async () => {
  const page = await open("tune");
  await page.locator("#trials th button", { hasText: "batch" }).click();
  const sorted = (await batches(page)).map((text) => Number(narrow(text)));
  assert.deepEqual(sorted, [...sorted].sort((a, b) => a - b));
  await page.context().close();
});

test("raw step times are one click away", async () => {
  const page = await open("tune");
  await page.locator("#trials tbody tr").nth(4).locator("button").click();
  await page.waitForSelector("#trial-steps[data-drawn]");
  assert.ok(await isDrawn(page, "trial-steps"));
  await page.locator("#trial-steps .legend li", { hasText: "warm-up" }).waitFor();
  assert.match(await page.locator("#trial").innerText(), /Trial 5: batch 128[^]*200 steps/);
  await page.locator("#trial summary", { hasText: "Raw step times" }).click();
  let lines = []; // filled when it is opened
  await until(async () => (lines = (await page.locator("#trial textarea").inputValue()).split("\n"))
    .length === 200, "the raw step times are not all there");
  assert.ok(Math.abs(Number(lines[10]) / 0.005072 - 1) < 0.05, lines[10]);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a trial without steps says so", async () => {
  const page = await open("tune");
  await page.locator("#trials tbody tr").last().locator("button").click();
  await page.getByText("No step times were kept").waitFor();
  await page.context().close();
});
