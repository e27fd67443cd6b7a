// The worker, as the page asks it.
import type { Answer, Finished, FromWorker, Opened, Report, Request, Requests, Row, ToWorker } from "./types";

declare const WORKER: string;
const PATIENCE = 1e4; // ms

/** An error that may have a place in the file. */
export class Wrong extends Error {
  constructor(readonly report: Report) { super(report.said); }
}

export interface Heard {
  opened(opened: Opened): void;
  rows(rows: Row[]): void;
  finished(finished: Finished, memory: number): void;
  failed(error: Error): void;
}

export class Engine {
  #worker!: Worker;
  #count = 0;
  #waiting = new Map<number, (message: FromWorker) => void>();
  #run = 0;

  constructor(readonly module: WebAssembly.Module) { this.#start(); }

  #start() {
    this.#worker?.terminate();
    this.#worker = new Worker(URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" })));
    this.#worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.#waiting.get(data.id)?.(data);
    this.#send({ module: this.module });
  }

  #send(message: ToWorker) { this.#worker.postMessage(message); }

  /** One answer. A worker that dies, or is silent for PATIENCE, is started anew. */
  ask<K extends keyof Requests>(request: { do: K } & Requests[K][0]): Promise<Requests[K][1]> {
    const id = ++this.#count;
    return new Promise((done, fail) => {
      const dead = (why: string) => { this.#waiting.delete(id); this.#start(); fail(new Error(why)); };
      const late = setTimeout(() => dead(`no answer within ${PATIENCE / 1e3} s: the file may ask for too much`), PATIENCE);
      this.#waiting.set(id, ({ answer, died }) => {
        clearTimeout(late);
        if (died !== undefined) return dead(died);
        this.#waiting.delete(id);
        const { ok, error } = answer as Answer<Requests[K][1]>;
        error ? fail(new Wrong(error)) : done(ok);
      });
      this.#send({ id, request: request as Request });
    });
  }

  /** Runs an experiment in place of the one under way. */
  run(text: string, number: number, most: number, forced: boolean, heard: Heard) {
    this.stop();
    const id = (this.#run = ++this.#count);
    this.#waiting.set(id, ({ opened, rows, finished, died, memory }) => {
      const error = opened?.error ?? finished?.error;
      if (died !== undefined || error || finished) this.#waiting.delete(id);
      if (died !== undefined) { this.#start(); heard.failed(new Error(died)); }
      else if (error) heard.failed(new Wrong(error));
      else if (opened) heard.opened(opened.ok!);
      else if (rows) heard.rows(rows);
      else if (finished) heard.finished(finished.ok!, memory ?? 0);
    });
    this.#send({ id, text, run: number, most, forced });
  }

  /** Ends the run under way. */
  stop() {
    if (this.#waiting.delete(this.#run)) this.#send({ stop: true });
  }
}
