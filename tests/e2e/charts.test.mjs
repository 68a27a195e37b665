import assert from "node:assert/strict";
import { test } from "node:test";
import { isDrawn, open } from "./browser.mjs";

async function allDrawn(page, charts) {
  for (const chart of charts) {
    await page.locator(`#${chart}`).scrollIntoViewIfNeeded();
    await page.waitForSelector(`#${chart}[data-drawn]`);
    assert.ok(await isDrawn(page, chart), `${chart} is empty`);
  }
  assert.deepEqual(page.faults, []);
}

test("each chart of a tuned study draws", async () => {
  const page = await open("tune");
  await allDrawn(page, ["throughput", "step-time", "shares", "memory", "memory-by-use",
    "trace-0", "trace-1", "trace-2"]);
  await page.context().close();
});

test("a chart that is drawn late moves nothing below it", async () => {
  const page = await open("tune", { viewport: { width: 1280, height: 300 } });
  const places = () => page.evaluate(() =>
    [...document.querySelectorAll(".chart:not([hidden]), #trials")].map((at) => at.getBoundingClientRect().top + scrollY));
  const last = page.locator("#trace-2");
  assert.equal(await last.getAttribute("data-drawn"), null);
  const before = await places();
  await allDrawn(page, ["throughput", "step-time", "shares", "memory", "memory-by-use",
    "trace-0", "trace-1", "trace-2"]);
  assert.deepEqual(await places(), before);
  await page.context().close();
});

test("accuracy and training time are drawn where trials trained", async () => {
  const page = await open("runs");
  await allDrawn(page, ["throughput", "accuracy", "training-time"]);
  assert.match(await page.locator("#accuracy .legend").innerText(), /1 epoch\s+2 epochs/);
  await page.context().close();
});

test("a tooltip tells the numbers of the nearest batch", async () => {
  const page = await open("tune");
  const plot = page.locator("#throughput .u-over");
  const box = await plot.boundingBox();
  await plot.hover({ position: { x: box.width * 0.5, y: box.height / 2 } });
  const tip = page.locator("#throughput .tip");
  await tip.waitFor({ state: "visible" });
  assert.match(await tip.innerText(), /batch \d[\d\u202f]*\n.*\d+\u202f\d{3} ± 2\u202f% samples\/s/);
  await page.context().close();
});

test("the numbers of a chart are there as a table", async () => {
  const page = await open("tune");
  await page.locator("#throughput summary").click();
  const rows = page.locator("#throughput details tbody tr");
  await rows.first().waitFor(); // filled when it is opened
  assert.equal(await rows.count(), 10);
  assert.match(await rows.first().innerText(), /^all\t16\t1\t6\u202f711/);
  await page.context().close();
});

test("a study without trials opens", async () => {
  const page = await open("nothing");
  assert.equal(await page.locator("#sentence").innerText(), "No recommendation yet");
  assert.equal(await page.locator(".chart:visible").count(), 0);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
