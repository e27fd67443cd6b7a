// Makes the page, one file that needs no server, and what runs experiments under Node: `node build.mjs MODULE FOLDER`.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const [module, folder] = process.argv.slice(2);
const here = (name) => new URL(name, import.meta.url).pathname;
const bundle = async (entry, format, more = {}) =>
  (await build({ entryPoints: [here(entry)], bundle: true, minify: true, write: false, format, target: "es2022", ...more }))
    .outputFiles[0].text.trim();
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const worker = await bundle("src/worker.ts", "iife");
const define = { WORKER: JSON.stringify(worker), LESSONS: readFileSync(here("lessons.json"), "utf8") };
const main = (await bundle("src/main.ts", "esm", { define })).replaceAll("</script", "<\\/script");
const style = readFileSync(here("node_modules/uplot/dist/uPlot.min.css"), "utf8") + readFileSync(here("style.css"), "utf8");
const wasm = gzipSync(readFileSync(module), { level: 9 }).toString("base64");
const parts = { SCRIPT: hash(main), SHEET: hash(style), STYLE: style, MAIN: main, WASM: wasm };
const page = readFileSync(here("index.html"), "utf8").replace(/%(SCRIPT|SHEET|STYLE|MAIN|WASM)%/g, (_, name) => parts[name]);
writeFileSync(join(folder, "lab.html"), page);
writeFileSync(join(folder, "run.mjs"), await bundle("src/run.ts", "esm", { platform: "node" }));
