// Runs experiments away from the page. Requests come as {id, ...}; `run` answers many times, until it is over or another one comes.
import { lab } from "../lab.mjs";

let ask;
let current = 0;
let queue = Promise.resolve();
const slice = 12; // ms between looks at the queue of messages

onmessage = ({ data }) => {
  if (data.do === "run" || data.do === "stop") current = data.id;
  queue = queue.then(() => handle(data)).catch((e) => postMessage({ id: data.id, died: e.message }));
};

async function handle(request) {
  if (request.module) ask = await lab(request.module);
  else if (request.do === "run") await run(request);
  else if (request.do !== "stop") postMessage({ id: request.id, answer: ask(request) });
}

async function run(request) {
  if (request.id !== current) return;
  const opened = ask({ ...request, do: "open" });
  postMessage({ id: request.id, opened });
  if (opened.error || (opened.ok.cost > request.most && !request.forced)) return;
  for (let over = false; !over; ) {
    const rows = [];
    const start = performance.now();
    while (!over && performance.now() - start < slice) {
      const { ok, error } = ask({ do: "advance", samples: 1 });
      if (error) return postMessage({ id: request.id, opened: { error } });
      over = ok.over;
      rows.push(...ok.rows);
    }
    postMessage({ id: request.id, rows });
    await new Promise((done) => setTimeout(done));
    if (request.id !== current) return;
  }
  postMessage({ id: request.id, finished: ask({ do: "finish" }) });
}
