// The page: figures are drawn when they come near, runs are unpacked when they are picked.
"use strict";
const charts = new Map();
const packed = id => document.getElementById(id)?.textContent;

const drawings = new Map();
/** Draws a figure, once; when it is drawn. */
function drawFigure(host) {
  if (!drawings.has(host)) drawings.set(host, draw(host));
  return drawings.get(host);
}

async function draw(host) {
  try { charts.set(host, new Chart(host, await unpack(packed(host.dataset.pack)))); } catch (error) { host.textContent = "This browser cannot show the figure: it needs DecompressionStream (2023)."; throw error; }
}

const near = new IntersectionObserver(entries => {
  for (const entry of entries) if (entry.isIntersecting) { near.unobserve(entry.target); if (entry.target.draw) entry.target.draw(); else drawFigure(entry.target); }
}, { rootMargin: "300px" });

/** The runs that the reader picks: one select for each axis, on each side. */
class Explorer {
  constructor(root) {
    this.facts = JSON.parse(packed("data-runs"));
    this.cache = new Map();
    this.sides = [];
    root.querySelectorAll(".side").forEach((part, i) => this.side(part, i));
    for (const side of this.sides) this.pick(side, side.run);
  }

  side(root, index) {
    const side = { root, run: this.facts.start[index], shown: [], body: root.querySelector(".figures"), form: root.querySelector("form") };
    side.selects = this.facts.axes.map((axis, k) => {
      const select = element("select", { id: `axis-${index}-${k}` }, ...axis.values.map((value, i) => element("option", { value: i }, value)));
      select.addEventListener("change", () => this.pick(side, this.nearest(side, k, +select.value)));
      side.form.append(element("span", {}, element("label", { for: select.id }, axis.name), select));
      return select;
    });
    this.sides.push(side);
  }

  /** The run with this value of axis `k` that has most in common with the one shown. */
  nearest(side, k, value) {
    const { runs } = this.facts, now = runs[side.run].at;
    let best = side.run, most = -1;
    runs.forEach((run, i) => {
      const common = run.at[k] === value ? run.at.reduce((sum, v, j) => sum + (v === now[j]), 0) : -1;
      if (common > most) { most = common; best = i; }
    });
    return best;
  }

  /** Shows a run. The two sides have their axes in common where they have the same unit. */
  async pick(side, index) {
    const run = this.facts.runs[index];
    side.run = index;
    side.selects.forEach((select, k) => { select.value = run.at[k]; });
    const figures = await this.figures(index);
    if (side.run !== index) return;
    for (const shown of side.shown) near.unobserve(shown.host);
    const linked = [];
    side.shown = figures.map(figure => {
      const host = element("div", { class: "host" }), shown = { figure: { ...figure, extent: whole(figure) }, host, chart: null };
      host.draw = () => { shown.chart ??= new Chart(host, shown.figure, linked); };
      return shown;
    });
    // On paper there are no selects to tell which run it is.
    const where = this.facts.axes.map((axis, k) => `${axis.name} ${axis.values[run.at[k]]}`).join(", ");
    side.root.querySelector(".facts").textContent = `${where ? `${where}: ` : ""}${run.says}${figures.length ? "" : ". Nothing was recorded over time."}`;
    side.body.replaceChildren(...side.shown.map(({ figure, host }) => element("figure", figure.series.some(one => one.low) ? { class: "wide" } : {}, element("h3", {}, figure.title), host, ...(figure.caption ? [element("figcaption", {}, figure.caption)] : []))));
    for (const one of side.shown) this.alike(one, this.sides.filter(other => other !== side).flatMap(other => other.shown));
    for (const shown of side.shown) near.observe(shown.host);
  }

  alike(one, others) {
    for (const other of others) {
      if (other.figure.title !== one.figure.title || other.figure.y.title !== one.figure.y.title) continue;
      const own = whole({ ...other.figure, series: other.figure.series }), both = {};
      for (const key of ["x", "y"]) both[key] = [Math.min(one.figure.extent[key][0], own[key][0]), Math.max(one.figure.extent[key][1], own[key][1])];
      one.figure.extent = other.figure.extent = both;
      if (other.chart) { other.chart.extent = both; other.chart.reset(); }
    }
  }

  async figures(index) {
    if (!this.cache.has(index)) {
      if (this.cache.size > 12) this.cache.delete(this.cache.keys().next().value);
      const content = packed(`data-run-${index}`);
      this.cache.set(index, content ? await unpack(content) : []);
    }
    return this.cache.get(index);
  }
}

let explorer = null;
function every(act) {
  for (const chart of charts.values()) if (chart) act(chart);
  for (const side of explorer?.sides ?? []) for (const shown of side.shown) if (shown.chart) act(shown.chart);
}

function begin() {
  for (const host of document.querySelectorAll("[data-pack]")) near.observe(host);
  const root = document.getElementById("explorer");
  if (root) explorer = new Explorer(root);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => every(chart => chart.again()));
  // Paper is light.
  matchMedia("print").addEventListener("change", () => every(chart => chart.again()));
  let soon = 0;
  addEventListener("resize", () => { cancelAnimationFrame(soon); soon = requestAnimationFrame(() => every(chart => chart.fit())); });
  // For print all must be there, and what is folded is open. Unpacking takes a while, and a browser that prints does not wait.
  const undrawn = () => [...document.querySelectorAll("[data-pack]")].filter(host => !charts.get(host));
  const rest = () => { const next = undrawn().find(host => !drawings.has(host)); if (next) drawFigure(next).then(() => idle(rest)); };
  const idle = window.requestIdleCallback ? act => requestIdleCallback(act, { timeout: 4000 }) : act => setTimeout(act, 200);
  idle(rest);
  let folded = [];
  addEventListener("keydown", event => {
    if (event.key !== "p" || !(event.ctrlKey || event.metaKey) || !undrawn().length) return;
    event.preventDefault();
    Promise.allSettled(undrawn().map(drawFigure)).then(() => print());
  });
  addEventListener("beforeprint", () => {
    for (const host of undrawn()) host.dataset.undrawn = "";
    folded = [...document.querySelectorAll("details.fold:not([open])")];
    for (const one of folded) one.open = true;
    for (const side of explorer?.sides ?? []) for (const shown of side.shown) shown.host.draw();
    every(chart => chart.fit());
  });
  addEventListener("afterprint", () => { for (const host of document.querySelectorAll("[data-undrawn]")) delete host.dataset.undrawn; for (const one of folded) one.open = false; every(chart => chart.fit()); });
  const only = document.getElementById("only-differs");
  only?.addEventListener("change", () => {
    if (only.checked) for (const place of document.querySelectorAll("#numbers details")) place.open = !!place.querySelector(".differs-row");
    for (const row of document.querySelectorAll("#numbers tr.line")) row.hidden = only.checked && !row.classList.contains("differs-row");
  });
}
if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin); else begin();
