import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "./browser.mjs";

// The page has no script: everything is there once it is loaded.
const colour = (page, selector, property) =>
  page.locator(selector).first().evaluate((at, name) => getComputedStyle(at)[name], property);

test("a comparison shows both studies, and ratios with their intervals", async () => {
  const page = await open("compare");
  assert.equal(await page.locator("#sentence").innerText(), "B is faster than A");
  assert.match(await page.locator("#figures").innerText(), /Speed of B over A\n1\.25\n95% interval\n1\.2\d?–1\.3\d?/);
  const charts = page.locator("svg[role=img]");
  assert.equal(await charts.count(), 2);
  for (const chart of await charts.all()) {
    const box = await chart.boundingBox();
    assert.ok(box.width > 400 && box.height > 200);
  }
  // No labels overlap.
  const hidden = await charts.evaluateAll((all) => all.flatMap((chart) => {
    const boxes = [...chart.querySelectorAll("text")].map((at) => [at.textContent, at.getBoundingClientRect()]);
    return boxes.flatMap(([words, a], i) => boxes.slice(i + 1)
      .filter(([, b]) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
      .map(([others]) => `${words} on ${others}`));
  }));
  assert.deepEqual(hidden, []);
  // A mark for each batch and one for the legend; an interval for each batch.
  const ratios = charts.nth(1);
  assert.equal(await ratios.locator("circle").count(), 11);
  assert.equal(await ratios.locator("path[stroke-width='1.5']").count(), 10);
  const rows = page.getByRole("region", { name: "By batch" }).locator("tbody tr");
  assert.equal(await rows.count(), 10);
  assert.match(await rows.first().innerText(), /^16\t671\u202f\d+ ±.*\t1\.25 \(1\.2\d*–1\.\d+\)\t.*faster$/);
  assert.match(await page.getByRole("region", { name: "What differs" }).innerText(),
    /machine\ta CPU of sixteen cores\ta CPU of thirty-two cores/);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a comparison turns dark, is light on paper, and fits a narrow window", async () => {
  const page = await open("compare", { viewport: { width: 360, height: 700 } });
  const marks = "svg circle";
  const light = [await colour(page, "body", "backgroundColor"), await colour(page, marks, "fill")];
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  // Unreadable labels are not squeezed: the chart scrolls instead.
  assert.ok((await page.locator("svg text").first().boundingBox()).height >= 10);
  await page.emulateMedia({ colorScheme: "dark" });
  assert.notEqual(await colour(page, "body", "backgroundColor"), light[0]);
  assert.notEqual(await colour(page, marks, "fill"), light[1]);
  await page.emulateMedia({ colorScheme: "dark", media: "print" });
  assert.equal(await colour(page, marks, "fill"), light[1]);
  await page.context().close();
});

test("a comparison with hostile contents is text and nothing else", async () => {
  const page = await open("compare-hostile");
  assert.equal(await page.title(), "Two studies compared");
  assert.match(await page.locator("#provenance").innerText(), /^A: <\/script><script>/);
  assert.equal(await page.locator("script, img, iframe, object, a").count(), 0);
  const text = await page.locator("body").innerText();
  assert.ok(!/[\u202a-\u202e\u2066-\u2069\u001b]/.test(text));
  assert.ok(!/\bnan\b|\binf\b|NaN|Infinity/.test(text + (await page.content())), "a number that is none is shown");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
