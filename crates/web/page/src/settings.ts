// Sliders and choices: each writes one value of the file, and stands where the file says.
import type { Checked, Entry, Names, Value } from "./types";

const UNITS: Record<string, [string, number][]> = {
  "bit/s": [["Gbit/s", 1e9], ["Mbit/s", 1e6], ["kbit/s", 1e3]], s: [["s", 1], ["ms", 1e-3], ["us", 1e-6]], bytes: [["MiB", 2 ** 20], ["KiB", 1024]],
};
const quantity = (unit: string) => (n: number) => {
  const units = UNITS[unit]!, [word, size] = units.find(([, size]) => n >= size) ?? units.at(-1)!;
  return `"${Number((n / size).toPrecision(3))} ${word}"`;
};
interface Slider {
  name: string; path: string; read?: string; unit?: string; low: number; high: number; zero?: string; say(n: number): string;
}
// Ranges are the page's: a slider ends somewhere. `unit` is the one that the slider can show, `zero` its word for "not in the file".
const SLIDERS: Slider[] = [
  { name: "Rate", path: "path.bottleneck.rate", unit: "bit/s", low: 1e6, high: 1e9, say: quantity("bit/s") },
  { name: "Round trip", path: "path.rtt", unit: "s", low: 1e-3, high: 0.6, say: quantity("s") },
  { name: "Buffer", path: "path.bottleneck.queue.limit", unit: "bdp", low: 0.02, high: 16, say: (n) => `"${Number(n.toPrecision(2))} bdp"` },
  { name: "Loss probability", path: "path.bottleneck.loss", read: "path.bottleneck.loss.probability", low: 1e-7, high: 0.1, zero: "none",
    say: (n) => `{ kind = "bernoulli", probability = ${Number(n.toPrecision(2))} }` },
  { name: "Flows", path: "flow[0].count", low: 1, high: 20, say: (n) => String(Math.round(n)) },
  { name: "Window", path: "flow[0].window", unit: "bytes", low: 8192, high: 64 * 2 ** 20, zero: "auto", say: quantity("bytes") },
  { name: "Duration", path: "measure.duration", unit: "s", low: 1, high: 120, say: quantity("s") },
];
interface Choice { name: string; path: string; read: string; from: "queues" | "controls" }
const CHOICES: Choice[] = [
  { name: "Queue", path: "path.bottleneck.queue", read: "path.bottleneck.queue.kind", from: "queues" },
  { name: "Congestion control", path: "flow[0].congestion_control", read: "flow[0].congestion_control.kind", from: "controls" },
];
const STEPS = 200;
export const READS = [...SLIDERS.map((one) => one.read ?? one.path), ...CHOICES.map((one) => one.read)];

export class Settings {
  #sliders: { one: Slider; input: HTMLInputElement; output: HTMLOutputElement }[];
  #choices: { one: Choice; input: HTMLSelectElement; output: HTMLElement; entries: Entry[] }[];
  #limit: string | undefined;

  constructor(readonly host: HTMLElement, names: Names, set: (path: string, value: string | null) => void) {
    this.#sliders = SLIDERS.map((one) => {
      const input = Object.assign(document.createElement("input"), { type: "range", ariaLabel: one.name, min: one.zero ? "-1" : "0", max: String(STEPS), step: "1" });
      const output = document.createElement("output"), label = document.createElement("label");
      label.append(one.name, output, input);
      host.append(label);
      input.oninput = () => {
        const place = Number(input.value), said = place < 0 ? null : one.say(one.low * (one.high / one.low) ** (place / STEPS));
        output.textContent = said ?? one.zero ?? "";
        set(one.path, said);
      };
      return { one, input, output };
    });
    this.#choices = CHOICES.map((one) => {
      const entries = names[one.from], input = document.createElement("select"), output = document.createElement("small"), label = document.createElement("label");
      for (const { name, summary } of entries) input.append(Object.assign(new Option(name, name), { title: summary }));
      label.append(one.name, input, output);
      host.append(label);
      input.onchange = () => {
        const has = entries.find((entry) => entry.name === input.value)?.params ?? [];
        const keeps = one.from === "queues" && this.#limit && has.some((param) => param.name === "limit");
        set(one.path, `{ kind = "${input.value}"${keeps ? `, limit = "${this.#limit}"` : ""} }`);
      };
      return { one, input, output, entries };
    });
  }

  /** Moves everything to what the file says; the sentence on what it cannot show. */
  show({ values }: Checked): string {
    const beyond: string[] = [];
    const [rate, rtt] = ["path.bottleneck.rate", "path.rtt"].map((path) => values[path]?.number ?? 0) as [number, number];
    for (const { one, input, output } of this.#sliders) {
      const value = values[one.read ?? one.path];
      // A limit that the file leaves out is resolved to bytes.
      const number = one.unit === "bdp" && value?.unit === "bytes" && rate * rtt ? ((value.number ?? NaN) * 8) / (rate * rtt) : inUnit(value, one.unit);
      if (one.path.endsWith("queue.limit")) this.#limit = value?.implied ? undefined : value?.text;
      const told = value ? value.text ?? "in the file" : one.zero ?? "not in the file";
      output.textContent = value?.implied ? `${told}, not in the file` : told;
      if (number !== undefined && number > 0) input.value = String((STEPS * Math.log(number / one.low)) / Math.log(one.high / one.low));
      else if (!value && one.zero) input.value = "-1";
      else if (value) beyond.push(one.name);
      input.setAttribute("aria-valuetext", output.textContent);
    }
    for (const { one, input, output, entries } of this.#choices) {
      const value = values[one.read];
      if (value?.text) input.value = value.text;
      if (value?.other) beyond.push(one.name);
      output.textContent = entries.find((entry) => entry.name === input.value)?.summary ?? "";
    }
    return beyond.length ? `The file says more than these settings can: ${beyond.join(", ")}. Moving one replaces that.` : "";
  }
}

const inUnit = (value: Value | null | undefined, unit = "") => (typeof value?.number === "number" && (value.unit ?? "") === unit ? value.number : undefined);
