import assert from "node:assert/strict";
import { test } from "node:test";
import { open, sampleUrl, browser } from "./browser.mjs";

test("a study with hostile contents is text and nothing else", async () => {
  const page = await open("hostile");
  await page.locator("#trials").scrollIntoViewIfNeeded();
  for (const row of [0, 1, 4]) {
    await page.locator("#trials tbody tr").nth(row).locator("button").click();
    await page.locator("#trial-steps[data-drawn]").waitFor();
    await page.keyboard.press("Escape");
  }
  for (const details of await page.locator(".chart:visible summary").all()) await details.click();
  for (const opened of await page.locator(".chart:visible details[open]").all())
    await opened.locator("table").waitFor();
  assert.match(await page.title(), /^Batch size of <\/script><script>/);
  assert.equal(await page.locator("img, iframe, object, a[href^=javascript]").count(), 0);
  assert.equal(await page.locator("script").count(), 2); // the data and the page's own
  const text = await page.locator("body").innerText();
  assert.ok(!/[\u202a-\u202e\u2066-\u2069\u001b]/.test(text));
  assert.ok(!/NaN|Infinity|undefined/.test(text), "a number that is none is shown");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("the policy keeps out scripts, styles, images and requests", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(sampleUrl("tune"));
  const blocked = await page.evaluate(async () => {
    const kinds = [];
    const all = new Promise((done) => addEventListener("securitypolicyviolation", (event) => {
      if (kinds.push(event.effectiveDirective) === 4) done();
    }));
    const script = document.createElement("script");
    script.textContent = "window.taken = true";
    const style = document.createElement("style");
    style.textContent = "body { color: red }";
    const image = document.createElement("img");
    image.src = "http://127.0.0.1:9/x.png";
    document.body.append(script, style, image);
    await fetch("http://127.0.0.1:9/").catch(() => {});
    await Promise.race([all, new Promise((done) => setTimeout(done, 10_000))]);
    return { kinds: kinds.sort(), taken: "taken" in window };
  });
  assert.deepEqual(blocked.kinds, ["connect-src", "img-src", "script-src-elem", "style-src-elem"]);
  assert.equal(blocked.taken, false);
  await context.close();
});
