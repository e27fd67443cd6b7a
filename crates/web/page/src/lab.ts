// The module in WebAssembly, as Node and the page's worker call it.
import type { Answer, Requests } from "./types";

interface Exports { memory: WebAssembly.Memory; input(length: number): number; answer(): void; output(): number; output_len(): number }
export interface Lab {
  <K extends keyof Requests>(request: { do: K } & Requests[K][0]): Answer<Requests[K][1]>;
  /** Bytes of its memory, which never shrinks. */
  memory(): number;
}

/** Makes a lab of a compiled module: a function from a request to its answer. */
export async function lab(module: WebAssembly.Module): Promise<Lab> {
  const instance = await WebAssembly.instantiate(module, {});
  const { memory, input, answer, output, output_len } = instance.exports as unknown as Exports;
  const [written, read] = [new TextEncoder(), new TextDecoder()];
  const said = () => read.decode(new Uint8Array(memory.buffer, output() >>> 0, output_len() >>> 0));
  const ask = (request: object) => {
    const bytes = written.encode(JSON.stringify(request));
    const place = input(bytes.length) >>> 0;
    new Uint8Array(memory.buffer, place, bytes.length).set(bytes);
    try {
      answer();
    } catch (trap) {
      throw new Error(said() || String(trap));
    }
    return JSON.parse(said());
  };
  return Object.assign(ask, { memory: () => memory.buffer.byteLength }) as Lab;
}
