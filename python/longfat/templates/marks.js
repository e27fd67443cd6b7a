// What is between the axes of a figure: lines, marks and bars on a canvas, by columns of pixels.
"use strict";

/** A little picture of how a series is drawn. */
function swatch(one) {
  const canvas = element("canvas", { width: 44, height: 20, "aria-hidden": "true" }), ctx = canvas.getContext("2d");
  ctx.strokeStyle = ctx.fillStyle = inkOf(one.colour);
  ctx.lineWidth = 4;
  if (one.low || one.bar) ctx.fillRect(16, 2, one.bar ? 14 : 5, 16);
  else {
    if (one.line) { ctx.setLineDash(DASHES[one.dash].map(part => part * 1.6)); ctx.beginPath(); ctx.moveTo(0, 10); ctx.lineTo(44, 10); ctx.stroke(); }
    if (one.markers) mark(ctx, one.marker, 22, 10, 7, one.published);
  }
  return canvas;
}

const TRIANGLES = { "triangle-up": [0, -1], "triangle-down": [0, 1], "triangle-left": [-1, 0], "triangle-right": [1, 0] };

/** One mark; a hollow one is larger. */
function mark(ctx, kind, x, y, r, hollow) {
  if (hollow) { r *= 1.35; ctx.setLineDash([]); ctx.lineWidth = r * 0.35; }
  ctx.beginPath();
  if (kind === "circle") ctx.arc(x, y, r, 0, 7);
  else if (kind === "square") ctx.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8);
  else if (kind === "diamond") { ctx.moveTo(x, y - r * 1.2); ctx.lineTo(x + r * 1.2, y); ctx.lineTo(x, y + r * 1.2); ctx.lineTo(x - r * 1.2, y); }
  else if (kind in TRIANGLES) {
    // Its point lies that way; the corners of the other side are a little nearer.
    const [dx, dy] = TRIANGLES[kind];
    ctx.moveTo(x + dx * r * 1.1, y + dy * r * 1.1);
    for (const s of [1, -1]) ctx.lineTo(x - dx * r * 0.9 + s * dy * r * 1.1, y - dy * r * 0.9 + s * dx * r * 1.1);
  }
  else if (kind === "star") for (let i = 0; i < 10; i++) { const far = r * (i % 2 ? 0.55 : 1.35), turn = i * Math.PI / 5; ctx.lineTo(x + far * Math.sin(turn), y - far * Math.cos(turn)); }
  else {
    ctx.setLineDash([]);
    ctx.lineWidth = r * 0.6;
    const d = kind === "x" ? r * 0.9 : 0, s = kind === "x" ? 0 : r;
    ctx.moveTo(x - d - s, y - d); ctx.lineTo(x + d + s, y + d); ctx.moveTo(x - d, y + d + s); ctx.lineTo(x + d, y - d - s);
    ctx.stroke();
    return;
  }
  ctx.closePath();
  if (hollow) ctx.stroke();
  else ctx.fill();
}

/** Where the values of a series lie on the canvas, and its drawing there. */
class Places {
  constructor(u, figure, one) {
    const { bbox } = u, { x, y } = u.scales;
    this.dots = uPlot.pxRatio;
    this.bbox = bbox;
    // A place is `a + b * value`, or of its logarithm: the loops below write it out, since a call for each of a million is what takes the time.
    const scale = (log, min, max, from, size) => { const [low, high] = log ? [Math.log10(min), Math.log10(max)] : [min, max], b = size / (high - low); return { log, a: from - low * b, b }; };
    this.across = scale(figure.x.log, x.min, x.max, bbox.left, bbox.width);
    this.up = scale(figure.y.log, y.min, y.max, bbox.top + bbox.height, -bbox.height);
    // One point more on both sides, to which lines go.
    this.from = one.sorted ? Math.max(0, least(one.x, x.min) - 1) : 0;
    this.until = one.sorted ? Math.min(one.x.length, least(one.x, x.max) + 2) : one.x.length;
    this.dense = one.sorted && this.until - this.from > 4 * bbox.width;
  }

  x(value) { const { log, a, b } = this.across; return a + b * (log ? Math.log10(value) : value); }
  y(value) { const { log, a, b } = this.up; return a + b * (log ? (value > 0 ? Math.log10(value) : NaN) : value); }

  line(ctx, one, dash) {
    const { from, until, dots } = this;
    ctx.lineWidth = 2 * dots;
    ctx.lineJoin = "round";
    ctx.setLineDash(dash.map(part => part * dots));
    ctx.beginPath();
    let pen = false, last = 0;
    const to = (x, y) => { if (!pen) ctx.moveTo(x, y); else { if (one.step) ctx.lineTo(x, last); ctx.lineTo(x, y); } pen = true; last = y; };
    if (!this.dense) {
      for (let i = from; i < until; i++) { const y = this.y(one.y[i]); if (y === y) to(this.x(one.x[i]), y); else pen = false; }
    } else {
      // Of each column of pixels what enters it, its least, its greatest, and what leaves it.
      let column = NaN, first = 0, low = 0, high = 0, end = 0, some = false;
      const flush = () => { if (some) { to(column, first); ctx.lineTo(column, low); ctx.lineTo(column, high); ctx.lineTo(column, end); last = end; } some = false; };
      const { x: xs, y: ys } = one, { a: ax, b: bx, log: lx } = this.across, { a: ay, b: by, log: ly } = this.up;
      for (let i = from; i < until; i++) {
        const y = ly ? this.y(ys[i]) : ay + by * ys[i], at = Math.round(ax + bx * (lx ? Math.log10(xs[i]) : xs[i]));
        if (at !== column) { flush(); column = at; }
        if (y !== y) { flush(); pen = false; continue; }
        if (!some) { first = low = high = y; some = true; } else if (y < low) low = y; else if (y > high) high = y;
        end = y;
      }
      flush();
    }
    ctx.stroke();
    ctx.setLineDash([]);
  }

  marks(ctx, one, colour) {
    const { from, until, dots, bbox } = this, many = until - from > 500, wide = Math.ceil(bbox.width / 2) + 1;
    const taken = many ? new Uint8Array(wide * (Math.ceil(bbox.height / 2) + 1)) : null;
    ctx.fillStyle = ctx.strokeStyle = colour;
    for (let i = from; i < until; i++) {
      const x = this.x(one.x[i]), y = this.y(one.y[i]);
      if (!(x >= bbox.left - 9 && x <= bbox.left + bbox.width + 9 && y >= bbox.top - 9 && y <= bbox.top + bbox.height + 9)) continue;
      if (taken) { const cell = ((y - bbox.top) >> 1) * wide + ((x - bbox.left) >> 1); if (taken[cell]) continue; taken[cell] = 1; }
      mark(ctx, one.marker, x, y, (many ? 2 : 3.5) * dots, one.published);
    }
  }

  /** The interval around each point. */
  errors(ctx, one, colour) {
    const { from, until, dots } = this, half = 4 * dots;
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1.2 * dots;
    ctx.setLineDash([]);
    ctx.beginPath();
    for (let i = from; i < until; i++) {
      const middle = one.y[i] + (one.base?.[i] ?? 0), x = this.x(one.x[i]), high = this.y(middle + one.error[i]);
      if (high !== high) continue;
      // On a logarithmic axis an interval may reach below all that there is.
      const least = this.y(middle - one.error[i]), low = least === least ? least : this.bbox.top + this.bbox.height;
      ctx.moveTo(x, high); ctx.lineTo(x, low);
      for (const end of [high, low]) { ctx.moveTo(x - half, end); ctx.lineTo(x + half, end); }
    }
    ctx.stroke();
  }

  /** Upright bars, as the segments of a time-sequence graph; those that share a column of pixels become one where they touch. */
  bars(ctx, one) {
    const { from, until, dots, bbox } = this, top = Math.floor(bbox.top), height = Math.ceil(bbox.height), shortest = 3 * dots;
    const taken = new Uint8Array(height + 1), few = until - from < 300, wide = Math.round(this.dense ? Math.max(1, dots) : 2 * dots);
    let column = -1e9, first = height, last = -1;
    const flush = () => {
      for (let y = first; y <= last;) {
        if (!taken[y]) { y++; continue; }
        const begin = y;
        while (y <= last && taken[y]) taken[y++] = 0;
        ctx.fillRect(Math.floor(column - wide / 2), top + begin, wide, y - begin);
        if (few && y - begin > 5 * dots) { ctx.fillRect(column - 2 * dots, top + begin, 5 * dots, dots); ctx.fillRect(column - 2 * dots, top + y - dots, 5 * dots, dots); }
      }
      first = height;
      last = -1;
    };
    const { x: xs, y: ys, low: lows } = one, { a: ax, b: bx, log: lx } = this.across, { a: ay, b: by, log: ly } = this.up;
    const half = shortest / 2, reach = height - 1;
    for (let i = from; i < until; i++) {
      const at = (ax + bx * (lx ? Math.log10(xs[i]) : xs[i]) + 0.5) | 0;
      if (at !== column) { flush(); column = at; }
      let high = (ly ? this.y(ys[i]) : ay + by * ys[i]) - top, low = (ly ? this.y(lows[i]) : ay + by * lows[i]) - top;
      if (low - high < shortest) { const middle = (low + high) / 2; low = middle + half; high = middle - half; }
      if (!(low > 0 && high < height)) continue;
      const begin = high < 0 ? 0 : (high + 0.5) | 0, end = low > reach ? reach : (low - 0.5) | 0;
      if (end - begin < 8) for (let y = begin; y <= end; y++) taken[y] = 1; else taken.fill(1, begin, end + 1);
      if (begin < first) first = begin;
      if (end > last) last = end;
    }
    flush();
  }

  /** Bars that stand on those of the series before. */
  stack(ctx, one, edge) {
    const { dots } = this, xs = [...new Set(one.x)].sort((a, b) => a - b);
    const gap = xs.length > 1 ? Math.min(...xs.slice(1).map((v, i) => this.x(v) - this.x(xs[i]))) : this.x(1) - this.x(0), wide = Math.max(dots, Math.min(gap * 0.8, 90 * dots));
    ctx.lineWidth = dots / 2;
    for (let i = 0; i < one.x.length; i++) {
      const top = this.y(one.y[i] + one.base[i]), bottom = this.y(one.base[i]), x = this.x(one.x[i]) - wide / 2;
      if (top !== top) continue;
      ctx.fillRect(x, top, wide, bottom - top);
      ctx.strokeStyle = edge;
      ctx.strokeRect(x, top, wide, bottom - top);
    }
  }
}
