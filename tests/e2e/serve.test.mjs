// The real dashboard: `sweetspot serve` in one process, a study in another.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openUrl } from "./browser.mjs";

const [, , , sweetspot] = process.argv;
const folder = mkdtempSync(join(tmpdir(), "sweetspot-"));
const db = join(folder, "a.db");
let server, url;

// A study of another process, on a workload in virtual time.
const sweep = (batches) => execFileSync(sweetspot,
  ["sweep", "--workload", "fake:fixed=2ms,sample=10us", "--batch", batches, "--db", db],
  { stdio: "ignore" });

before(async () => {
  server = spawn(sweetspot, ["serve", "--port", "0", "--db", db], { stdio: ["ignore", "pipe", "ignore"] });
  url = await new Promise((done) => server.stdout.once("data", (line) => done(String(line).trim())));
});
after(() => {
  server.kill();
  rmSync(folder, { recursive: true });
});

test("a study of another process shows up without a reload", async () => {
  const page = await openUrl(url);
  await page.getByText("Live", { exact: true }).waitFor();
  assert.equal(await page.locator("#trials tbody tr").count(), 0);
  await page.evaluate(() => (window.loadedOnce = true));
  sweep("16,32,64");
  await page.locator("#trials tbody tr").nth(2).waitFor();
  assert.match(await page.locator("#trials tbody").innerText(), /64/);
  sweep("16,32,64,128,256");
  await page.locator("#trials tbody tr").nth(4).waitFor();
  assert.ok(await page.evaluate(() => window.loadedOnce), "the page was loaded anew");
  await page.locator("#trials tbody tr").nth(1).locator("button").click();
  await page.locator("#trial-steps[data-drawn]").waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a study can be chosen, and the page goes there", async () => {
  execFileSync(sweetspot, ["sweep", "--workload", "fake:fixed=2ms,sample=10us", "--batch", "8,16",
    "--name", "small ones", "--db", db], { stdio: "ignore" });
  const page = await openUrl(url);
  const picker = page.locator("#picker");
  await picker.locator("option", { hasText: "“small ones” · sweep 8–16 · fake" }).waitFor({ state: "attached" });
  assert.equal(await picker.inputValue(), "");
  const others = await picker.locator("option").allInnerTexts();
  const first = others.findIndex((words) => words.startsWith("1 · sweep 16–64"));
  assert.ok(first > 0, others.join("\n"));
  await Promise.all([page.waitForURL(/study=1\b/), picker.selectOption({ index: first })]);
  await page.locator("#trials tbody tr").nth(2).waitFor();
  assert.equal(await page.locator("#trials tbody tr").count(), 3);
  await page.locator("#picker option").nth(1).waitFor({ state: "attached" });
  assert.equal(await page.locator("#picker").inputValue(), "1");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("the policy of the dashboard's page holds as a header", async () => {
  const page = await openUrl(url);
  const response = await page.reload();
  const policy = response.headers()["content-security-policy"];
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /frame-ancestors 'none'/);
  const blocked = await page.evaluate(() => new Promise((done) => {
    document.addEventListener("securitypolicyviolation", (event) => done(event.effectiveDirective));
    document.head.append(Object.assign(document.createElement("script"), { textContent: "window.ran = 1" }));
  }));
  assert.match(blocked, /^script-src/);
  assert.equal(await page.evaluate(() => window.ran), undefined);
  await page.context().close();
});
