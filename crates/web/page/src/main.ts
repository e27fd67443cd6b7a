// The page: settings edit the file, the file moves the settings, and each change is run in the worker.
import { Editor } from "./editor";
import { Engine, Wrong } from "./engine";
import { pack, unpack } from "./link";
import { Plots, csv, type Run, type Shown } from "./plots";
import { Guide } from "./schema";
import { READS, Settings } from "./settings";
import { sketch } from "./sketch";
import { tell } from "./told";
import type { Checked } from "./types";

/** `change` is what the attempt does to the file: a text that it has once, and the text in its place. */
interface Lesson { title: string; sentences: string[]; attempt: string; change: [old: string, made: string]; file: string }
declare const LESSONS: Lesson[];
const MOST = 3e7; // packets times links that are run without asking: some 10 s
const TOGETHER = 6; // runs of a sweep that are drawn over each other
const ALL = -1;
const TYPING = 60; // ms without a key after which a file is checked

const $ = <E extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as E;
const plots = new Plots($("plots"));
let engine: Engine, settings: Settings, kept: Run | undefined, timer = 0;
let runs: Run[] = [], checked: Checked | undefined;
/** The run of a sweep that is shown, or ALL. */
let chosen = 0;
/** The file to go on to, while the run A is made before it: of a link that holds both, or of a lesson. */
let next: string | undefined;
let guide: Promise<Guide> | undefined;
/** Set while the page itself changes the text. */
let quiet = false;

const editor = new Editor($("file"), () => (guide ??= engine.ask({ do: "schema" }).then((schema) => new Guide(schema))), () => {
  clearTimeout(timer);
  if (!quiet) timer = window.setTimeout(changed, TYPING);
});
function write(text: string) {
  quiet = true;
  editor.text = text;
  quiet = false;
  return changed();
}

async function compiled() {
  const bytes = Uint8Array.from(atob($("wasm").textContent!), (c) => c.charCodeAt(0));
  return WebAssembly.compile(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}

function failed(e: unknown) {
  if (next !== undefined) return follow();
  $("error").textContent = (e as Error).message;
  editor.mark(e instanceof Wrong ? e.report : undefined);
}

async function changed() {
  const text = editor.text;
  engine.stop();
  try {
    const found = await engine.ask({ do: "check", text, reads: READS, run: Math.max(0, chosen) });
    if (text !== editor.text) return;
    checked = found;
    $("error").textContent = "";
    editor.mark();
    $("beyond").textContent = settings.show(found);
    sketch($("sketch"), found);
    choose(found);
    run(text);
    if (next === undefined) void remember();
  } catch (e) { if (text === editor.text) failed(e); }
}

/** Offers the runs of a sweep. */
function choose({ runs, labels }: Checked) {
  const few = runs > 1 && runs <= TOGETHER, select = $<HTMLSelectElement>("run");
  if (chosen >= runs || (chosen === ALL && !few)) chosen = 0;
  $("runs").hidden = runs === 1;
  const options = labels.map((label, i) => new Option(`${i + 1} of ${runs}${label ? `: ${label}` : ""}`, String(i)));
  select.replaceChildren(...(few ? [new Option(`all ${runs}`, String(ALL))] : []), ...options);
  select.value = String(chosen);
}

/** The values of a run's axes. */
const word = (number: number) => checked?.labels[number]?.replace(/[^,]+? = /g, "") || `run ${number + 1}`;
function shown(): Shown[] {
  if (chosen === ALL) return runs.map((run) => ({ run, word: word(run.number) }));
  const run = runs[0];
  if (!run) return [];
  return kept ? [{ run, word: "B" }, { run: kept, word: "A" }] : [{ run, word: "" }];
}
function draw() { plots.draw(shown()); }
const state = (said: string) => { $("state").textContent = said; };

function run(text: string, forced = false, number = chosen === ALL ? 0 : chosen) {
  const mine: Run = { text, number, rows: [], flows: [], links: [], duration_s: 0, cost: 0 };
  if (chosen === ALL && number > 0) runs.push(mine);
  else runs = [mine];
  const among = runs;
  $("go").hidden = true;
  $<HTMLButtonElement>("keep").disabled = chosen === ALL;
  engine.run(text, number, MOST, forced, {
    failed: (e) => { if (runs === among) failed(e); },
    opened: (opened) => {
      Object.assign(mine, opened);
      $("go").hidden = opened.cost <= MOST || forced;
      state($("go").hidden ? "" : `This run moves about ${(opened.cost / 1e6).toFixed(0)} million packets over links. That takes a while here.`);
    },
    rows: (rows) => {
      mine.rows.push(...rows);
      state(`${(mine.rows.at(-1)?.[0] ?? 0).toFixed(2)} s of ${mine.duration_s} s`);
      draw();
    },
    finished: (result) => {
      mine.result = result;
      draw();
      if (chosen === ALL && number + 1 < (checked?.runs ?? 0)) return run(text, forced, number + 1);
      tell(shown(), $("told"), $("limits"), $<HTMLTableElement>("metrics"));
      state(`Done: ${result.end_s.toFixed(2)} s, ${result.packets.toLocaleString("en")} packets over links`);
      if (next !== undefined) { keep(); follow(); }
    },
  });
}

let edits = Promise.resolve();
function set(path: string, value: string | null) {
  engine.stop();
  const one = async () => {
    try { void write((await engine.ask({ do: "edit", text: editor.text, sets: [[path, value]] })).text); } catch (e) { failed(e); }
  };
  // One after the other, since each edits the text that the last one made.
  edits = edits.then(one);
}

const remember = async () => {
  const link = await pack({ b: editor.text, a: kept?.text, ...(chosen === 0 ? {} : { run: chosen }) });
  window.history.replaceState(null, "", `#${link}`);
};
function save(name: string, blob: Blob) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1e3);
}

let taught: Lesson | undefined;
function lesson(number: number) {
  const { sentences, attempt, file } = (taught = LESSONS[number]!);
  $("text").textContent = `${sentences.join(" ")} Try: ${attempt}`;
  $("try").hidden = false;
  [next, kept] = [undefined, undefined];
  $("drop").hidden = true;
  void write(file);
}
/** Makes the change of the lesson. The run of its file is A, made anew where it is not the one that is shown. */
function attempt() {
  const { file, change: [old, made] } = taught!, after = file.replace(old, () => made);
  if (editor.text === file && runs[0]?.result && runs[0].text === file) { keep(); void write(after); }
  else { next = after; void write(file); }
}

function told() { tell(shown(), $("told"), $("limits"), $<HTMLTableElement>("metrics")); draw(); }
function keep() {
  if (!runs[0]?.result) return;
  kept = runs[0];
  $("drop").hidden = false;
  told();
}
/** Goes on to the file of the link, A made or not. */
function follow() {
  const file = next!;
  next = undefined;
  void write(file);
}

$("keep").onclick = () => { keep(); void remember(); };
$("try").onclick = attempt;
$("drop").onclick = () => { kept = undefined; $("drop").hidden = true; told(); void remember(); };
$("go").onclick = () => run(editor.text, true);
$("link").onclick = async () => { await remember(); await navigator.clipboard?.writeText(location.href).catch(() => {}); state("The address of this page is the link."); };
$("toml").onclick = () => save("experiment.toml", new Blob([editor.text]));
$("csv").onclick = () => { if (runs[0]) save("series.csv", new Blob([csv(runs[0])])); };
$("png").onclick = () => plots.picture().toBlob((blob) => { if (blob) save("longfat.png", blob); });
$("run").onchange = () => { chosen = Number($<HTMLSelectElement>("run").value); void changed(); };

try {
  plots.drawn = () => { if (runs[0]?.rows.length) performance.mark(runs.every((run) => run.result) ? "whole" : "drawn"); };
  engine = new Engine(await compiled());
  settings = new Settings($("sliders"), await engine.ask({ do: "names" }), set);
  LESSONS.forEach(({ title }, i) => $("lesson").append(new Option(title, String(i))));
  $("lesson").onchange = () => lesson(Number($<HTMLSelectElement>("lesson").value));
  const given = await unpack(location.hash.slice(1)).catch((e: Error) => void state(`The link does not hold an experiment: ${e.message}`));
  chosen = given?.run ?? 0;
  if (given?.a !== undefined) next = given.b;
  if (given) void write(given.a ?? given.b);
  else lesson(0);
} catch (e) { failed(e); }
