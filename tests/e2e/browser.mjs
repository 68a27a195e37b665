// One Chromium for all tests, and pages that record their errors.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [samples] = process.argv.slice(2);

const executablePath = process.env.PATH.split(delimiter)
  .flatMap((folder) => ["chromium", "chromium-browser", "google-chrome"].map((name) => join(folder, name)))
  .find(existsSync);
if (!executablePath) throw new Error("Chromium is not here; scripts/setup --test brings it");

// Chromium refuses its sandbox to root, which CI runs as.
const sandbox = process.getuid() === 0 ? ["--no-sandbox"] : [];
export const browser = await chromium.launch({ executablePath, args: sandbox });

export const sampleUrl = (name) => pathToFileURL(`${samples}/${name}.html`).href;
export const samplePath = (name) => `${samples}/${name}.html`;

// For what takes milliseconds, unless the browser gets no core.
const patience = 120_000;

// Opens a URL; `page.faults` lists console errors, exceptions and requests for anything else.
export async function openUrl(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  page.faults = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) page.faults.push(message.text());
  });
  page.on("pageerror", (error) => page.faults.push(error.message));
  page.on("request", (request) => {
    const wanted = request.url();
    if (wanted !== url && !wanted.startsWith("data:") && !wanted.startsWith(new URL("/", url).href))
      page.faults.push(`asked for ${wanted}`);
    if (url.startsWith("file:") && wanted !== url && !wanted.startsWith("data:"))
      page.faults.push(`asked for ${wanted}`);
  });
  await page.goto(url);
  return page;
}
export const open = (name, options) => openUrl(sampleUrl(name), options);

// How often each opaque colour is on a chart's canvas, most common first. Reads a copy: Chromium
// warns about canvases that are read repeatedly.
function colours(page, chart) {
  return page.locator(`#${chart} canvas`).evaluate((canvas) => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height);
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    const counts = new Map();
    for (let i = 0; i < data.length; i += 4)
      if (data[i + 3] === 255) {
        const key = `${data[i]},${data[i + 1]},${data[i + 2]}`;
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
    return [...counts].sort((a, b) => b[1] - a[1]);
  });
}
export const isDrawn = async (page, chart) => (await colours(page, chart)).length > 0;
// The most common colour of a canvas, to distinguish palettes.
export const inkOf = async (page, chart) => (await colours(page, chart))[0]?.[0];

// Waits for asynchronous changes of a page; a failing test ends here with a message.
export async function until(holds, otherwise) {
  const end = Date.now() + patience;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(otherwise);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
