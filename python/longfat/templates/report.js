// The page: figures are drawn when they come near, runs are unpacked when they are picked.
"use strict";
const charts = new Map();
const packs = {};
const packed = id => document.getElementById(id)?.textContent;

async function drawFigure(host) {
  if (charts.has(host)) return;
  charts.set(host, null);
  try { charts.set(host, new Chart(host, await unpack(packed(host.dataset.pack)))); } catch (error) { host.textContent = "This browser cannot show the figure: it needs DecompressionStream (2023)."; throw error; }
}

const near = new IntersectionObserver(entries => {
  for (const entry of entries) if (entry.isIntersecting) { near.unobserve(entry.target); drawFigure(entry.target); }
}, { rootMargin: "300px" });

/** The runs that the reader picks: one select for each axis, twice. */
class Explorer {
  constructor(root) {
    this.root = root;
    this.facts = JSON.parse(packed("runs"));
    this.cache = new Map();
    this.sides = [...root.querySelectorAll(".side")].map((side, i) => this.side(side, i));
  }

  side(root, index) {
    const { axes, runs, start } = this.facts, selects = [];
    const side = { root, index, run: start[index] ?? start[0], charts: [], body: root.querySelector(".figures") };
    const form = root.querySelector("form");
    axes.forEach((axis, k) => {
      const select = element("select", { id: `axis-${index}-${k}` }, ...axis.values.map((value, i) => element("option", { value: i }, value)));
      select.addEventListener("change", () => this.pick(side, this.nearest(side, k, +select.value)));
      selects.push(select);
      form.append(element("label", { for: select.id }, axis.name), select);
    });
    side.selects = selects;
    for (const button of root.querySelectorAll("button[data-run]")) button.addEventListener("click", () => this.pick(side, +button.dataset.run));
    this.pick(side, side.run);
    return side;
  }

  /** The run with this value of axis `k` that has most in common with the one shown. */
  nearest(side, k, value) {
    const { runs } = this.facts, now = runs[side.run].at;
    let best = side.run, most = -1;
    runs.forEach((run, i) => {
      if (run.at[k] !== value) return;
      const common = run.at.reduce((sum, v, j) => sum + (v === now[j]), 0);
      if (common > most) { most = common; best = i; }
    });
    return best;
  }

  async pick(side, index) {
    const run = this.facts.runs[index];
    side.run = index;
    side.selects.forEach((select, k) => { select.value = run.at[k]; });
    side.root.querySelector(".facts").textContent = run.says;
    const figures = await this.figures(run.hash);
    if (side.run !== index) return;
    const began = performance.now();
    const seen = side.charts.length ? null : undefined;
    side.charts = [];
    this.linked = this.sides ?? [];
    const links = [];
    side.body.replaceChildren(...figures.map(figure => {
      const host = element("div", { class: "host" }), whole = element("figure", { class: "run-figure" }, element("h3", {}, figure.title), host);
      if (figure.caption) whole.append(element("figcaption", {}, figure.caption));
      queueMicrotask(() => side.charts.push(new Chart(host, figure, links)));
      return whole;
    }));
    await Promise.resolve();
    side.took = performance.now() - began;
  }

  async figures(hash) {
    if (!this.cache.has(hash)) {
      if (this.cache.size > 8) this.cache.delete(this.cache.keys().next().value);
      const content = packed(`run-${hash}`);
      this.cache.set(hash, content ? await unpack(content) : []);
    }
    return this.cache.get(hash);
  }
}

let explorer = null;
function every(act) {
  for (const chart of charts.values()) if (chart) act(chart);
  for (const side of explorer?.sides ?? []) side.charts.forEach(act);
}

function begin() {
  for (const host of document.querySelectorAll("[data-pack]")) near.observe(host);
  const root = document.getElementById("explorer");
  if (root) explorer = new Explorer(root);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => every(chart => chart.again()));
  let soon = 0;
  addEventListener("resize", () => { cancelAnimationFrame(soon); soon = requestAnimationFrame(() => every(chart => chart.fit())); });
  // For print all must be there, and what is folded is open.
  const rest = () => { const next = [...document.querySelectorAll("[data-pack]")].find(host => !charts.has(host)); if (next) drawFigure(next).then(() => idle(rest)); };
  const idle = window.requestIdleCallback ? act => requestIdleCallback(act, { timeout: 4000 }) : act => setTimeout(act, 200);
  idle(rest);
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details.fold:not([open])")];
    for (const one of folded) one.open = true;
    every(chart => chart.fit());
  });
  addEventListener("afterprint", () => { for (const one of folded) one.open = false; every(chart => chart.fit()); });
  const only = document.getElementById("only-differs");
  only?.addEventListener("change", () => {
    for (const row of document.querySelectorAll("#numbers tr.line")) row.hidden = only.checked && !row.classList.contains("differs-row");
  });
}
if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin); else begin();
