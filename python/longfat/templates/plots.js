// Figures of the page: uPlot has axes, scales and the cursor; what is between the axes is drawn by marks.js, by columns of pixels, so
// that a million points cost what a screen can show. A figure comes as a pack (longfat/plot/packed.py).
"use strict";
const GAP = -2147483648;

/** What a pack holds; a column of numbers is a Float64Array. */
async function unpack(text) {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const content = await new Response(stream).arrayBuffer();
  const length = new DataView(content).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(content, 4, length)));
  let at = 4 + length;
  const columns = head.columns.map(fact => {
    const size = fact.n * (fact.quantum ? 4 : 8), part = content.slice(at, at + size);
    at += size;
    return fact.quantum ? summed(new Uint8Array(part), fact) : new Float64Array(part);
  });
  const together = value => Array.isArray(value) ? value.map(together)
    : value === null || typeof value !== "object" ? value
    : "column" in value ? columns[value.column]
    : Object.fromEntries(Object.entries(value).map(([key, item]) => [key, together(item)]));
  return together(head.value);
}

function summed(bytes, { n, first, quantum }) {
  const values = new Float64Array(n);
  for (let i = 0, total = 0; i < n; i++) {
    const step = bytes[i] | bytes[n + i] << 8 | bytes[2 * n + i] << 16 | bytes[3 * n + i] << 24;
    values[i] = step === GAP ? NaN : first + (total += step) * quantum;
  }
  return values;
}

const element = (name, attributes = {}, ...inside) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
};
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The first index whose value is not less. */
function least(values, wanted) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < wanted) low = middle + 1; else high = middle;
  }
  return low;
}

/** A number for people: as many digits as tell it from its neighbours, which are `step` away; without neighbours, four. */
function text(value, step) {
  if (!Number.isFinite(value)) return "";
  if (value === 0) return "0";
  const size = Math.abs(value), power = Math.floor(Math.log10(size) + 1e-12);
  if (size >= 1e6 || size < 1e-4) return trimmed(value.toExponential(Math.min(12, step ? Math.max(0, power + digits(step)) : 3)));
  return value.toLocaleString("en", { maximumFractionDigits: step ? Math.max(0, Math.min(12, digits(step))) : Math.max(0, 3 - power), useGrouping: size >= 1e4 });
}
/** Digits after the point that a step takes: 2 for 0.25. */
function digits(step) {
  const few = Math.ceil(-Math.log10(step) - 1e-9), rest = step * 10 ** few;
  return Math.abs(rest - Math.round(rest)) < 1e-6 ? few : few + 1;
}
const trimmed = written => written.replace(/\.?0*e\+?/, "e");

/** Where a logarithmic axis is labelled: at 1, 2 and 5 of each decade, at less where these are many, at even steps where they are few. */
function decades(low, high) {
  const all = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) for (const part of [1, 2, 5]) all.push(+`${part}e${power}`);
  const inside = all.filter(v => v >= low && v <= high), tens = inside.filter(v => String(v.toExponential())[0] === "1");
  if (inside.length > 9) return tens;
  if (inside.length > 2) return inside;
  const step = [1, 2, 5, 10].map(part => part * 10 ** Math.floor(Math.log10((high - low) / 6))).find(size => (high - low) / size <= 7);
  return Array.from({ length: Math.floor(high / step) - Math.ceil(low / step) + 1 }, (_, i) => +((Math.ceil(low / step) + i) * step).toPrecision(12));
}
/** A colour of a series in the page's theme: black is white on a dark page, and the darkest blue is lighter. */
const inkOf = colour => colour === "ink" ? css("--ink") : colour === "#0072B2" ? css("--blue") : colour;
const DASHES = { solid: [], dash: [7, 4], dot: [2, 3], dashdot: [7, 3, 2, 3] };

/** From where to where the axes go when everything is shown. */
function whole({ x, y, heat, series, rules }) {
  if (heat) return { x: [-0.5, x.names.length - 0.5], y: [-0.5, y.names.length - 0.5] };
  const ends = { x: [Infinity, -Infinity], y: [Infinity, -Infinity] };
  const take = (pair, values, log) => { for (const v of values) if (v === v && (!log || v > 0)) { if (v < pair[0]) pair[0] = v; if (v > pair[1]) pair[1] = v; } };
  const tops = new Map();
  for (const one of series) {
    take(ends.x, one.x, x.log);
    if (one.bar) { one.base = Float64Array.from(one.x, (at, i) => { const b = tops.get(at) ?? 0; tops.set(at, b + (one.y[i] || 0)); return b; }); take(ends.y, [0, ...tops.values()], y.log); }
    else take(ends.y, one.y, y.log);
    if (one.low) take(ends.y, one.low, y.log);
    if (one.error) for (const side of [-1, 1]) take(ends.y, one.y.map((v, i) => v + (one.base?.[i] ?? 0) + side * one.error[i]), y.log);
  }
  for (const rule of rules) { if (rule.x !== null) take(ends.x, [rule.x], x.log); if (rule.y !== null) take(ends.y, [rule.y], y.log); }
  const roomy = (axis, [low, high]) => {
    if (!(high >= low)) [low, high] = [axis.log ? 1 : 0, axis.log ? 10 : 1];
    if (axis.names.length) return [-0.6, axis.names.length - 0.4];
    if (axis.log) { const room = Math.max(0.02, Math.log10(high / low) * 0.04); return [axis.start ?? low / 10 ** room, axis.end ?? high * 10 ** room]; }
    const room = (high - Math.min(low, axis.start ?? low)) * 0.04 || Math.abs(high) * 0.05 || 0.5;
    const from = axis.start ?? low - room, until = axis.end ?? high + room;
    return until > from ? [from, until] : [from, from + 1];
  };
  return { x: roomy(x, ends.x), y: roomy(y, ends.y) };
}

/** One figure. `host` gets what is drawn; `figure` is what `longfat.plot.figure_of` made. `linked` are figures that zoom in x together. */
class Chart {
  constructor(host, figure, linked = null) {
    Object.assign(this, { host, figure, linked, hidden: new Set(), touches: new Map() });
    this.box = element("div", { class: "plot", tabindex: "0", role: "group", "aria-label": `${figure.title}. Arrow keys move, plus and minus zoom, 0 shows all.` });
    this.tip = element("div", { class: "tip", hidden: "" });
    this.tools = element("div", { class: "tools" });
    host.replaceChildren(this.box, this.tools);
    this.extent = figure.extent ??= whole(figure);
    this.legend();
    if (figure.series.length) host.append(this.table());
    this.draw();
    this.listen();
    linked?.push(this);
  }

  ink(colour) { return inkOf(colour); }

  draw() {
    this.plot?.destroy();
    const { figure } = this;
    // Names on y do not touch: the box grows with them.
    if (figure.y.names.length * 17 + 80 > 360) this.box.style.height = `${figure.y.names.length * 17 + 80}px`;
    const dark = css("--line"), ink = css("--ink"), wide = this.box.clientWidth || 600;
    const scale = (axis, extent, extra) => ({ time: false, auto: false, distr: axis.log ? 3 : 1, min: extent[0], max: extent[1], range: (u, low, high) => [low, high], ...extra });
    const names = axis => axis.names.length ? { splits: (u, i, low, high) => axis.names.map((_, k) => k).filter(k => k >= low && k <= high), values: (u, splits) => splits.map(k => axis.names[k]) } : {
      ...(axis.log ? { splits: (u, i, low, high) => decades(low, high), filter: (u, splits) => splits } : {}),
      values: (u, splits, i, space, step) => splits.map(v => v === null ? "" : text(v, axis.log ? undefined : step)) };
    const font = "12px system-ui, sans-serif", longest = list => Math.max(0, ...list.map(t => String(t).length));
    const crowded = figure.x.names.length && figure.x.names.reduce((sum, name) => sum + longest(name.split("\n")) * 6.5 + 14, 0) > wide - 80;
    const look = { stroke: ink, font, labelFont: font, grid: { stroke: dark, width: 1 }, ticks: { stroke: dark, width: 1, size: 4 } };
    const options = {
      width: wide, height: this.box.clientHeight || 360, padding: [null, crowded ? 44 : null, null, null], legend: { show: false },
      scales: { x: scale(figure.x, this.extent.x), y: scale(figure.y, this.extent.y, { dir: figure.heat ? -1 : 1 }) },
      axes: [
        { ...look, ...names(figure.x), label: figure.x.title, labelSize: 20, space: figure.x.names.length ? 1 : 70, ...(crowded ? { rotate: -40, size: 14 + 5 * Math.min(18, longest(figure.x.names)) } : { size: figure.x.names.some(n => n.includes("\n")) ? 46 : 32 }) },
        { ...look, ...names(figure.y), label: figure.y.title, labelSize: 20, space: figure.y.names.length ? 1 : 34, size: (u, values) => 20 + 6.7 * longest(values ?? []) },
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      cursor: {
        points: { show: false }, drag: { x: true, y: true, uni: 30, dist: 6, setScale: false }, x: !figure.heat, y: !figure.heat,
        bind: { dblclick: () => () => { this.reset(); return null; } },
      },
      hooks: {
        draw: [u => this.content(u)], setSelect: [u => this.chosen(u)], setCursor: [u => this.hover(u)], setScale: [(u, key) => { if (key === "x") this.together(); }],
      },
    };
    this.plot = new uPlot(options, [[0, 1], [null, null]], this.box);
    this.box.append(this.tip);
  }

  /** What is between the axes. */
  content(u) {
    const { ctx, bbox } = u, { figure } = this;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    if (figure.heat) this.map(u, figure.heat);
    figure.series.forEach((one, i) => {
      if (this.hidden.has(i)) return;
      const colour = ctx.strokeStyle = ctx.fillStyle = this.ink(one.colour);
      const at = new Places(u, figure, one);
      if (one.low) at.bars(ctx, one); else if (one.bar) at.stack(ctx, one, css("--page"));
      else { if (one.line) at.line(ctx, one, DASHES[one.dash]); if (one.markers) at.marks(ctx, one, colour); }
      if (one.error) at.errors(ctx, one, one.bar ? css("--ink") : colour);
    });
    this.rules(u);
    ctx.restore();
  }

  rules(u) {
    const { ctx, bbox } = u, faint = css("--faint"), dots = uPlot.pxRatio;
    for (const rule of this.figure.rules) {
      const upright = rule.x !== null, at = Math.round(u.valToPos(upright ? rule.x : rule.y, upright ? "x" : "y", true));
      ctx.strokeStyle = ctx.fillStyle = faint;
      ctx.lineWidth = dots;
      ctx.setLineDash([2 * dots, 3 * dots]);
      ctx.beginPath();
      if (upright) { ctx.moveTo(at, bbox.top); ctx.lineTo(at, bbox.top + bbox.height); } else { ctx.moveTo(bbox.left, at); ctx.lineTo(bbox.left + bbox.width, at); }
      ctx.stroke();
      ctx.font = `${11 * dots}px system-ui, sans-serif`;
      ctx.textAlign = upright && at > bbox.left + bbox.width / 2 ? "right" : "left";
      ctx.textBaseline = upright ? "top" : "bottom";
      ctx.fillText(rule.label, upright ? at + (ctx.textAlign === "left" ? 4 : -4) * dots : bbox.left + 4 * dots, upright ? bbox.top + 2 * dots : at - 2 * dots);
    }
  }

  map(u, heat) {
    const { ctx } = u, dots = uPlot.pxRatio, stops = heat.colours.map(c => [1, 3, 5].map(i => parseInt(c.slice(i, i + 2), 16)));
    const place = (v, key) => u.valToPos(v, key, true);
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.font = `${11 * dots}px system-ui, sans-serif`;
    heat.rows.forEach((row, y) => row.forEach((value, x) => {
      if (value !== value) return;
      const left = place(x - 0.5, "x"), right = place(x + 0.5, "x"), top = place(y - 0.5, "y"), bottom = place(y + 0.5, "y");
      const part = Math.min(1, Math.max(0, (value - heat.low) / (heat.high - heat.low || 1))) * (stops.length - 1), k = Math.min(stops.length - 2, Math.floor(part));
      const rgb = stops[k].map((c, i) => Math.round(c + (stops[k + 1][i] - c) * (part - k)));
      ctx.fillStyle = `rgb(${rgb})`;
      ctx.fillRect(left + dots, top + dots, right - left - 2 * dots, bottom - top - 2 * dots);
      // Relative luminance (sRGB, its curve taken as a power of 2.2), for the better contrast of the two.
      const light = [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => sum + w * (rgb[i] / 255) ** 2.2, 0);
      ctx.fillStyle = light < 0.18 ? "#fff" : "#000";
      if (ctx.measureText(heat.text[y][x]).width < right - left - 4 * dots && bottom - top > 12 * dots) ctx.fillText(heat.text[y][x], (left + right) / 2, (top + bottom) / 2);
    }));
  }

  /** The point under the cursor, in words. */
  hover(u) {
    const { left, top } = u.cursor, { figure } = this;
    this.tip.hidden = true;
    if (!(left >= 0 && top >= 0)) return;
    let words = "", px = left, py = top, found = null;
    if (figure.heat) {
      const x = Math.round(u.posToVal(left, "x")), y = Math.round(u.posToVal(top, "y")), value = figure.heat.rows[y]?.[x];
      if (value === value && value !== undefined) words = `${figure.y.names[y]}, ${figure.x.names[x]}: ${text(value)}`;
    } else {
      let best = 30 ** 2;
      figure.series.forEach((one, i) => {
        if (this.hidden.has(i)) return;
        const at = new Places(u, figure, one), dots = at.dots, over = at.bbox;
        const [from, until] = one.sorted ? [least(one.x, u.posToVal(left - 30, "x")), least(one.x, u.posToVal(left + 30, "x"))] : [0, one.x.length];
        // Of very many under the cursor, some.
        const stride = Math.max(1, Math.floor((until - from) / 1500));
        for (let k = from; k < until; k += stride) {
          const x = (at.x(one.x[k]) - over.left) / dots, high = (at.y(one.base ? one.y[k] + one.base[k] : one.y[k]) - over.top) / dots;
          const low = one.low || one.base ? (at.y((one.low ?? one.base)[k]) - over.top) / dots : high;
          const away = (x - left) ** 2 + Math.max(0, high - top, top - low) ** 2;
          if (away < best) { best = away; px = x; py = Math.min(high, low); found = [one, k]; }
        }
      });
      if (found) words = this.point(...found);
    }
    if (!words) return;
    this.tip.textContent = words;
    this.tip.hidden = false;
    const over = u.over, room = over.clientWidth - this.tip.offsetWidth;
    this.tip.style.left = `${over.offsetLeft + Math.max(0, Math.min(room, px + 10))}px`;
    this.tip.style.top = `${over.offsetTop + Math.max(0, py - this.tip.offsetHeight - 8)}px`;
  }

  point(one, k) {
    const { x, y } = this.figure, seen = this.seen();
    // As many digits as tell a thousandth of what is seen.
    const name = (axis, v, [low, high]) => axis.names.length ? axis.names[Math.round(v)] ?? "" : text(v, axis.log ? Math.abs(v) * 1e-3 : (high - low) * 1e-3);
    const value = one.low ? `${name(y, one.low[k], seen.y)} to ${name(y, one.y[k], seen.y)}` : name(y, one.y[k], seen.y);
    const within = one.error && one.error[k] === one.error[k] ? ` ± ${text(one.error[k])}` : "";
    return `${one.name ? `${one.name}\n` : ""}${x.title}: ${name(x, one.x[k], seen.x)}\n${y.title}: ${value}${within}`;
  }

  legend() {
    const buttons = element("div", { class: "legend" });
    if (this.figure.series.length > 1) this.figure.series.forEach((one, i) => {
      const button = element("button", { type: "button", "aria-pressed": "true" }, swatch(one), one.name || "–");
      button.addEventListener("click", () => {
        const on = this.hidden.delete(i);
        if (!on) this.hidden.add(i);
        button.setAttribute("aria-pressed", String(on));
        this.plot.redraw(false);
      });
      buttons.append(button);
    });
    const zoom = element("div", { class: "zoom" });
    if (!this.figure.heat) for (const [sign, label, act] of [["+", "zoom in", () => this.zoom(0.5)], ["−", "zoom out", () => this.zoom(2)], ["all", "show all", () => this.reset()]]) {
      const button = element("button", { type: "button", "aria-label": `${label}: ${this.figure.title}`, title: label }, sign);
      button.addEventListener("click", act);
      zoom.append(button);
    }
    this.tools.replaceChildren(buttons, zoom);
  }

  /** What the figure shows, for who cannot see it: its points, or of many points what they come to. */
  table() {
    const { figure } = this, details = element("details", { class: "data" }, element("summary", {}, "As a table"));
    details.addEventListener("toggle", () => {
      if (!details.open || details.children.length > 1) return;
      const few = figure.series.reduce((sum, one) => sum + one.x.length, 0) <= 400, named = (axis, v) => axis.names.length ? axis.names[v] ?? "" : text(v);
      const rows = few ? figure.series.flatMap(one => Array.from(one.x, (v, k) => [one.name, named(figure.x, v), named(figure.y, one.y[k])]))
        : figure.series.map(one => { const real = one.y.filter(v => v === v); return [one.name, String(real.length), text(real.reduce((a, b) => Math.min(a, b), Infinity)), text(real.reduce((a, b) => a + b, 0) / real.length), text(real.reduce((a, b) => Math.max(a, b), -Infinity))]; });
      const titles = few ? ["", figure.x.title, figure.y.title] : [figure.y.title, "points", "least", "mean", "greatest"];
      const line = (cells, name) => element("tr", {}, ...cells.map((cell, i) => element(name, i ? { class: "n" } : {}, cell)));
      details.append(element("div", { class: "scroll" }, element("table", {}, element("thead", {}, line(titles, "th")), element("tbody", {}, ...rows.map(row => line(row, "td"))))));
    });
    return details;
  }

  // Moving about.

  show(x, y) {
    if (!(x[1] > x[0] && y[1] > y[0]) || ![...x, ...y].every(Number.isFinite)) return;
    this.plot.batch(() => {
      this.plot.setScale("x", { min: x[0], max: x[1] });
      this.plot.setScale("y", { min: y[0], max: y[1] });
    });
  }

  /** What was dragged over. Over time alone, and the other axis follows. */
  chosen(u) {
    const { left, top, width, height } = u.select, x = [u.posToVal(left, "x"), u.posToVal(left + width, "x")], y = [u.posToVal(top + height, "y"), u.posToVal(top, "y")];
    if (!(width > 4 || height > 4) || this.figure.heat) return;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (height >= u.over.clientHeight - 1) this.show(x, this.fitting(x)); else this.show(width >= u.over.clientWidth - 1 ? this.seen().x : x, y);
  }

  /** The part of the other axis that what lies between two places of `x` takes. */
  fitting(x) {
    const { figure } = this, log = figure.y.log;
    if (figure.y.names.length || x[0] <= this.extent.x[0] && x[1] >= this.extent.x[1]) return this.extent.y;
    let low = Infinity, high = -Infinity;
    figure.series.forEach((one, i) => {
      if (this.hidden.has(i)) return;
      const [from, until] = one.sorted ? [Math.max(0, least(one.x, x[0]) - (one.step ? 1 : 0)), least(one.x, x[1])] : [0, one.x.length];
      for (let k = from; k < until; k++) {
        const top = one.base ? one.y[k] + one.base[k] : one.y[k], bottom = one.low ? one.low[k] : one.base ? one.base[k] : top;
        if (top > high) high = top;
        if (bottom < low && (!log || bottom > 0)) low = bottom;
      }
    });
    if (!(high >= low)) return this.seen().y;
    if (log) return [low / 1.1, high * 1.1];
    const start = figure.y.start ?? low, room = (high - Math.min(start, low)) * 0.04 || Math.abs(high) * 0.05 || 0.5;
    return [figure.y.start === null ? low - room : Math.min(start, low), high + room];
  }

  seen() { const { x, y } = this.plot.scales; return { x: [x.min, x.max], y: [y.min, y.max] }; }
  reset() { this.show(this.extent.x, this.extent.y); }

  /** `factor` of what is seen, about a point: where it is, as parts of the width and the height. About the middle, the other axis follows. */
  zoom(factor, across, up, only = "") {
    const { x, y } = this.seen();
    if (across === undefined) { const wanted = about(x, factor, 0.5, this.figure.x.log); this.show(wanted, this.fitting(wanted)); return; }
    this.show(only === "y" ? x : about(x, factor, across, this.figure.x.log), only === "x" ? y : about(y, factor, up, this.figure.y.log));
  }

  move(across, up) {
    const { x, y } = this.seen(), wanted = moved(x, across, this.figure.x.log);
    this.show(wanted, up ? moved(y, up, this.figure.y.log) : this.fitting(wanted));
  }

  together() {
    if (!this.linked || this.told || !this.plot) return;
    const { x } = this.seen();
    for (const other of this.linked) if (other !== this && other.plot) {
      other.told = true;
      other.plot.setScale("x", { min: x[0], max: x[1] });
      // uPlot answers later in the same task.
      queueMicrotask(() => queueMicrotask(() => { other.told = false; }));
    }
  }

  listen() {
    if (this.figure.heat) return;
    const { box } = this;
    const keys = { ArrowLeft: () => this.move(-0.2, 0), ArrowRight: () => this.move(0.2, 0), ArrowUp: () => this.move(0, 0.2), ArrowDown: () => this.move(0, -0.2), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.reset(), Home: () => this.reset() };
    box.addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
      event.preventDefault();
      keys[event.key]();
    });
    // The wheel is the page's, until the figure is the one in use.
    box.addEventListener("wheel", event => {
      if (!event.ctrlKey && document.activeElement !== box) return;
      event.preventDefault();
      const place = this.place(event);
      this.zoom(1.002 ** event.deltaY, ...place, event.shiftKey ? "x" : event.altKey ? "y" : "");
    }, { passive: false });
    box.addEventListener("pointerdown", event => { if (event.pointerType === "touch") this.touches.set(event.pointerId, event); });
    box.addEventListener("pointermove", event => {
      const before = this.touches.get(event.pointerId);
      if (!before) return;
      if (this.touches.size === 1) {
        const zoomed = this.seen().x[1] - this.seen().x[0] < this.extent.x[1] - this.extent.x[0];
        if (zoomed) this.move((before.clientX - event.clientX) / this.plot.over.clientWidth, 0);
      } else {
        const other = [...this.touches.values()].find(one => one.pointerId !== event.pointerId);
        const apart = one => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1;
        this.zoom(apart(before) / apart(event), ...this.place({ clientX: (event.clientX + other.clientX) / 2, clientY: (event.clientY + other.clientY) / 2 }));
      }
      this.touches.set(event.pointerId, event);
    });
    for (const end of ["pointerup", "pointercancel", "pointerleave"]) box.addEventListener(end, event => this.touches.delete(event.pointerId));
  }

  place(event) {
    const over = this.plot.over.getBoundingClientRect();
    return [(event.clientX - over.left) / over.width, 1 - (event.clientY - over.top) / over.height];
  }

  fit() {
    const { clientWidth: width, clientHeight: height } = this.box;
    if (width && (Math.abs(width - this.plot.width) > 1 || Math.abs(height - this.plot.height) > 1)) this.plot.setSize({ width, height });
  }

  again() { const { x, y } = this.seen(); this.legend(); this.draw(); this.show(x, y); }
}

const about = ([low, high], factor, part, log) => {
  if (log) [low, high] = [Math.log10(low), Math.log10(high)];
  const fixed = low + (high - low) * part, pair = [fixed - (fixed - low) * factor, fixed + (high - fixed) * factor];
  return log ? pair.map(v => 10 ** v) : pair;
};
const moved = ([low, high], by, log) => {
  if (!by) return [low, high];
  if (log) { const step = Math.log10(high / low) * by; return [low * 10 ** step, high * 10 ** step]; }
  return [low + (high - low) * by, high + (high - low) * by];
};
