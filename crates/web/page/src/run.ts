// Runs experiments under Node: `node run.mjs MODULE < {"columns": [...], "runs": {NAME: TEXT}}` prints {NAME: answer of `finish`}.
import { readFileSync } from "node:fs";
import { lab } from "./lab";
import type { Answer, Finished } from "./types";

const ask = await lab(await WebAssembly.compile(readFileSync(process.argv[2]!)));
const { columns, runs, whole }: { columns?: string[]; runs: Record<string, string>; whole?: boolean } = JSON.parse(readFileSync(0, "utf8"));
const found: Record<string, Finished & { took_ms: number; memory: number }> = {};
for (const [name, text] of Object.entries(runs)) {
  const right = <T>({ ok, error }: Answer<T>): T => {
    if (error) throw new Error(`${name}: ${error.said}`);
    return ok;
  };
  const start = performance.now();
  right(ask({ do: "open", text, run: 0 }));
  // In slices, as the page runs it.
  const options = whole ? { to_end: true } : { samples: 25 };
  while (!right(ask({ do: "advance", ...options })).over);
  found[name] = { ...right(ask({ do: "finish", columns })), took_ms: performance.now() - start, memory: ask.memory() };
}
console.log(JSON.stringify({ found, rss: process.memoryUsage().rss }));
