// The figures of a run: its numbers, and its layers at the steps in question.

import { address, choice, el } from "./dom.js";
import { count, plural } from "./format.js";
import { heatFigure, mergedMatrix } from "./heatmap.js";
import { axisLabel } from "./lines.js";
import { ask } from "./net.js";
import { interpolate, sinceOf } from "./numbers.js";
import { scalarGrid } from "./scalars.js";
import { parseRange } from "./url.js";

// What is worth a look of the layers, if the run has it.
const views = [
  ["gradients", "l2", "gradient norm"],
  ["updates", "mean", "update ratio"],
  ["outputs", "zero_fraction", "zeros in outputs"],
  ["outputs", "non_finite", "not finite in outputs"],
  ["gradients", "non_finite", "not finite in gradients"],
  ["weights", "l2", "norm of weights"],
  ["outputs", "std", "spread of outputs"],
];
// What a row has where it is hatched.
const nothing = { gradients: "no gradient", updates: "no update", outputs: "no output", weights: "no weight" };

/** The figures of a run, which are put beneath what stands in `content`. */
export function evidence({ run, query, signal, choose, content }) {
  const controls = el("div", { className: "line" });
  const layers = heatFigure({ title: "layers" });
  const grid = scalarGrid({
    run, query, choose, signal,
    onstep: (name, x, told) => {
      if (!/\//.test(name)) return;
      location.hash = address("tensor", { run, name, step: Math.round(interpolate(x, told.knots.step, told.knots.global)) });
    },
  });
  const heat = el("section", { className: "layers", "aria-label": "layers over steps" }, controls, layers.figure);
  const view = { collection: query.collection, statistic: query.statistic, under: query.under };
  let matrix = null;
  let key = "";

  // The steps of the layers: those that a reader chose, else those that show what was found.
  let shown = /** @type {[number, number]|null} */ (null);
  let elsewhere = false; // whether lines show what was found
  let sampling = ""; // at which steps layers were measured, if not at all
  const part = () => parseRange(query.x) ?? (query.steps === "all" ? null : shown);
  const range = () => part() ?? [0, Math.max(1, matrix?.last_step ?? 1)];
  const whole = el("button", { type: "button", hidden: true, onclick: () => { choose({ steps: "all" }); turned(); } }, "the whole run");

  const paintMatrix = () => {
    if (!matrix) return;
    const told = matrix;
    const [first, last] = range();
    whole.hidden = Boolean(parseRange(query.x)) || !part();
    layers.rename(`${label(view)} of ${told.names === 1 ? told.rows[0] : `${count(told.names)} ${view.collection.replaceAll("_", " ")}`}`);
    const joined = told.names > told.rows.length ? ` · ${count(told.rows.length)} rows, each the value farthest out of its layers` : "";
    layers.draw(told, {
      range: [first, last], axis: told.axis, xname: told.axis === "step" ? undefined : axisLabel(told.axis), knots: told.knots, read: told.read, byFactors: told.scale === "log10", band: told.band, none: nothing[view.collection] ?? "none",
      about: `${part() ? `steps ${count(first)} to ${count(last)} · ` : ""}measured at ${count(told.measured)} of ${plural(last - first + 1, "step")}${joined}${told.read < 1 ? ` · ${Math.round(told.read * 100)} % read so far` : ""}${told.measured > last - first ? "" : ` · blank: not measured${sampling ? `, ${sampling}` : ""}`}${elsewhere && part() === shown && !told.marks.length ? " · what was found is not in these layers: they are those of the same steps" : ""}`,
      onclick: (row, step) => {
        const name = told.rows[row];
        const at = Math.round(interpolate(step, told.knots.step, told.knots.global));
        location.hash = told.tensors[row] ? address("tensor", { run, name, step: at }) : address("run", { ...query, under: name });
      },
    });
  };
  const turned = () => {
    paintMatrix();
    if (key && key !== keyOf()) read().catch(() => {});
  };
  grid.onchange(turned);
  const keyOf = () => JSON.stringify([view, query.worker, query.axis, part()]);

  async function read() {
    if (!view.collection) return;
    for (;;) {
      const within = part();
      const asking = keyOf();
      const same = !within && key === asking && matrix && matrix.read >= 1;
      const since = same ? sinceOf(matrix.last_step, matrix.width) : undefined;
      const which = within ? { first: within[0], last: within[1] } : { since, width: same ? matrix.width : undefined };
      const fresh = await ask("matrix", { run, ...view, worker: query.worker, axis: query.axis, ...which }, signal);
      if (asking !== keyOf()) return; // something else was chosen meanwhile, and is asked for
      matrix = mergedMatrix(same ? matrix : null, fresh, since ?? 0);
      key = asking;
      paintMatrix();
      if (fresh.read >= 1 || signal.aborted) return;
    }
  }

  return {
    /** Asks for the numbers. */
    read: () => grid.update(),
    /** Shows what a headline names; `numbers` is what `read` returned. */
    async show(about, numbers) {
      numbers.catch(() => {});
      // What is below comes when what is above it has its height, so that nothing jumps.
      if (!grid.element.isConnected) content.append(grid.element);
      view.collection ||= about.view.collection;
      view.statistic ||= about.view.statistic;
      shown = about.view.steps;
      elsewhere = Boolean(about.view.lines && shown);
      sampling = about.sampling;
      grid.evidence(about.view.lines, about.view.figures, about.health.tone);
      select(controls, view, about, query, whole);
      grid.workers(about.workers);
      const layersRead = read();
      layersRead.catch(() => {});
      await numbers;
      grid.paint();
      if (!heat.isConnected && view.collection) content.append(heat);
      paintMatrix();
      await layersRead;
    },
  };
}

const label = (view) => views.find(([collection, statistic]) => collection === view.collection && statistic === view.statistic)?.[2] ?? view.statistic;

function select(controls, view, about, query, whole) {
  if (controls.contains(document.activeElement) || !view.collection) return;
  const go = (change) => {
    location.hash = address("run", { ...query, ...view, ...change });
  };
  const ready = views.filter(([collection]) => about.collections[collection]);
  const now = `${view.collection} ${view.statistic}`;
  const listed = ready.map(([collection, statistic, text]) => [`${collection} ${statistic}`, text]);
  if (!listed.some(([key]) => key === now)) listed.unshift([now, "something else"]);
  const pick = (key) => {
    const [collection, statistic] = key.split(" ");
    go({ collection, statistic, under: "" });
  };
  const all = Object.entries(about.collections).map(([name, many]) => [name, `${name} (${count(many)})`]);
  controls.replaceChildren(
    el("h2", {}, "Layers"),
    choice("what to look at", listed, now, pick),
    choice("collection", all, view.collection, (collection) => go({ collection, under: "" })),
    choice("statistic", about.statistics, view.statistic, (statistic) => go({ statistic })),
    view.under ? el("button", { type: "button", onclick: () => go({ under: "" }) }, `only ${view.under} ✕`) : "",
    whole,
  );
}
