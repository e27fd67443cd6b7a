// Below the plots: sentences, shares of what limited each flow, and metrics.
import type { Shown } from "./plots";

const figure = (value: number) => value.toLocaleString("en", { maximumSignificantDigits: 4 });
function make<K extends keyof HTMLElementTagNameMap>(name: K, said = "", attributes: Partial<HTMLElementTagNameMap[K]> = {}) {
  return Object.assign(document.createElement(name), { textContent: said }, attributes);
}

/** Tells the first run, and its metrics beside those of the others. */
export function tell(shown: Shown[], host: HTMLElement, limits: HTMLElement, metrics: HTMLTableElement) {
  const result = shown[0]?.run.result;
  if (!result) return;
  host.replaceChildren(...[...result.told, ...result.warnings.map(({ text, advice }) => `${text} ${advice}`)].map((line) => make("p", line)));
  limits.replaceChildren(...result.limits.slice(0, 6).map(({ flow, shares }) => {
    const bar = make("div", "", { className: "bar", role: "img", ariaLabel: `${flow} waited for ${shares.map(([cause, part]) => `${cause} ${(100 * part).toFixed(0)} %`).join(", ")}` });
    bar.append(...shares.map(([cause, part]) => {
      const one = make("span", part > 0.2 ? cause : "", { className: cause.replaceAll(" ", "-"), title: `${cause}: ${(100 * part).toFixed(1)} % of its time` });
      one.style.width = `${100 * part}%`;
      return one;
    }));
    const row = make("div", "", { className: "limit" });
    row.append(make("span", flow), bar);
    return row;
  }));
  const head = make("tr");
  head.append(make("th", "Metric"), ...(shown.length > 1 ? shown.map(({ word }) => make("th", word)) : [make("th", "Value")]));
  metrics.replaceChildren(head, ...result.metrics.map(({ name, unit, summary }) => {
    const row = make("tr", "", { title: summary });
    const of = ({ run }: Shown) => run.result?.metrics.find((one) => one.name === name)?.value;
    row.append(make("td", `${name}${unit === "1" ? "" : ` (${unit})`}`), ...shown.map(of).map((value) => make("td", value === undefined ? "–" : figure(value))));
    return row;
  }));
}
