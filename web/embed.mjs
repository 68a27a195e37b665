// Writes the built script and style as C++ constants, with the hashes that the page's policy names.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const [target = "page_assets.cpp"] = process.argv.slice(2);

// The licences of the packages whose code is in script and style: everyone who gets a page gets
// them too. Every page has the style, not every one the script.
function notices() {
  const { packages } = JSON.parse(readFileSync(new URL("package-lock.json", import.meta.url), "utf8"));
  const carried = Object.entries(packages).filter(([path, { dev }]) => path && !dev);
  return carried.map(([path, { version }]) => {
    const text = readFileSync(new URL(`${path}/LICENSE`, import.meta.url), "utf8");
    if (text.includes("*/")) throw new Error(`the licence of ${path} would end the comment it is in`);
    return `/*! ${path.replace(/^.*node_modules\//, "")} ${version}\n${text.trim()}\n*/\n`;
  }).join("");
}

function constant(name, file, before = "") {
  // The bytes between the tags are what the browser hashes.
  const text = before + readFileSync(new URL(`dist/${file}`, import.meta.url), "utf8");
  if (/<\/(script|style)|<!--|\)page"/i.test(text))
    throw new Error(`${file} has text that would end the element it is embedded in`);
  const hash = createHash("sha256").update(text).digest("base64");
  return `const std::string_view ${name} = R"page(${text})page";\n` +
    `const std::string_view ${name}_hash = "sha256-${hash}";\n`;
}

writeFileSync(target, `// Made by web/embed.mjs.
#include "report/html/page_assets.h"

namespace sweetspot::report {

${constant("page_script", "page.js")}${constant("page_style", "page.css", notices())}
}  // namespace sweetspot::report
`);
