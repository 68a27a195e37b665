import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { openUrl, samplePath } from "./browser.mjs";

// A fake `sweetspot serve`: the page, its events, and one trial's steps.
const html = readFileSync(samplePath("live"), "utf8");
const first = JSON.parse(html.match(/id="data">(.*?)<\/script>/s)[1]);
let clients = [];
let asked = [];
const server = createServer((request, response) => {
  if (request.url === "/") {
    response.setHeader("content-type", "text/html; charset=utf-8");
    return response.end(html);
  }
  if (request.url === "/events") {
    response.setHeader("content-type", "text/event-stream");
    response.flushHeaders();
    return clients.push(response);
  }
  asked.push(request.url);
  response.setHeader("content-type", "application/json");
  const seconds = Buffer.from(Float32Array.of(0.5, 0.25, 0.25).buffer).toString("base64");
  response.end(JSON.stringify({ seconds, warm_up: [[0, 1]], outliers: [] }));
});
before(() => new Promise((done) => server.listen(0, "127.0.0.1", done)));
after(() => (clients.forEach((client) => client.end()), server.close()));

const send = (data) => clients.at(-1).write(`event: study\ndata: ${JSON.stringify(data)}\n\n`);
const url = () => `http://127.0.0.1:${server.address().port}/`;

test("a live page follows its study and leaves the reader's place alone", async () => {
  const page = await openUrl(url());
  await page.getByText("Live", { exact: true }).waitFor();
  await page.locator("#trials th button", { hasText: "samples/s" }).click();
  const third = page.locator("#trials tbody tr").nth(2).locator("button");
  await third.scrollIntoViewIfNeeded();
  await third.focus();
  const label = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  // Rows are laid out as they become visible, so scrolling may take a frame or two.
  const inSight = () => page.waitForFunction(() => {
    const { top, bottom } = document.activeElement.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  });
  const before = await label();
  await inSight();

  const next = structuredClone(first);
  next.sentence = "Train with batch 64.";
  next.status = "running";
  next.trials.push({ ...next.trials[0], id: 99, setting: { batch: 3, micro_batch: 3 } });
  next.table.rows.push({ ...next.table.rows[0], cells: ["3", "1", "2", "3", "new"],
    keys: [3, 1, 2, 3, "new"] });
  send(next);
  await page.getByText("Train with batch 64.").waitFor();
  assert.equal(await page.locator("#trials tbody tr").count(), first.table.rows.length + 1);
  assert.equal(await page.locator("#trials tbody td").first().innerText(), "3"); // sorted in
  assert.equal(await page.locator("#trials th[aria-sort=ascending]").innerText(), "samples/s");
  assert.equal(await label(), before);
  await inSight();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a live page fetches raw steps when they are asked for", async () => {
  asked = [];
  const page = await openUrl(url());
  assert.deepEqual(asked, []);
  await page.locator("#trials tbody tr").nth(1).locator("button").click();
  await page.locator("#trial-steps[data-drawn]").waitFor();
  assert.match(await page.locator("#trial").innerText(), /3 steps/);
  assert.deepEqual(asked, ["/steps?trial=2"]);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
