// Four plots over time, of one run or of several over each other.
import uPlot from "uplot";
import type { FlowName, FlowSample, LinkName, LinkSample, Finished, Row } from "./types";

/** A run as it is shown. */
export interface Run { text: string; number: number; rows: Row[]; flows: FlowName[]; links: LinkName[]; duration_s: number; cost: number; result?: Finished }
/** A run and the word for it beside others. */
export interface Shown { run: Run; word: string }

const COLOURS = ["#2a7de1", "#e1662a", "#2aa562", "#b04ad0", "#c0392b", "#7f8c8d"];
const LINES = 6;
const APART = 9; // series from which on a legend is longer than it helps

interface Plot {
  title: string;
  flow?: (sample: FlowSample, seconds: number, last: FlowSample | undefined) => number | null;
  link?: (sample: LinkSample) => number;
  view?: uPlot; key?: string;
}
const PLOTS: Plot[] = [
  { title: "cwnd (kB)", flow: ([cwnd]) => cwnd / 1e3 },
  { title: "Queue (packets)", link: ([packets]) => packets },
  { title: "Smoothed RTT (ms)", flow: (sample) => sample[3] * 1e3 || null },
  // The last sample may follow the one before it at once.
  { title: "Throughput (Mbit/s)", flow: (sample, seconds, last) => (last && seconds > 1e-6 ? ((sample[4] - last[4]) * 8e-6) / seconds : null) },
];

export class Plots {
  #due = 0;
  #shown: Shown[] = [];
  /** Called after each drawing. */
  drawn: () => void = () => {};

  constructor(readonly host: HTMLElement) {
    onresize = () => this.draw(this.#shown);
    const again = () => { for (const plot of PLOTS) delete plot.key; this.draw(this.#shown); };
    matchMedia("(prefers-color-scheme: dark)").onchange = again;
    onbeforeprint = onafterprint = again;
  }

  /** Draws with the next frame. */
  draw(shown: Shown[]) {
    this.#shown = shown;
    this.#due ||= requestAnimationFrame(() => {
      this.#due = 0;
      for (const plot of PLOTS) this.#one(plot);
      this.drawn();
    });
  }

  #one(plot: Plot) {
    const shown = this.#shown, ink = getComputedStyle(document.body).color, series: uPlot.Series[] = [{ label: "s" }];
    const of = Math.max(1, Math.floor(LINES / shown.length));
    const tables = shown.map(({ run, word }, which): uPlot.AlignedData => {
      const lines = (plot.flow ? run.flows : run.links).slice(0, shown.length > 2 ? of : LINES);
      lines.forEach(({ name }, i) => {
        // Two runs differ by their dashes, several by their colours.
        const [colour, dash] = shown.length > 2 ? [which, i] : [i, which];
        series.push({ label: word ? `${name} ${word}` : name, stroke: COLOURS[colour % COLOURS.length]!, width: 1.5, points: { show: false }, spanGaps: true,
          ...(dash ? { dash: [5, 4] } : {}) });
      });
      const value = (row: Row, i: number, last: Row | undefined) => {
        const [flow, link] = [row[1][i], row[2][i]];
        if (plot.flow) return flow ? plot.flow(flow, last ? row[0] - last[0] : NaN, last?.[1][i]) : null;
        return link ? plot.link!(link) : null;
      };
      return [run.rows.map(([time]) => time), ...lines.map((_, i) => run.rows.map((row, at) => value(row, i, run.rows[at - 1])))];
    });
    const data = tables.length > 1 ? uPlot.join(tables) : tables[0] ?? [[]];
    const width = Math.max(200, this.host.clientWidth / (innerWidth > 760 ? 2 : 1) - 8), key = `${width} ${series.map(({ label }) => label).join()}`;
    if (plot.view && plot.key === key) return plot.view.setData(data);
    plot.view?.destroy();
    const axis = { stroke: ink, grid: { stroke: "#8884" } };
    plot.view = new uPlot({ title: plot.title, width, height: 200, series, scales: { x: { time: false } }, axes: [{ ...axis, label: "s", labelSize: 14 }, axis],
      legend: { show: series.length <= APART, live: false } }, data, this.host);
    plot.view.root.setAttribute("role", "img");
    plot.view.root.setAttribute("aria-label", `${plot.title} over time`);
    plot.key = key;
  }

  /** One picture of all four. */
  picture(): HTMLCanvasElement {
    const views = PLOTS.map((plot) => plot.view!.ctx.canvas), { width: w, height: h } = views[0]!, head = 24;
    const canvas = Object.assign(document.createElement("canvas"), { width: 2 * w, height: 2 * (h + head) }), context = canvas.getContext("2d")!;
    const { backgroundColor, color } = getComputedStyle(document.body);
    context.fillStyle = backgroundColor;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.fillStyle = color;
    context.font = "16px sans-serif";
    views.forEach((view, i) => {
      const [x, y] = [(i % 2) * w, Math.floor(i / 2) * (h + head)];
      context.fillText(PLOTS[i]!.title, x + 8, y + 18);
      context.drawImage(view, x, y + head);
    });
    return canvas;
  }
}

/** The samples of a run as CSV. */
export function csv({ flows, links, rows }: Run): string {
  const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;
  const columns = (names: { name: string }[], of: string[]) => names.flatMap(({ name }) => of.map((column) => quote(`${name} ${column}`)));
  const head = ["time_s", ...columns(flows, ["cwnd_bytes", "ssthresh_bytes", "in_flight_bytes", "srtt_s", "bytes_arrived", "bytes_retransmitted"]),
    ...columns(links, ["backlog_packets", "wait_s", "wire_bytes", "drops", "marks"])];
  return [head, ...rows.map(([time, flow, link]) => [time, ...flow.flat(), ...link.flat()].map((cell) => cell ?? ""))].map((row) => row.join(",")).join("\n") + "\n";
}
