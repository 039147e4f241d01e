// Several runs: settings that differ first, their numbers over each other, where they part.

import { address, el, link } from "./dom.js";
import { colorway } from "./figure.js";
import { number, sentence } from "./format.js";
import { lineFigure, logBox, logOf } from "./lines.js";
import { ask } from "./net.js";
import { difference } from "./numbers.js";
import { figuresOf } from "./scalars.js";

export async function show({ content, query, signal, choose }) {
  const runs = [].concat(query.run ?? [query.a, query.b].filter(Boolean));
  const short = labels(runs);
  const names = el("p", { className: "about" }, ...runs.flatMap((run, at) => [at ? " · " : "", link("run", { run }, run)]));
  const settings = el("section", { "aria-label": "settings" });
  const verdicts = el("section", { className: "page", "aria-label": "where they part" }, el("div", { className: "banner none" }, el("p", { className: "headline" }, "comparing …")));
  const controls = el("div", { className: "line" });
  const grid = el("div", { className: "grid" });
  const table = el("table", { hidden: true });
  const rest = el("div");
  content.append(el("div", { className: "top" }, el("h1", {}, runs.length === 2 ? "Two runs" : `${runs.length} runs`), names), settings, verdicts, controls, grid, el("div", { className: "scrolls", tabIndex: 0, role: "region", "aria-label": "tensors that differ first" }, table), rest);

  const abouts = await Promise.all(runs.map((run) => ask("run", { run }, signal)));
  settings.replaceChildren(standings(runs, short, abouts), settingsTable(runs, abouts));
  const told = await Promise.all(runs.map((run) => ask("scalars", { run, points: 600 }, signal)));
  const extra = query.name ? await Promise.all(runs.map((run) => ask("series", { run, name: query.name, points: 600 }, signal).catch(() => ({ lines: [] })))) : [];
  const mode = el("input", { type: "checkbox", checked: query.difference === "1", onchange: () => { choose({ difference: mode.checked ? "1" : "" }); paint(); } });
  const log = logBox(query, choose, () => paint());
  const scaled = () => log.show([...figures.values()]);
  const field = el("input", { type: "search", placeholder: "another tensor", value: query.name ?? "", "aria-label": "tensor", list: "tensors" });
  const known = el("datalist", { id: "tensors" });
  field.addEventListener("change", () => { location.hash = address("compare", { ...query, name: field.value }); });
  controls.append(el("h2", {}, "Side by side"), field, known, el("label", {}, mode, ` difference to ${short[0]}`), log.label);
  /** @type {Map<string, any>} */ const figures = new Map();

  function paint() {
    /** @type {Map<string, any[]>} */ const all = new Map();
    runs.forEach((run, at) => {
      const lines = [...(extra[at]?.lines ?? []), ...told[at].lines];
      for (const [title, own] of figuresOf(lines)) {
        const first = own.filter((line) => line.mode === "TRAIN" || own.every((one) => one.mode !== "TRAIN"));
        const evals = own.filter((line) => line.mode === "EVAL");
        for (const [suffix, some] of /** @type {[string, any[]][]} */ ([["", first], [" EVAL", evals]])) {
          if (!some.length || (suffix && first === evals)) continue;
          const key = `${told[at].titles[title] ?? title}${suffix}`;
          if (!all.has(key)) all.set(key, []);
          // The lowest and highest of the batches of an evaluation would fill the figure.
          const band = suffix ? { low: undefined, high: undefined } : {};
          all.get(key).push({ ...some[0], ...band, name: short[at], label: short[at], color: colorway[at % colorway.length], mode: "TRAIN", worker: "" });
        }
      }
    });
    const last = Math.max(1, ...told.map((one) => one.last_step));
    for (const [title, lines] of all) {
      if (!figures.has(title)) {
        figures.set(title, lineFigure({ title, height: 220 }));
        grid.append(figures.get(title).figure);
      }
      const shown = query.difference === "1" && lines.length > 1 && lines[0].name === short[0] ? lines.slice(1).map((line) => difference(line, lines[0])) : lines;
      figures.get(title).draw(shown, { axis: "step", knots: {}, range: [0, last], log: logOf(query), onscale: scaled });
    }
    scaled();
  }
  paint();

  const parted = await Promise.all(runs.slice(1).map((run) => ask("compare", { a: runs[0], b: run }, signal).catch((error) => ({ error: error.message }))));
  verdicts.replaceChildren(...parted.map((one, at) => verdict(one, runs[0], runs[at + 1], runs.length)));
  const first = parted.find((one) => !one.error);
  if (!first) return;
  known.replaceChildren(...first.tensors.map((name) => el("option", { value: name })));
  table.hidden = !first.differences.length;
  const headings = ["tensor", runs[0], runs[1], "relative difference"];
  table.replaceChildren(
    el("caption", {}, "Tensors that differ first"),
    el("thead", {}, el("tr", {}, ...headings.map((text, at) => el("th", { scope: "col", className: at ? "number" : "" }, text)))),
    el("tbody", {}, ...first.differences.map((one) => row(one, query))),
  );
  rest.replaceChildren(...first.not_compared.map((line) => el("p", { className: "about" }, `not compared: ${line}`)));
}

// How each run stands, in its colour.
function standings(runs, short, abouts) {
  return el(
    "ul",
    { className: "standings", "aria-label": "how the runs stand" },
    ...abouts.map((about, at) => {
      const mark = el("i", {});
      mark.style.background = colorway[at % colorway.length];
      return el("li", { className: about.health.tone }, mark, link("run", { run: runs[at] }, short[at]), " ", about.headline);
    }),
  );
}

// Names of runs without what all of them begin with.
function labels(runs) {
  const ends = runs.map((run) => run.split("/").at(-1));
  return new Set(ends).size === runs.length ? ends : runs;
}

function verdict(told, first, other, many) {
  if (told.error) return el("div", { className: "banner none" }, el("p", { className: "headline" }, told.error));
  const between = many > 2 ? el("p", { className: "about" }, `${first} and ${other}`) : null;
  return el("div", { className: `banner ${told.unrelated ? "none" : told.same ? "good" : "warning"}` }, between, el("p", { className: "headline" }, sentence(told.verdict)), ...told.details.map((line) => el("p", {}, line)));
}

// What differs is above, what is the same is folded away.
function settingsTable(runs, abouts) {
  const rows = [...new Set(abouts.flatMap((about) => Object.keys(about.settings)))].map((name) => ({ name, values: abouts.map((about) => about.settings[name] ?? "–") }));
  rows.push({ name: "steps", values: abouts.map((about) => String(about.steps.GLOBAL)) }, { name: "state", values: abouts.map((about) => about.state) });
  const apart = rows.filter((one) => new Set(one.values).size > 1);
  const same = rows.filter((one) => new Set(one.values).size === 1);
  const table = (some, caption) => el(
    "div",
    { className: "scrolls", tabIndex: 0, role: "region", "aria-label": caption },
    el("table", { className: "small" }, el("caption", {}, caption), el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "setting"), ...runs.map((run) => el("th", { scope: "col" }, run)))), el("tbody", {}, ...some.map((one) => el("tr", {}, el("td", {}, one.name), ...one.values.map((value) => el("td", {}, value)))))),
  );
  return el("div", { className: "page" }, apart.length ? table(apart, "Settings that differ") : el("p", {}, "No setting differs."), el("details", {}, el("summary", {}, `${same.length} settings are the same`), table(same, "Settings that are the same")));
}

function row(one, query) {
  return el(
    "tr",
    { "data-row": one.tensor },
    el("td", {}, link("compare", { ...query, name: one.tensor }, el("code", {}, one.tensor))),
    ...(one.here === "nan" && one.there === "nan"
      ? [el("td", { colSpan: 3 }, one.kinds || "other values, of which only digests are known")]
      : [one.here, one.there, one.apart].map((value) => el("td", { className: "number" }, number(value)))),
  );
}

