import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "./browser.mjs";

const focused = (page) => page.evaluate(() => {
  const at = document.activeElement;
  const outline = getComputedStyle(at);
  return { id: at.id, text: at.textContent.trim(), label: at.getAttribute("aria-label"),
    chart: at.closest("figure")?.id ?? null, outline: outline.outlineStyle };
});

// Presses Tab until `found`, or fails after too many.
async function tabTo(page, found) {
  for (let i = 0; i < 80; ++i) {
    await page.keyboard.press("Tab");
    const at = await focused(page);
    if (found(at)) return at;
  }
  assert.fail("the keyboard never got there");
}

test("the keyboard alone reads charts, sorts, and opens and closes a trial", async () => {
  const page = await open("tune");
  await page.keyboard.press("Tab");
  assert.equal((await focused(page)).text, "Skip to the trials");
  const plot = await tabTo(page, (at) => at.chart === "throughput");
  assert.notEqual(plot.outline, "none", "focus is not to be seen");
  await page.locator("#throughput[data-drawn]").waitFor();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.match(await page.locator("#throughput .tip").innerText(), /^batch 32\n/);
  assert.match(await page.locator("#throughput [aria-live]").innerText(), /^32; .*samples\/s$/);

  await tabTo(page, (at) => at.text === "step ms");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("#trials th", { hasText: "step ms" }).getAttribute("aria-sort"),
    "descending");
  assert.equal((await focused(page)).text, "step ms");

  const more = await tabTo(page, (at) => at.label?.startsWith("Step times"));
  await page.keyboard.press("Enter");
  await page.locator("#trial-steps[data-drawn]").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("#trial").waitFor({ state: "hidden" });
  assert.equal((await focused(page)).label, more.label, "focus comes back");
  await page.context().close();
});

test("headings, tables and images have names", async () => {
  const page = await open("tune");
  assert.equal(await page.locator("h1").count(), 1);
  for (const plot of await page.locator(".plot:visible").all())
    assert.ok(await plot.evaluate((p) =>
      document.getElementById(p.getAttribute("aria-labelledby")).textContent));
  assert.equal(await page.locator("#trials th:not([scope])").count(), 0);
  assert.equal(await page.locator("svg[role=img] > title").first().evaluate((t) => t.textContent),
    "Throughput by batch size");
  await page.context().close();
});
