import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "./browser.mjs";

test("memory by use has what was measured beside what was predicted", async () => {
  const page = await open("tune");
  await page.locator("#memory-by-use").scrollIntoViewIfNeeded();
  await page.locator("#memory-by-use[data-drawn]").waitFor();
  await page.locator("#memory-by-use .legend li", { hasText: "measured" }).waitFor();
  await page.locator("#memory-by-use summary").click();
  const rows = page.locator("#memory-by-use tbody tr");
  await rows.nth(11).waitFor(); // two batches were predicted, ten were measured
  const words = (await rows.allInnerTexts()).filter((row) => row.startsWith("64\t"));
  assert.deepEqual(words, ["64\tpredicted\t3.81\u202fMiB\t6.68\u202fMiB", "64\tmeasured\t3.81\u202fMiB\t7.32\u202fMiB"]);
  await page.locator("#memory-by-use .plot").focus();
  await page.keyboard.press("Home");
  const tip = page.locator("#memory-by-use .tip");
  await tip.getByText(/^activations: measured/).waitFor(); // batch 16 was not predicted
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
