// Finds which table and which key a place in a file is in. It reads files that are half written, which a parser of TOML does not.

/** A table or a value of a file. */
export interface Tree { children: Map<string, Tree>; list: Tree[]; said?: string }

/** A place: `names` from the root to its table, `trail` those tables from the root on, the keys and texts that are in them. */
export interface Place { names: string[]; trail: Tree[]; key?: string; from: number; to: number; quoted: boolean }

const tree = (): Tree => ({ children: new Map(), list: [] });
const BARE = /[A-Za-z0-9_+-]/;

interface Table { names: string[]; trail: Tree[] }

/** Table under a dotted name, made where there is none; of a list of tables the last. */
function below({ names, trail }: Table, name: string): Table {
  const top = trail.at(-1)!;
  const found = top.children.get(name) ?? tree();
  top.children.set(name, found);
  return { names: [...names, name], trail: [...trail, found.list.at(-1) ?? found] };
}

/** The place at `at`, or none where it is in a comment, a heading or between values. */
export function place(text: string, at: number): Place | undefined {
  const root: Table = { names: [], trail: [tree()] };
  let i = 0, found: Place | undefined;
  let table = root;
  const note = (where: Table, from: number, to: number, quoted: boolean, key?: string) => {
    if (from <= at && at <= to && !found) found = { ...where, from, to, quoted, ...(key === undefined ? {} : { key }) };
  };
  const spaces = (lines: boolean) => {
    while (i < text.length && (" \t\r".includes(text[i]!) || (lines && text[i] === "\n"))) i++;
  };
  const comment = () => { while (i < text.length && text[i] !== "\n") i++; };

  /** A quoted or a bare word; where it is, without its quotes. */
  function word(of: RegExp): { said: string; from: number; to: number; quoted: boolean } {
    const quote = text[i];
    if (quote !== '"' && quote !== "'") {
      const from = i;
      while (i < text.length && of.test(text[i]!)) i++;
      return { said: text.slice(from, i), from, to: i, quoted: false };
    }
    const from = ++i;
    while (i < text.length && text[i] !== quote && text[i] !== "\n") i += text[i] === "\\" && quote === '"' ? 2 : 1;
    i = Math.min(i, text.length);
    const to = i;
    if (text[i] === quote) i++;
    return { said: text.slice(from, to), from, to, quoted: true };
  }

  /** A key, dotted or not: the table that its last part is in. */
  function key(where: Table): { where: Table; name: string } | undefined {
    for (;;) {
      spaces(false);
      const part = word(BARE);
      note(where, part.from, part.to, part.quoted);
      spaces(false);
      if (text[i] !== ".") return part.said === "" ? undefined : { where, name: part.said };
      i++;
      where = below(where, part.said);
    }
  }

  function value(where: Table, name: string, node: Tree) {
    spaces(false);
    if (text[i] === "{") {
      i++;
      const inner: Table = { names: [...where.names, name], trail: [...where.trail, node] };
      for (;;) {
        const before = i;
        spaces(true);
        if (before <= at && at <= i && !(at === i && BARE.test(text[i] ?? ""))) note(inner, at, at, false);
        if (text[i] === "#") comment();
        else if (text[i] === ",") i++;
        // A heading ends a table that nobody closed.
        else if (i >= text.length || text[i] === "}" || text[i] === "[") { if (text[i] === "}") i++; return; }
        else if (!pair(inner)) i++;
      }
    }
    if (text[i] === "[") {
      i++;
      for (;;) {
        const before = i;
        spaces(true);
        if (text[i] === "#") comment();
        else if (text[i] === ",") i++;
        else if (i >= text.length || text[i] === "]") { note(where, before, i, false, name); if (text[i] === "]") i++; return; }
        else {
          const one = tree();
          node.list.push(one);
          value(where, name, one);
          if (i === before) i++;
        }
      }
    }
    const said = word(/[^\s,}\]#]/);
    note(where, said.from, said.to, said.quoted, name);
    node.said = said.said;
  }

  /** `key = value`. False where there is no key. */
  function pair(where: Table): boolean {
    const found = key(where);
    if (!found) return false;
    const node = tree();
    spaces(false);
    if (text[i] === "=") {
      found.where.trail.at(-1)!.children.set(found.name, node);
      i++;
      const before = i;
      value(found.where, found.name, node);
      if (before <= at && at < i && !node.children.size && !node.list.length && node.said === "") note(found.where, at, at, false, found.name);
    }
    return true;
  }

  while (i < text.length) {
    const line = i;
    spaces(false);
    if (text[i] === "#") comment();
    else if (text[i] === "[") {
      const several = text[i + 1] === "[";
      const end = text.indexOf("\n", i);
      const names = text.slice(i, end < 0 ? undefined : end).replace(/[[\]\s]|#.*$/g, "").split(".");
      comment();
      table = names.slice(0, several ? -1 : undefined).reduce(below, root);
      if (several) {
        const last = names.at(-1)!, parent = table.trail.at(-1)!, list = parent.children.get(last) ?? tree(), one = tree();
        parent.children.set(last, list);
        list.list.push(one);
        table = { names: [...table.names, last], trail: [...table.trail, one] };
      }
    } else if (text[i] === "\n" || i >= text.length) {
      note(table, line, i, false);
      i++;
    } else if (!pair(table)) comment();
  }
  note(table, i, i, false);
  return found;
}
