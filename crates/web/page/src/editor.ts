// The file: an editor with completion, explanations and errors in place. It lives in a shadow root, where the sheets that it makes need no
// place in the content security policy.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { place } from "./toml";
import type { Guide } from "./schema";
import type { Report } from "./types";

const COLOURED = HighlightStyle.define([
  { tag: tags.string, color: "light-dark(#a11, #ff9d8a)" }, { tag: [tags.number, tags.bool, tags.atom], color: "light-dark(#164, #7fd6a2)" },
  { tag: tags.comment, color: "light-dark(#666, #a0a0a0)" }, { tag: [tags.atom, tags.heading, tags.standard(tags.name)], color: "light-dark(#219, #9ab8ff)" },
]);
const THEME = EditorView.theme({
  "&": { maxHeight: "28rem", fontSize: "14px" },
  ".cm-scroller": { overflow: "auto" },
  "&.cm-editor .cm-content": { caretColor: "var(--f)" },
  "&.cm-editor .cm-gutters": { background: "var(--b)", color: "light-dark(#666, #a0a0a0)", borderColor: "var(--line)" },
  "&.cm-editor .cm-tooltip-autocomplete ul li[aria-selected]": { background: "light-dark(#cde, #345)", color: "var(--f)" },
  "&.cm-editor .cm-cursor": { borderLeftColor: "var(--f)" },
  "&.cm-editor .cm-tooltip": { background: "var(--b)", color: "var(--f)", borderColor: "var(--line)" },
  "&.cm-editor .cm-tooltip.cm-completionInfo, &.cm-editor .cm-tooltip-hover": { maxWidth: "24rem", padding: ".3rem .6rem", whiteSpace: "pre-wrap", font: "14px/1.4 system-ui, sans-serif" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { background: "light-dark(#cde, #345) !important" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { background: "light-dark(#d6ead6, #365)" },
});

export class Editor {
  readonly view: EditorView;

  constructor(host: HTMLElement, guide: () => Promise<Guide>, changed: () => void) {
    const root = host.attachShadow({ mode: "open" });
    this.view = new EditorView({
      parent: root, root,
      extensions: [
        lineNumbers(), lintGutter(), history(), bracketMatching(), closeBrackets(),
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...defaultKeymap, ...historyKeymap]),
        StreamLanguage.define(toml), syntaxHighlighting(COLOURED), THEME,
        autocompletion({ override: [(context) => complete(context, guide)], icons: false }),
        hoverTooltip(async (view, at) => explained(view, at, await guide())),
        EditorView.contentAttributes.of({ "aria-label": "Experiment file, TOML" }), EditorState.tabSize.of(4),
        EditorView.updateListener.of((update) => { if (update.docChanged) changed(); }),
      ],
    });
  }

  get text() { return this.view.state.doc.toString(); }

  /** Replaces the text from the first difference to the last, so that the cursor stays. */
  set text(to: string) {
    const old = this.text;
    let from = 0, end = 0;
    while (from < old.length && old[from] === to[from]) from++;
    while (end < Math.min(old.length, to.length) - from && old.at(-1 - end) === to.at(-1 - end)) end++;
    if (old !== to) this.view.dispatch({ changes: { from, to: old.length - end, insert: to.slice(from, to.length - end) } });
  }

  /** Marks the errors of a check; none takes the marks away. */
  mark(report?: Report) {
    const doc = this.view.state.doc;
    const marks = (report ? [report, ...report.others] : []).flatMap(({ line, column, width, message, help }): Diagnostic[] => {
      if (!line || line > doc.lines) return [];
      const { from, to } = doc.line(line), start = Math.min(to, from + (column ?? 1) - 1);
      return [{ from: start, to: Math.min(to, start + (width ?? 1)), severity: "error", message: help ? `${message}\n${help}` : message }];
    });
    this.view.dispatch(setDiagnostics(this.view.state, marks.sort((a, b) => a.from - b.from)));
  }
}

async function complete(context: CompletionContext, guide: () => Promise<Guide>): Promise<CompletionResult | null> {
  const text = context.state.doc.toString(), found = place(text, context.pos);
  if (!found) return null;
  const typed = text.slice(found.from, context.pos);
  // Nothing is offered on an empty line unless it is asked for.
  if (!context.explicit && !typed && found.key === undefined) return null;
  const known = await guide();
  const offers = found.key === undefined ? known.keys(found) : known.values(found, found.key, typed);
  const follows = /^\s*=/.test(text.slice(found.to));
  const options = offers.map(({ name, detail, info, rank, quoted }) => ({
    label: name, detail, boost: rank * 10, ...(info ? { info } : {}),
    apply: found.key === undefined ? (follows ? name : `${name} = `) : quoted && !found.quoted ? `"${name}"` : name,
  }));
  return options.length ? { from: found.key === undefined ? found.from : Math.min(found.from, context.pos), to: found.to, options, validFor: /^[\w.+-]*$/ } : null;
}

async function explained(view: EditorView, at: number, guide: Guide) {
  const found = place(view.state.doc.toString(), at);
  if (!found) return null;
  const word = view.state.sliceDoc(found.from, found.to);
  const info = found.key === undefined ? guide.about(found, word)?.offer.info : guide.values(found, found.key, word).find(({ name }) => name === word)?.info;
  if (!info) return null;
  return { pos: found.from, end: found.to, create: () => ({ dom: Object.assign(document.createElement("div"), { textContent: info }) }) };
}
