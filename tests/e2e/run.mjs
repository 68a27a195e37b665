// node run.mjs SAMPLES SWEETSPOT: every test of the page, in one browser.
import { after } from "node:test";
import { browser } from "./browser.mjs";
import "./charts.test.mjs";
import "./compare.test.mjs";
import "./inert.test.mjs";
import "./keyboard.test.mjs";
import "./live.test.mjs";
import "./media.test.mjs";
import "./memory.test.mjs";
import "./paper.test.mjs";
import "./serve.test.mjs";
import "./table.test.mjs";

after(() => browser.close());
