// Makes the page, one file that needs no server: `node build.mjs MODULE OUT`.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync, readdirSync } from "node:fs";
import { gzipSync } from "node:zlib";

const [module, out] = process.argv.slice(2);
const here = (name) => new URL(name, import.meta.url).pathname;
const bundle = async (entry, format, define = {}) =>
  (await build({ entryPoints: [here(entry)], bundle: true, minify: true, write: false, format, target: "es2022", define }))
    .outputFiles[0].text.trim();
const worker = await bundle("src/worker.js", "iife");
const lessons = JSON.parse(readFileSync(here("lessons.json")));
const main = (await bundle("src/main.js", "esm", { WORKER: JSON.stringify(worker), LESSONS: JSON.stringify(lessons) })).replaceAll("</script", "<\\/script");
const style = readFileSync(here("node_modules/uplot/dist/uPlot.min.css"), "utf8") + readFileSync(here("style.css"), "utf8");
const parts = {
  SCRIPT: `'sha256-${createHash("sha256").update(main).digest("base64")}'`,
  STYLE: style, MAIN: main, WASM: gzipSync(readFileSync(module), { level: 9 }).toString("base64"),
};
writeFileSync(out, readFileSync(here("index.html"), "utf8").replace(/%(SCRIPT|STYLE|MAIN|WASM)%/g, (_, name) => parts[name]));
