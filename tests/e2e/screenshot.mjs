// node screenshot.mjs REPORT.html PICTURE.png [dark]: the top of a report, for the README.
import { pathToFileURL } from "node:url";
import { browser } from "./browser.mjs";

const [report, picture, scheme = "light"] = process.argv.slice(2);
const page = await browser.newPage({ viewport: { width: 1180, height: 1000 }, colorScheme: scheme });
await page.goto(pathToFileURL(report).href);
await page.waitForSelector("#shares[data-drawn]");
await page.screenshot({ path: picture });
await browser.close();
