// The experiment in the fragment of a link: JSON, deflated, in base64url. Both sizes are bounded.
const LINK = 32768; // characters
const FILE = 262144; // bytes

const through = (bytes, stream) => new Blob([bytes]).stream().pipeThrough(stream);

export async function pack(said) {
  const bytes = new Uint8Array(await new Response(through(new TextEncoder().encode(JSON.stringify(said)), new CompressionStream("deflate-raw"))).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export async function unpack(fragment) {
  if (!fragment) return undefined;
  if (fragment.length > LINK) throw new Error(`it has ${fragment.length} characters, and at most ${LINK} are read`);
  const bytes = Uint8Array.from(atob(fragment.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const reader = through(bytes, new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    if ((size += value.length) > FILE) { await reader.cancel(); throw new Error(`it unpacks to more than ${FILE} bytes`); }
    parts.push(value);
  }
  const said = JSON.parse(await new Blob(parts).text());
  if (typeof said?.b !== "string") throw new Error("it has no file");
  return { b: said.b, a: typeof said.a === "string" ? said.a : undefined };
}
