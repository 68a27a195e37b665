import { defineConfig } from "vite";

// One script and one style, for embed.mjs to put into the program: no modules, no assets, no HTML.
export default defineConfig({
  build: {
    target: "es2020",
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
    rollupOptions: {
      input: "src/main.ts",
      output: { format: "iife", entryFileNames: "page.js", assetFileNames: "page[extname]" },
    },
  },
});
