// The page: sliders edit the file, the file moves the sliders, and each change is run in the worker.
import uPlot from "uplot";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { EditorState } from "@codemirror/state";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";
import { setDiagnostics } from "@codemirror/lint";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { pack, unpack } from "./link.js";

const $ = (id) => document.getElementById(id);
const MOST = 3e7; // packets times links that are run without asking: some 10 s
const COLOURS = ["#2a7de1", "#e1662a", "#2aa562", "#b04ad0", "#c0392b", "#7f8c8d"];
const UNITS = { "bit/s": [["Gbit/s", 1e9], ["Mbit/s", 1e6], ["kbit/s", 1e3]], s: [["s", 1], ["ms", 1e-3], ["us", 1e-6]], bytes: [["MiB", 2 ** 20], ["KiB", 1024]] };
const quantity = (unit) => (n) => {
  const [word, size] = UNITS[unit].find(([, size]) => n >= size) ?? UNITS[unit].at(-1);
  return `"${Number((n / size).toPrecision(3))} ${word}"`;
};
// Ranges are the page's: a slider ends somewhere. `need` is the unit that the slider can show.
const SLIDERS = [
  { name: "Rate", path: "path.bottleneck.rate", unit: "bit/s", low: 1e6, high: 1e9, say: quantity("bit/s") },
  { name: "Round trip", path: "path.rtt", unit: "s", low: 1e-3, high: 0.6, say: quantity("s") },
  { name: "Buffer", path: "path.bottleneck.queue.limit", unit: "bdp", low: 0.02, high: 16, say: (n) => `"${Number(n.toPrecision(2))} bdp"` },
  { name: "Loss probability", path: "path.bottleneck.loss", read: "path.bottleneck.loss.probability", low: 1e-7, high: 0.1, zero: "none",
    say: (n) => `{ kind = "bernoulli", probability = ${Number(n.toPrecision(2))} }` },
  { name: "Flows", path: "flow[0].count", low: 1, high: 20, say: (n) => String(Math.round(n)) },
  { name: "Window", path: "flow[0].window", unit: "bytes", low: 8192, high: 64 * 2 ** 20, zero: "auto", say: quantity("bytes") },
  { name: "Duration", path: "measure.duration", unit: "s", low: 1, high: 120, say: quantity("s") },
];
const CHOICES = [
  { name: "Queue", path: "path.bottleneck.queue", read: "path.bottleneck.queue.kind", from: "queues" },
  { name: "Congestion control", path: "flow[0].congestion_control", read: "flow[0].congestion_control.kind", from: "controls" },
];
const READS = [...SLIDERS, ...CHOICES].map((one) => one.read ?? one.path);

let worker, module, names, kept, timer;
/** The file of a link, while the run A that the link holds is made before it. */
let next;
let b = { rows: [] };
let count = 0;
const waiting = new Map();

async function compiled() {
  const bytes = Uint8Array.from(atob($("wasm").textContent), (c) => c.charCodeAt(0));
  return WebAssembly.compile(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}

function start() {
  worker?.terminate();
  worker = new Worker(URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" })));
  worker.onmessage = ({ data }) => waiting.get(data.id)?.(data);
  worker.postMessage({ module });
}

/** One answer. A worker that dies, or is silent for 10 s, is started anew. */
function ask(request) {
  const id = ++count;
  return new Promise((done, fail) => {
    const dead = (why) => { waiting.delete(id); start(); fail(new Error(why)); };
    const late = setTimeout(() => dead("no answer within 10 s: the file may ask for too much"), 1e4);
    waiting.set(id, ({ answer, died }) => {
      clearTimeout(late);
      if (died !== undefined) return dead(died);
      waiting.delete(id);
      answer.error ? fail(Object.assign(new Error(answer.error.said), { report: answer.error })) : done(answer.ok);
    });
    worker.postMessage({ ...request, id });
  });
}

const COLOURED = HighlightStyle.define([
  { tag: tags.string, color: "light-dark(#a11, #ff9d8a)" }, { tag: [tags.number, tags.bool, tags.atom], color: "light-dark(#164, #7fd6a2)" },
  { tag: tags.comment, color: "light-dark(#666, #a0a0a0)" }, { tag: [tags.atom, tags.heading, tags.standard(tags.name)], color: "light-dark(#219, #9ab8ff)" },
]);
const editor = new EditorView({
  parent: $("file"),
  extensions: [lineNumbers(), history(), keymap.of([...defaultKeymap, ...historyKeymap]), StreamLanguage.define(toml), syntaxHighlighting(COLOURED),
    EditorView.cspNonce.of("longfat"), EditorView.contentAttributes.of({ "aria-label": "Experiment file, TOML" }), EditorState.tabSize.of(4),
    EditorView.updateListener.of((update) => update.docChanged && later())],
});
const text = () => editor.state.doc.toString();
const later = () => { clearTimeout(timer); timer = setTimeout(changed, 60); };
const setText = (to) => { editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: to } }); };

function fail(e) {
  if (next !== undefined) return follow();
  $("error").textContent = e.message;
  const { line, column, width, message } = e.report ?? {};
  const found = line && line <= editor.state.doc.lines ? editor.state.doc.line(line) : null;
  const at = found && Math.min(found.to, found.from + column - 1);
  editor.dispatch(setDiagnostics(editor.state, found ? [{ from: at, to: Math.min(found.to, at + width), severity: "error", message }] : []));
}

async function changed(forced = false) {
  const now = text();
  try {
    const checked = await ask({ do: "check", text: now, reads: READS });
    if (now !== text()) return;
    $("error").textContent = "";
    editor.dispatch(setDiagnostics(editor.state, []));
    show(checked);
    run(now, forced === true);
    if (next === undefined) remember();
  } catch (e) { fail(e); }
}

function run(now, forced) {
  for (const id of [...waiting.keys()]) if (id === b.id) waiting.delete(id);
  const mine = (b = { id: ++count, rows: [], text: now });
  $("go").hidden = true;
  waiting.set(mine.id, ({ opened, rows, finished, died }) => {
    if (b !== mine) return;
    if (died !== undefined) { start(); return fail(new Error(died)); }
    const error = opened?.error ?? finished?.error;
    if (error) return fail(Object.assign(new Error(error.said), { report: error }));
    if (opened) {
      Object.assign(mine, opened.ok);
      $("go").hidden = !(mine.cost > MOST && !forced);
      $("state").textContent = $("go").hidden ? "" : `This run moves about ${(mine.cost / 1e6).toFixed(0)} million packets over links. That takes a while here.`;
    }
    if (rows) { mine.rows.push(...rows); $("state").textContent = `${(mine.rows.at(-1)?.[0] ?? 0).toFixed(2)} s of ${mine.duration_s} s`; draw(); }
    if (finished) { mine.result = finished.ok; waiting.delete(mine.id); $("state").textContent = `Done: ${mine.result.end_s.toFixed(2)} s, ${mine.result.packets.toLocaleString("en")} packets over links`; tell(); draw(); if (next !== undefined) { keep(); follow(); } }
  });
  worker.postMessage({ id: mine.id, do: "run", text: now, run: 0, most: MOST, forced });
}

async function set(sets) {
  try { setText((await ask({ do: "edit", text: text(), sets })).text); } catch (e) { fail(e); }
}

function controls() {
  for (const one of SLIDERS) {
    const label = document.createElement("label");
    one.input = Object.assign(document.createElement("input"), { type: "range", ariaLabel: one.name, min: one.zero ? -1 : 0, max: 200, step: 1 });
    one.output = document.createElement("output");
    label.append(one.name, one.output, one.input);
    $("sliders").append(label);
    one.input.oninput = () => {
      const place = Number(one.input.value);
      const said = place < 0 ? null : one.say(one.low * (one.high / one.low) ** (place / 200));
      one.output.textContent = said ?? one.zero;
      set([[one.path, said]]);
    };
  }
  for (const one of CHOICES) {
    const label = document.createElement("label");
    one.input = document.createElement("select");
    for (const { name, summary } of names[one.from]) one.input.append(Object.assign(new Option(name, name), { title: summary }));
    one.output = document.createElement("small");
    label.append(one.name, one.input, one.output);
    $("sliders").append(label);
    one.input.onchange = () => {
      const has = names[one.from].find((entry) => entry.name === one.input.value).params;
      const limit = SLIDERS[2].said;
      const keeps = one.from === "queues" && limit && has.some((param) => param.name === "limit");
      set([[one.path, `{ kind = "${one.input.value}"${keeps ? `, limit = "${limit}"` : ""} }`]]);
    };
  }
}

/** Moves the sliders to what the file says, and says what they cannot. */
function show({ values, runs, resolved }) {
  const beyond = [];
  for (const one of SLIDERS) {
    const value = values[one.read ?? one.path];
    const fits = value && typeof value.number === "number" && (value.unit ?? "") === (one.unit ?? "");
    one.said = value?.text;
    one.output.textContent = value ? value.text ?? "in the file" : one.zero ?? "not in the file";
    if (fits) one.input.value = (200 * Math.log(value.number / one.low)) / Math.log(one.high / one.low);
    else if (!value && one.zero) one.input.value = -1;
    else if (value) beyond.push(one.name);
    one.input.setAttribute("aria-valuetext", one.output.textContent);
  }
  for (const one of CHOICES) {
    const flow = resolved.flow?.[0]?.congestion_control;
    const said = values[one.read]?.text ?? (one.from === "controls" ? flow?.kind ?? flow : undefined);
    if (said) one.input.value = said;
    if (values[one.read]?.other) beyond.push(one.name);
    one.output.textContent = names[one.from].find((entry) => entry.name === one.input.value)?.summary ?? "";
  }
  const sweep = runs > 1 ? `The file has ${runs} runs; the page shows the first. ` : "";
  $("beyond").textContent = sweep + (beyond.length ? `The file says more than these sliders can: ${beyond.join(", ")}. Moving one replaces that.` : "");
}

const PLOTS = [
  { title: "cwnd (kB)", flow: (row, i) => row[1][i]?.[0] / 1e3 },
  { title: "Queue (packets)", link: (row, i) => row[2][i]?.[0] },
  { title: "Smoothed RTT (ms)", flow: (row, i) => row[1][i]?.[3] * 1e3 || null },
  { title: "Throughput (Mbit/s)", flow: (row, i, last) => last && ((row[1][i]?.[4] - last[1][i]?.[4]) * 8e-6) / (row[0] - last[0]) },
];

function draw() {
  if (draw.due) return;
  draw.due = requestAnimationFrame(() => {
    draw.due = 0;
    const ink = getComputedStyle(document.body).color;
    for (const plot of PLOTS) {
      const runs = [[b, "B"], ...(kept ? [[kept, "A"]] : [])];
      const data = [], series = [{ label: "s" }];
      const tables = runs.map(([run, word]) => {
        const lines = plot.flow ? run.flows ?? [] : run.links ?? [];
        lines.slice(0, 6).forEach((line, i) => series.push({ label: `${line.name}${kept ? ` ${word}` : ""}`, stroke: COLOURS[i], dash: word === "A" ? [5, 4] : undefined, width: 1.5, points: { show: false }, spanGaps: true }));
        return [run.rows.map((row) => row[0]), ...lines.slice(0, 6).map((_, i) => run.rows.map((row, at) => (plot.flow ?? plot.link)(row, i, run.rows[at - 1]) ?? null))];
      });
      data.push(...(tables.length > 1 ? uPlot.join(tables) : tables[0]));
      const key = series.map((one) => one.label).join();
      const width = $("plots").clientWidth / (innerWidth > 760 ? 2 : 1) - 8;
      if (plot.key !== key || plot.width !== width) {
        plot.view?.destroy();
        const axis = { stroke: ink, grid: { stroke: "#8884" } };
        plot.view = new uPlot({ title: plot.title, width, height: 200, series, scales: { x: { time: false } }, axes: [axis, axis], legend: { show: series.length < 9, live: false } }, data, $("plots"));
        plot.view.root.setAttribute("role", "img");
        plot.view.root.setAttribute("aria-label", `${plot.title} over time`);
        Object.assign(plot, { key, width });
      } else plot.view.setData(data);
    }
  });
}

const figure = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });

function tell() {
  if (!b.result) return;
  const lines = [...b.result.told, ...b.result.warnings.map((one) => `${one.text} ${one.advice}`)];
  $("told").replaceChildren(...lines.map((line) => Object.assign(document.createElement("p"), { textContent: line })));
  const head = document.createElement("tr");
  head.innerHTML = kept ? "<th>Metric<th>B<th>A" : "<th>Metric<th>Value";
  const rows = b.result.metrics.map(({ name, unit, summary, value }) => {
    const row = Object.assign(document.createElement("tr"), { title: summary });
    const a = kept?.result?.metrics.find((one) => one.name === name)?.value;
    for (const cell of [`${name}${unit === "1" ? "" : ` (${unit})`}`, figure(value), ...(kept ? [a === undefined ? "–" : figure(a)] : [])]) row.insertCell().textContent = cell;
    return row;
  });
  $("metrics").replaceChildren(head, ...rows);
}

const remember = async () => window.history.replaceState(null, "", `#${await pack({ b: text(), a: kept?.text })}`);
function save(name, blob) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1e3);
}

function table() {
  const flows = b.flows ?? [], links = b.links ?? [];
  const quote = (name) => `"${name.replaceAll('"', '""')}"`;
  const head = ["time_s", ...flows.flatMap(({ name }) => ["cwnd_bytes", "ssthresh_bytes", "in_flight_bytes", "srtt_s", "bytes_arrived", "bytes_retransmitted"].map((c) => quote(`${name} ${c}`))),
    ...links.flatMap(({ name }) => ["backlog_packets", "wait_s", "wire_bytes", "drops", "marks"].map((c) => quote(`${name} ${c}`)))];
  return [head, ...b.rows.map(([time, flow, link]) => [time, ...flow.flat(), ...link.flat()].map((cell) => cell ?? ""))].map((row) => row.join(",")).join("\n") + "\n";
}

function picture() {
  const views = PLOTS.map((plot) => plot.view.ctx.canvas), [w, h] = [views[0].width, views[0].height];
  const canvas = Object.assign(document.createElement("canvas"), { width: 2 * w, height: 2 * (h + 24) });
  const context = canvas.getContext("2d");
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = getComputedStyle(document.body).color;
  context.font = "16px sans-serif";
  views.forEach((view, i) => { const [x, y] = [(i % 2) * w, Math.floor(i / 2) * (h + 24)]; context.fillText(PLOTS[i].title, x + 8, y + 18); context.drawImage(view, x, y + 24); });
  canvas.toBlob((blob) => save("longfat.png", blob));
}

function lesson(number) {
  const { sentences, attempt, file } = LESSONS[number];
  $("text").textContent = `${sentences.join(" ")} Try: ${attempt}`;
  setText(file.trim() + "\n");
}

function keep() {
  if (!b.result) return;
  kept = b;
  $("drop").hidden = false;
  tell();
  draw();
}
/** Goes on to the file of the link, A made or not. */
function follow() {
  const file = next;
  next = undefined;
  setText(file);
}

$("keep").onclick = () => { keep(); remember(); };
$("drop").onclick = () => { kept = undefined; $("drop").hidden = true; tell(); draw(); remember(); };
$("go").onclick = () => run(text(), true);
$("link").onclick = async () => { await remember(); await navigator.clipboard?.writeText(location.href).catch(() => {}); $("state").textContent = "The address of this page is the link."; };
$("toml").onclick = () => save("experiment.toml", new Blob([text()]));
$("csv").onclick = () => save("series.csv", new Blob([table()]));
$("png").onclick = picture;
onresize = draw;
matchMedia("(prefers-color-scheme: dark)").onchange = () => { for (const plot of PLOTS) plot.key = ""; draw(); };

try {
  module = await compiled();
  start();
  names = await ask({ do: "names" });
  controls();
  LESSONS.forEach(({ title }, i) => $("lesson").append(new Option(title, String(i))));
  $("lesson").onchange = () => lesson($("lesson").value);
  const given = await unpack(location.hash.slice(1)).catch((e) => void ($("state").textContent = `The link does not hold an experiment: ${e.message}`));
  if (given?.a === undefined) given ? setText(given.b) : lesson(0);
  else {
    next = given.b;
    setText(given.a);
  }
} catch (e) { fail(e); }
