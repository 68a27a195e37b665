#!/usr/bin/env node
// bench/page.mjs [TRIALS [STEPS]]: how long a large report takes to write and to open. Needs a built
// tree and Chromium (scripts/setup --test). Prints one JSON object.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [trials = "2000", steps = "1000"] = process.argv.slice(2);
const build = join(dirname(fileURLToPath(import.meta.url)), "../build/release/tests/e2e");
const { chromium } = createRequire(join(build, "browser/run.mjs"))("playwright-core");

const folder = mkdtempSync(join(tmpdir(), "sweetspot-page-"));
const made = JSON.parse(execFileSync(join(build, "report_samples"), [folder, trials, steps]));
const executablePath = execFileSync("sh", ["-c", "command -v chromium"]).toString().trim();
const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
const browser = await chromium.launch({ executablePath, args });
const session = await browser.newBrowserCDPSession();
// What the machine's other work does not stretch.
const cpuSeconds = async () => (await session.send("SystemInfo.getProcessInfo")).processInfo
  .reduce((sum, process) => sum + process.cpuTime, 0);
const opened = [], spent = [];
for (let i = 0; i < 3; ++i) {
  const page = await browser.newPage();
  const start = performance.now(), before = await cpuSeconds();
  await page.goto(pathToFileURL(join(folder, "large.html")).href);
  await page.waitForSelector("#throughput[data-drawn]");
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  opened.push((performance.now() - start) / 1e3);
  spent.push((await cpuSeconds()) - before);
  await page.close();
}
await browser.close();
rmSync(folder, { recursive: true });
console.log(JSON.stringify({ trials: Number(trials), steps: Number(steps), ...made,
  open_seconds: opened.map((s) => Number(s.toFixed(3))),
  open_cpu_seconds: spent.map((s) => Number(s.toFixed(3))) }));
