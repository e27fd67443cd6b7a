// Runs experiments away from the page. A run answers many times, until it is over, or another one or `stop` comes. Between its slices
// other requests are answered.
import { lab, type Lab } from "./lab";
import type { FromWorker, ToWorker } from "./types";

type Run = Extract<ToWorker, { run: number }>;
const SLICE = 12; // ms between looks at the messages that have come
let made: Promise<Lab>;
let current = 0;
const say = (message: FromWorker) => postMessage(message);

// A turn of the event loop. `setTimeout` would wait for 4 ms.
const { port1, port2 } = new MessageChannel();
const turn = () => new Promise<void>((done) => {
  port1.onmessage = () => done();
  port2.postMessage(0);
});

onmessage = async ({ data }: MessageEvent<ToWorker>) => {
  if ("module" in data) return void (made = lab(data.module));
  if ("stop" in data) return void (current = 0);
  if ("run" in data) current = data.id;
  try {
    const ask = await made;
    if ("run" in data) await run(ask, data);
    else say({ id: data.id, answer: ask(data.request) });
  } catch (e) {
    say({ id: data.id, died: (e as Error).message });
  }
};

async function run(ask: Lab, { id, text, run, most, forced }: Run) {
  if (id !== current) return;
  const opened = ask({ do: "open", text, run });
  say({ id, opened });
  if (opened.error || (opened.ok.cost > most && !forced)) return;
  for (let over = false; !over; ) {
    const rows = [];
    for (const start = performance.now(); !over && performance.now() - start < SLICE; ) {
      const { ok, error } = ask({ do: "advance", samples: 1 });
      if (error) return say({ id, opened: { error } });
      over = ok.over;
      rows.push(...ok.rows);
    }
    say({ id, rows });
    await turn();
    if (id !== current) return;
  }
  say({ id, finished: ask({ do: "finish" }), memory: ask.memory() });
}
