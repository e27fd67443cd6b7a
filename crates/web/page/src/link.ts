// The experiment in the fragment of a link: JSON, deflated, in base64url. Both sizes are bounded.
const LINK = 32768; // characters
const FILE = 262144; // bytes

/** The file, the one beside it, and the run that is shown: its number, or -1 for all. */
export interface Linked { b: string; a?: string | undefined; run?: number | undefined }

const through = (bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream) => new Blob([bytes]).stream().pipeThrough(stream);

export async function pack(said: Linked): Promise<string> {
  const deflated = through(new TextEncoder().encode(JSON.stringify(said)), new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(deflated).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export async function unpack(fragment: string): Promise<Linked | undefined> {
  if (!fragment) return undefined;
  if (fragment.length > LINK) throw new Error(`it has ${fragment.length} characters, and at most ${LINK} are read`);
  const bytes = Uint8Array.from(atob(fragment.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const reader = through(bytes, new DecompressionStream("deflate-raw")).getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    if ((size += value.length) > FILE) { await reader.cancel(); throw new Error(`it unpacks to more than ${FILE} bytes`); }
    parts.push(value);
  }
  const said: unknown = JSON.parse(await new Blob(parts).text());
  const { a, b, run } = (said ?? {}) as Partial<Record<"a" | "b" | "run", unknown>>;
  if (typeof b !== "string") throw new Error("it has no file");
  return { b, a: typeof a === "string" ? a : undefined, run: Number.isInteger(run) ? (run as number) : undefined };
}
