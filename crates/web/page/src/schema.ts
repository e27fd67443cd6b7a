// Keys and values that the JSON Schema allows at a place of a file. Its names, units and sentences come from Rust's registries.
import type { Schema } from "./types";
import type { Place, Tree } from "./toml";

export interface Offer { name: string; detail: string; info: string; rank: number; quoted: boolean }

/** Reads one schema. */
export class Guide {
  constructor(readonly schema: Schema) {}

  /** The alternatives of a schema, without references. */
  #leaves(node: Schema): Schema[] {
    if (node.$ref) return this.#leaves(this.schema.$defs![node.$ref.split("/").at(-1)!]!);
    return node.anyOf ? node.anyOf.flatMap((one) => this.#leaves(one)) : [node];
  }

  #tables(nodes: Schema[]): Schema[] {
    return nodes.flatMap((node) => this.#leaves(node)).flatMap((node) => (node.items ? this.#tables([node.items]) : node.properties ? [node] : []));
  }

  /** The word that names the variant of a table: `kind`, `preset`. */
  #variant(node: Schema): [key: string, name: string] | undefined {
    for (const [key, one] of Object.entries(node.properties ?? {})) {
      const name = this.#leaves(one).find((leaf) => leaf.const !== undefined)?.const;
      if (name !== undefined && node.title === name) return [key, name];
    }
    return undefined;
  }

  /** Variants that a table of the file can be, by the key that names it. */
  #fitting(nodes: Schema[], table: Tree): Schema[] {
    const tables = this.#tables(nodes);
    const named = tables.filter((node) => {
      const [key, name] = this.#variant(node) ?? [];
      return key !== undefined && table.children.get(key)?.said === name;
    });
    return named.length ? named : tables;
  }

  /** Tables that can be where `place` is. */
  at({ names, trail }: Place): Schema[] {
    let nodes: Schema[] = [this.schema];
    names.forEach((name, i) => {
      // Each value of a sweep is what the key could be.
      if (name === "sweep" && i > 0) return;
      nodes = this.#fitting(nodes, trail[i]!).flatMap((node) => node.properties![name] ?? []);
    });
    return this.#fitting(nodes, trail.at(-1)!);
  }

  /** What is said of a key. */
  about(place: Place, key: string): { offer: Offer; nodes: Schema[] } | undefined {
    const nodes = this.at(place).flatMap((node) => node.properties![key] ?? []);
    return nodes.length ? { offer: this.#key(key, nodes[0]!, 0), nodes } : undefined;
  }

  #key(name: string, node: Schema, rank: number): Offer {
    const leaves = this.#leaves(node);
    const fallback = node.default === undefined ? "" : `= ${typeof node.default === "string" ? `"${node.default}"` : JSON.stringify(node.default)}`;
    const example = leaves.flatMap((leaf) => leaf.examples ?? []).slice(0, 3).map((one) => `"${one}"`).join(", ");
    const range = leaves.filter((leaf) => leaf.minimum !== undefined && leaf.maximum !== undefined).map((leaf) => `${leaf.minimum} to ${leaf.maximum}`)[0];
    const more = [example && `Such as ${example}.`, range && `From ${range}.`, fallback && `By default ${fallback.slice(2)}.`];
    return { name, detail: fallback, info: [node.description ?? "", ...more].filter(Boolean).join("\n"), rank, quoted: false };
  }

  /** Keys that the table may have besides those it has. */
  keys(place: Place): Offer[] {
    const tables = this.at(place), have = place.trail.at(-1)!.children, found = new Map<string, Offer>();
    for (const table of tables) {
      const variant = this.#variant(table)?.[0];
      for (const [name, node] of Object.entries(table.properties!)) {
        if (have.has(name) || found.has(name)) continue;
        // The word that decides on the others comes first, a sweep last.
        const sweep = node === this.schema.$defs?.sweep?.properties?.[name];
        const rank = name === variant ? 2 : sweep ? -1 : table.required?.includes(name) && tables.length < 3 ? 1 : 0;
        found.set(name, this.#key(name, node, rank));
      }
    }
    return [...found.values()];
  }

  /** Values of a key; `typed` is what stands there. */
  values(place: Place, key: string, typed: string): Offer[] {
    if (key === "sweep" && place.names.length) {
      const [names, trail] = [place.names.slice(0, -1), place.trail.slice(0, -1)];
      return this.values({ ...place, names, trail }, place.names.at(-1)!, typed);
    }
    const found = new Map<string, Offer>();
    const add = (name: string, detail: string, info: string, quoted: boolean, rank = 0) => {
      const old = found.get(name);
      if (!old || (!old.info && info)) found.set(name, { name, detail, info, quoted, rank });
    };
    for (const node of this.at(place).flatMap((table) => table.properties![key] ?? [])) {
      const leaves = this.#leaves(node).flatMap((leaf) => (leaf.items ? this.#leaves(leaf.items) : [leaf]));
      const told = new Map(leaves.flatMap((leaf) => (leaf.title ? [[leaf.title, leaf.description ?? ""]] : [])));
      // The name of a variant has its summary at the table it names.
      const variants = new Map(this.#tables([this.schema, ...this.at(place)]).flatMap((one) => {
        const variant = this.#variant(one);
        return variant?.[0] === key ? [[variant[1], one.description ?? ""]] : [];
      }));
      for (const leaf of leaves) {
        for (const name of leaf.enum ?? []) add(name, "", told.get(name) ?? "", true);
        if (leaf.const !== undefined) add(leaf.const, "", variants.get(leaf.const) ?? (leaf.const === node.default ? "the default" : ""), true);
        if (leaf.type === "boolean") for (const name of ["true", "false"]) add(name, String(node.default) === name ? "the default" : "", "", false);
        if (leaf.pattern) {
          const number = /^\d+(\.\d+)?/.exec(typed)?.[0];
          const whole = leaf.pattern.split("$|").map((one) => new RegExp(one.endsWith("$") ? one : `${one}$`));
          if (number) for (const unit of units(leaf.pattern)) {
            const name = `${number} ${unit}`;
            if (whole.some((one) => one.test(name))) add(name, "", "", true);
          }
          else for (const name of leaf.examples ?? []) add(name, "example", "", true);
        }
      }
      if (typeof node.default === "string" && !found.has(node.default) && !/^\d/.test(typed)) add(node.default, "the default", "", true, 1);
    }
    return [...found.values()];
  }
}

/** The units that a pattern of the schema allows: `^[0-9]+ ?(ps|ns)$`, `^[0-9]+ ?segments?$`. */
export function units(pattern: string): string[] {
  return pattern.split("$|").flatMap((one) => {
    const named = /\?\(([^()]*)\)\$?$/.exec(one)?.[1] ?? /\?([A-Za-z]+\??)\$?$/.exec(one)?.[1];
    return (named ?? "").split("|").filter(Boolean).map((unit) => unit.replace("?", ""));
  });
}
