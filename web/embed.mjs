// Writes the built script and style as C++ constants, with the hashes that the page's policy names.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const [target = "page_assets.cpp"] = process.argv.slice(2);

function constant(name, file) {
  // The bytes between the tags are what the browser hashes.
  const text = readFileSync(new URL(`dist/${file}`, import.meta.url), "utf8");
  if (/<\/(script|style)|<!--|\)page"/i.test(text))
    throw new Error(`${file} has text that would end the element it is embedded in`);
  const hash = createHash("sha256").update(text).digest("base64");
  return `const std::string_view ${name} = R"page(${text})page";\n` +
    `const std::string_view ${name}_hash = "sha256-${hash}";\n`;
}

writeFileSync(target, `// Made by web/embed.mjs.
#include "report/page_assets.h"

namespace sweetspot::report {

${constant("page_script", "page.js")}${constant("page_style", "page.css")}
}  // namespace sweetspot::report
`);
