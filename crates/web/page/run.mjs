// Runs experiments under Node: `node run.mjs MODULE < {"columns": [...], "runs": {NAME: TEXT}}` prints {NAME: answer of `finish`}.
import { readFileSync } from "node:fs";
import { lab } from "./lab.mjs";

const ask = await lab(await WebAssembly.compile(readFileSync(process.argv[2])));
const { columns, runs, whole } = JSON.parse(readFileSync(0, "utf8"));
const found = {};
for (const [name, text] of Object.entries(runs)) {
  const opened = ask({ do: "open", text, run: 0 });
  if (opened.error) throw new Error(`${name}: ${opened.error.said}`);
  // In slices, as the page runs it.
  const start = performance.now();
  const options = whole ? { to_end: true } : { samples: 25 };
  while (!ask({ do: "advance", ...options }).ok.over);
  const answer = ask({ do: "finish", columns });
  if (answer.error) throw new Error(`${name}: ${answer.error.said}`);
  found[name] = { ...answer.ok, took_ms: performance.now() - start };
}
console.log(JSON.stringify({ found, rss: process.memoryUsage().rss }));
