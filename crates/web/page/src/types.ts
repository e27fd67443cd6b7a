// Answers of the module (crates/web/src). Names of queues, controls and so on are data: they come from its registries.

/** An error of a file, as `longfat check` says it. */
export interface Report {
  message: string; said: string; others: Report[];
  line?: number | null; column?: number | null; width?: number | null; help?: string | null;
}
export type Answer<T> = { ok: T; error?: undefined } | { ok?: undefined; error: Report };

export interface Param { name: string; kind: string; default: string | null; required: boolean; doc: string }
export interface Entry { name: string; summary: string; params: Param[] }
export interface MetricKind { name: string; summary: string; unit: string }
export interface Names {
  queues: Entry[]; losses: Entry[]; controls: Entry[]; window_sizings: Entry[]; traffic: Entry[]; stacks: Entry[];
  metrics: MetricKind[]; warnings: { name: string; summary: string; advice: string }[]; version: string;
}

/** Value at a path: `number` in bytes, s or bit/s where `unit` says so; `implied` where the file has none; `other` is a table or a list. */
export interface Value { text?: string; number?: number | null; unit?: string; implied?: boolean; other?: string }
export interface Checked {
  title: string; description: string; runs: number; labels: string[]; backend: string; values: Record<string, Value | null>;
}

export interface FlowName { name: string; control: string; is_tcp: boolean; traffic: string }
export interface LinkName { name: string; rate_bps: number; queue: string }
export interface Opened { cost: number; expected_end_s: number; duration_s: number; flows: FlowName[]; flow_count: number; links: LinkName[] }
export type FlowSample = [cwnd: number, ssthresh: number | null, in_flight: number, srtt_s: number, arrived: number, retransmitted: number];
export type LinkSample = [packets: number, wait_s: number, wire_bytes: number, drops: number, marks: number];
export type Row = [time_s: number, flows: FlowSample[], links: LinkSample[]];
export interface Finished {
  end_s: number; packets: number; steps: number; told: string[]; fingerprint: string | null;
  metrics: (MetricKind & { value: number })[]; flow_metrics: Record<string, number>[];
  limits: { flow: string; shares: [cause: string, share: number][] }[];
  warnings: { name: string; text: string; count: number; advice: string }[];
}
export interface Advanced { now: number; over: boolean; rows: Row[] }

/** Each request with its answer. */
export interface Requests {
  names: [object, Names];
  schema: [object, Schema];
  check: [{ text: string; reads: string[]; run: number }, Checked];
  edit: [{ text: string; sets: [string, string | null][] }, { text: string }];
  open: [{ text: string; run: number }, Opened];
  advance: [{ samples?: number; to_end?: boolean }, Advanced];
  finish: [{ columns?: string[] | undefined }, Finished];
}
export type Request = { [K in keyof Requests]: { do: K } & Requests[K][0] }[keyof Requests];

/** What `longfat schema` prints: the part of JSON Schema that it uses. */
export interface Schema {
  $ref?: string; $defs?: Record<string, Schema>; anyOf?: Schema[]; items?: Schema; properties?: Record<string, Schema>; type?: string;
  const?: string; enum?: string[]; pattern?: string; examples?: string[]; title?: string; description?: string; default?: unknown;
  minimum?: number; maximum?: number; required?: string[];
}

/** Messages to the worker, and from it. */
export type ToWorker = { module: WebAssembly.Module } | { id: number; request: Request }
  | { id: number; run: number; text: string; most: number; forced: boolean } | { stop: true };
export interface FromWorker {
  id: number; answer?: Answer<unknown>; opened?: Answer<Opened>; rows?: Row[]; finished?: Answer<Finished>; died?: string; memory?: number;
}
