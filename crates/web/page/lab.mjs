// The module in WebAssembly, as Node and the page's worker call it.

/** Makes a lab of a compiled module: a function from a request to its answer. */
export async function lab(module) {
  const instance = await WebAssembly.instantiate(module, {});
  const { memory, input, answer, output, output_len } = instance.exports;
  const said = () => new TextDecoder().decode(new Uint8Array(memory.buffer, output() >>> 0, output_len() >>> 0));
  return (request) => {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    const place = input(bytes.length) >>> 0;
    new Uint8Array(memory.buffer, place, bytes.length).set(bytes);
    try {
      answer();
    } catch (trap) {
      throw new Error(said() || String(trap));
    }
    return JSON.parse(said());
  };
}
