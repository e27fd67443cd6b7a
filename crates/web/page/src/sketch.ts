// The path, drawn: sender, queue, link, receiver.
import type { Checked } from "./types";

const SVG = "http://www.w3.org/2000/svg";

function shape(name: string, attributes: Record<string, string | number>, said = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.textContent = said;
  return made;
}

/** Draws what the file says of the path into `host`. */
export function sketch(host: HTMLElement, { values }: Checked) {
  const said = (path: string) => values[path]?.text ?? "";
  const [rate, rtt, limit, queue] = [said("path.bottleneck.rate"), said("path.rtt"), said("path.bottleneck.queue.limit"), said("path.bottleneck.queue.kind")];
  const loss = said("path.bottleneck.loss.probability"), flows = said("flow[0].count");
  const picture = shape("svg", { viewBox: "0 0 304 84", role: "img", "aria-label":
    `Path: ${flows || "some"} flows of the first group, queue ${queue} of ${limit}, link of ${rate}, round trip ${rtt}${loss ? `, loss ${loss}` : ""}` });
  const text = (x: number, y: number, words: string, anchor = "middle") => shape("text", { x, y, "text-anchor": anchor }, words);
  picture.append(
    shape("path", { d: "M22 42H74M134 42H282", class: "wire" }),
    shape("circle", { cx: 12, cy: 42, r: 10 }), shape("circle", { cx: 292, cy: 42, r: 10 }),
    shape("path", { d: "M74 28H134V56H74M89 28V56M104 28V56M119 28V56", class: "box" }),
    text(104, 20, queue), text(104, 74, limit), text(208, 34, rate), text(208, 60, rtt && `${rtt} and back`),
    text(4, 74, flows && `${flows} ×`, "start"),
  );
  if (loss) picture.append(text(208, 76, `loss ${loss}`));
  host.replaceChildren(picture);
}
