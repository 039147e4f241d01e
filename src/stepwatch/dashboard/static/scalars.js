// A grid of figures over all numbers that people follow, with one range, axis and smoothing.

import { choice, el } from "./dom.js";
import { isWider, keyOf, merged, sinceOf } from "./numbers.js";
import { axisLabel, lineFigure, logBox, logOf } from "./lines.js";
import { ask } from "./net.js";
import { parseList, parseRange, writeList } from "./url.js";

/** @typedef {import("./numbers.js").Line} Line */

/** The figures of some lines: one for each name; rates of one optimizer are together.
 * @param {Line[]} lines */
export function figuresOf(lines) {
  /** @type {Map<string, Line[]>} */
  const found = new Map();
  for (const line of lines) {
    const title = line.group === "learning_rates" ? "learning rate" : line.name;
    if (!found.has(title)) found.set(title, []);
    found.get(title)?.push(line);
  }
  return found;
}

/** Whether a figure shows what was found first: one that it names, else any of a group.
 * @param {Line[]} own @param {string} group @param {string[]} named */
export const isEvidence = (own, group, named) => own.some((line) => (named.length ? named.includes(line.name) : Boolean(group) && line.group === group));

/** Whether something that was found is marked in a figure: in those that it names, else beside losses and what shows it.
 * @param {Line[]} own @param {{figures: string[], view: string}} mark */
export const isMarked = (own, mark) => own.some((line) => (mark.figures.length ? mark.figures.includes(line.name) : line.group === "losses" || mark.view === line.group));

/** Where a figure stands: what shows what was found first, then what else was found, in that order.
 * @param {Line[]} own @param {boolean} isFirst @param {string[]} found names of lines */
export function rankOf(own, isFirst, found) {
  if (isFirst) return 1000;
  const at = found.findIndex((name) => own.some((line) => line.name === name));
  return at < 0 ? 1e6 : 2000 + at;
}

/**
 * @param {{run: string, query: any, choose: (change: any) => void, signal: AbortSignal, onstep: (name: string, x: number, told: any) => void, height?: number}} options
 */
export function scalarGrid({ run, query, choose, signal, onstep, height = 200 }) {
  const grid = el("div", { className: "grid" });
  const controls = el("div", { className: "line grid-controls" });
  const more = el("p", { className: "about" });
  const element = el("section", { className: "numbers", "aria-label": "numbers over steps" }, controls, grid, more);
  /** @type {Map<string, any>} */ const figures = new Map();
  /** @type {Map<string, Line>} */ let lines = new Map();
  /** @type {any} */ let told = null;
  let tone = "";
  let evidence = ""; // the group of lines that shows what was found first
  /** @type {string[]} */ let named = []; // those of it that were found, if not all of them
  const listeners = [];

  const search = el("input", { type: "search", placeholder: "filter figures", value: query.figures ?? "", "aria-label": "filter figures" });
  search.addEventListener("input", () => { choose({ figures: search.value }); paint(); });
  const axis = el("span");
  let counted = "";
  // What one can count along the axes depends on what is known of the run.
  const offer = (/** @type {string[]} */ names) => {
    const now = [told?.rounds, ...names].join();
    if (counted === now || axis.contains(document.activeElement)) return;
    counted = now;
    const options = names.map((name) => /** @type {[string, string]} */ ([name, axisLabel(name, told?.rounds)]));
    axis.replaceChildren(choice("what the axes count", options, told?.axis ?? query.axis ?? "step", (value) => {
      choose({ axis: value === "step" ? "" : value });
      update(true).catch(() => {});
    }));
  };
  offer(["step", "global", "time", "samples", "epoch"]);
  const smooth = el("input", { type: "range", min: 0, max: 0.98, step: 0.02, value: query.smooth ?? 0, "aria-label": "smoothing" });
  smooth.addEventListener("input", () => { choose({ smooth: Number(smooth.value) || "" }); paint(); });
  const log = logBox(query, choose, () => paint());
  const scaled = () => log.show([...figures.values()]);
  const reset = el("button", { type: "button", hidden: !query.x, onclick: () => zoom(null) }, "all steps");
  const workers = el("span");
  controls.append(el("h2", {}, "Numbers"), search, axis, el("label", {}, "smoothing ", smooth), log.label, workers, reset);

  const range = () => parseRange(query.x) ?? [told?.first_step ?? 0, Math.max(1, told?.last_step ?? 1)];
  const pins = () => parseList(query.pins);

  function zoom(next) {
    choose({ x: next ? next.join(":") : "" });
    reset.hidden = !next;
    paint();
    for (const listener of listeners) listener();
    update(true).catch(() => {}); // what is drawn stays
  }

  function pin(title) {
    const now = pins();
    choose({ pins: writeList(now.includes(title) ? now.filter((one) => one !== title) : [...now, title]) });
    figures.get(title)?.close();
    figures.get(title)?.figure.remove();
    figures.delete(title);
    paint();
  }

  function paint() {
    if (!told) return;
    const shown = [...figuresOf([...lines.values()].filter((line) => !query.worker || !line.worker || line.worker === query.worker))];
    const terms = (query.figures ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = shown.filter(([title]) => terms.every((term) => `${title} ${told.titles[title] ?? ""}`.toLowerCase().includes(term)));
    const shows = (own) => isEvidence(own, evidence, named);
    const found = [...named, ...told.marks.flatMap((mark) => mark.figures)];
    const rank = ([title, own]) => (pins().includes(title) ? pins().indexOf(title) : rankOf(own, shows(own), found));
    chosen.sort((a, b) => rank(a) - rank(b));
    const names = new Set(chosen.map(([title]) => title));
    for (const [title, figure] of figures) {
      if (names.has(title)) continue;
      figure.close();
      figure.figure.remove();
      figures.delete(title);
    }
    chosen.forEach(([title, own], at) => {
      let figure = figures.get(title);
      if (!figure) {
        figure = lineFigure({ title: told.titles[title] ?? title, height, pinned: pins().includes(title), onpin: () => pin(title) });
        figures.set(title, figure);
      }
      if (grid.children[at] !== figure.figure) grid.insertBefore(figure.figure, grid.children[at] ?? null);
      figure.figure.className = ["lines", ...(shows(own) ? ["evidence", tone] : [])].join(" ").trim();
      figure.draw(own, {
        axis: told.axis, rounds: told.rounds, knots: told.knots, range: range(), smooth: Number(query.smooth) || 0, log: logOf(query), onscale: scaled,
        marks: told.marks.filter((mark) => isMarked(own, mark)), onrange: zoom,
        onclick: (x) => onstep(own[0].name, Math.round(x), told),
      });
    });
    scaled();
    more.textContent = told.more ? `and ${told.more} more; filter to see them` : "";
  }

  async function update(whole = false) {
    const within = parseRange(query.x);
    const width = Math.max(0, ...[...lines.values()].map((line) => line.width));
    const has = !whole && !within && width > 0;
    const since = has ? sinceOf(told.last_step, width) : undefined;
    const asked = within ? { first: within[0], last: within[1] } : has ? { since, width } : {};
    const fresh = await ask("scalars", { run, points: 600, axis: query.axis, ...asked }, signal);
    if (has && fresh.lines.some((line) => isWider(lines, line))) return update(true);
    const next = new Map();
    for (const line of fresh.lines) next.set(keyOf(line), merged(lines.get(keyOf(line)), line, since ?? 0));
    if (within) for (const [key, line] of lines) if (!next.has(key)) next.set(key, line); // what is not read for a part
    lines = next;
    told = within && told ? { ...fresh, first_step: told.first_step, last_step: told.last_step } : fresh;
    offer(told.axes);
    paint();
  }

  return {
    element,
    update,
    paint,
    /** @param {string[]} names */
    workers(names) {
      if (names.length < 2 || workers.contains(document.activeElement)) return;
      workers.replaceChildren(choice("worker", [["", "all workers"], ...names.map((name) => /** @type {[string, string]} */ ([name, name]))], query.worker ?? "", (worker) => {
        choose({ worker });
        paint();
        for (const listener of listeners) listener();
      }));
    },
    range,
    /** @param {string} group @param {string[]} figures @param {string} level of what was found */
    evidence(group, figures, level) {
      evidence = group ?? "";
      named = figures ?? [];
      tone = level ?? "";
    },
    onchange: (listener) => listeners.push(listener),
    get told() { return told; },
  };
}
