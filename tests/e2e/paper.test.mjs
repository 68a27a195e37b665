import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "./browser.mjs";

// The page has no script: everything is there once it is loaded.
test("the paper's figures are drawn, with units, beside what the paper says", async () => {
  const page = await open("paper");
  const figures = page.locator("section.figure");
  assert.equal(await figures.count(), 5);
  const named = (await figures.locator("h2").allInnerTexts()).join("; ");
  for (let number = 3; number <= 11; ++number) assert.match(named, new RegExp(`\\b${number}\\b`));
  for (const figure of await figures.all()) {
    assert.ok(await figure.locator("aside blockquote").count() > 0);
    for (const chart of await figure.locator("svg[role=img]").all()) {
      assert.ok((await chart.boundingBox()).width > 600);
      assert.ok(await chart.locator("circle, path[stroke-width='2']").count() > 0, "nothing is drawn");
      assert.match(await chart.textContent(), /batch \(samples per weight update\)|seconds of training/);
      assert.match(await chart.textContent(), /in seconds|\d%/);
    }
  }
  assert.equal(await page.locator("svg[role=img]").count(), 6);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("the paper's page fits a narrow window, and is light on paper", async () => {
  const page = await open("paper", { viewport: { width: 360, height: 700 } });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  const evidence = await page.locator(".claims td:nth-child(3)").first().boundingBox();
  assert.ok(evidence.x >= 0 && evidence.x + evidence.width <= 360, "the evidence is out of sight");
  await page.emulateMedia({ colorScheme: "dark" });
  assert.notEqual(await ground(), light);
  await page.emulateMedia({ colorScheme: "dark", media: "print" });
  assert.equal(await ground(), light);
  await page.context().close();
});
