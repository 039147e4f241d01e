// A run: is it healthy, what went wrong first, and where.

import { address, choice, el } from "./dom.js";
import { count, moment, plural, sentence } from "./format.js";
import { aboutOf, banner, ending } from "./headline.js";
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
export async function show({ content, query, signal, state, choose }) {
  const { run } = query;
  const title = el("h1", { className: "unseen" }, `Run ${run}`);
  const top = el("section", { className: "verdict", "aria-label": "how the run stands" });
  const controls = el("div", { className: "line" });
  const rest = el("section", { className: "rest", "aria-label": "about the run" });
  const layers = heatFigure({ title: "layers" });
  const grid = scalarGrid({
    run, query, choose, signal,
    onstep: (name, x, told) => {
      if (!/\//.test(name)) return;
      location.hash = address("tensor", { run, name, step: Math.round(interpolate(x, told.knots.step, told.knots.global)) });
    },
  });
  const heat = el("section", { className: "layers", "aria-label": "layers over steps" }, controls, layers.figure);
  content.append(title, top);
  const view = { collection: query.collection, statistic: query.statistic, under: query.under };
  let matrix = null;
  let key = "";

  // The steps of the layers: those that a reader chose, else those that show what was found.
  let shown = /** @type {[number, number]|null} */ (null);
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
      range: [first, last], axis: told.axis, xname: told.axis === "step" ? undefined : axisLabel(told.axis), knots: told.knots, read: told.read, byFactors: told.scale === "log10", band: told.band,
      about: `${part() ? `steps ${count(first)} to ${count(last)} · ` : ""}measured at ${count(told.measured)} of ${plural(last - first + 1, "step")}${joined}${told.read < 1 ? ` · ${Math.round(told.read * 100)} % read so far` : ""} · blank: not measured`,
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

  const update = async () => {
    const headline = ask("run", { run }, signal); // asked first, as it is read first
    const numbers = grid.update();
    numbers.catch(() => {});
    const about = await headline;
    state(about.state, about.health.tone);
    verdict(top, about, run);
    notes(rest, about);
    // What is below comes when what is above it has its height, so that nothing jumps.
    if (!grid.element.isConnected) content.append(grid.element);
    view.collection ||= about.view.collection;
    view.statistic ||= about.view.statistic;
    shown = about.view.steps;
    grid.evidence(about.view.lines, about.health.tone);
    select(controls, view, about, query, whole);
    grid.workers(about.workers);
    const layersRead = read();
    layersRead.catch(() => {});
    await numbers;
    grid.paint();
    if (!heat.isConnected && view.collection) content.append(heat);
    paintMatrix();
    await layersRead;
    if (!rest.isConnected) content.append(rest);
  };
  await update();
  return update;
}

const label = (view) => views.find(([collection, statistic]) => collection === view.collection && statistic === view.statistic)?.[2] ?? view.statistic;

function verdict(top, about, run) {
  const open = new Set([...top.querySelectorAll("details[open]")].map((one) => one.dataset.cause));
  const isSaid = (chain) => !about.ending && chain.cause.finding_id === about.health.cause?.finding_id;
  top.replaceChildren(
    banner(about, run, ...about.chains.filter(isSaid).map((chain) => around(chain, run, open)), facts(about)),
    ending(about) ?? "",
    ...about.chains.filter((chain) => !isSaid(chain)).map((chain) => cause(chain, run, open)),
    about.more ? el("p", { className: "about" }, `and ${plural(about.more, "more cause")}; see them with: stepwatch check --all`) : "",
  );
  const trace = top.querySelector(".traceback");
  if (trace) trace.scrollTop = trace.scrollHeight; // what was raised is at its end
}

function facts(about) {
  const steps = Object.entries(about.steps).filter(([mode]) => mode !== "GLOBAL");
  const parts = [plural(about.steps.GLOBAL, "step")];
  if (steps.length > 1) parts[0] += ` (${steps.map(([mode, many]) => `${count(many)} ${mode}`).join(", ")})`;
  if (about.num_workers > 1) parts.push(plural(about.num_workers, "worker"));
  parts.push(moment(about.started_ns), about.command);
  return el("p", { className: "about" }, parts.filter(Boolean).join(" · "));
}

/** What followed from a cause, how to confirm it, and what was not checked. */
function around(chain, run, open) {
  const key = chain.cause.finding_id;
  const followed = chain.consequences.length + chain.more;
  const gaps = unchecked(chain.not_checked);
  if (!followed && !chain.confirm && !gaps.length) return "";
  const without = chain.confirm ? "how to confirm it" : "what was not checked";
  return el(
    "details",
    { open: open.has(key), "data-cause": key },
    el("summary", {}, followed ? `${plural(followed, "finding")} followed` : without),
    el("ol", {}, ...chain.consequences.map((one) => consequence(one, run))),
    chain.confirm ? el("p", {}, "to confirm: ", el("code", {}, chain.confirm)) : "",
    ...gaps.map((line) => el("p", { className: "about" }, line)),
  );
}

function cause(chain, run, open) {
  const { cause: first } = chain;
  return el(
    "article",
    { className: `cause ${chain.severity}` },
    el("p", { className: "where" }, el("b", {}, sentence(first.title)), ` ${first.where} `, chain.again.startsWith("in ") ? "" : aboutOf(first, run), chain.again ? ` ${chain.again}` : "", el("span", { className: "dim" }, ` ${first.rule}`)),
    el("p", {}, first.message),
    first.remedy ? el("p", { className: "remedy" }, first.remedy) : "",
    around(chain, run, open),
  );
}

function consequence(one, run) {
  return el(
    "li",
    { className: one.severity },
    `${one.where} `,
    el("b", {}, one.title),
    one.certain ? " " : " (may follow) ",
    aboutOf(one, run),
    el("p", { className: "about" }, one.message),
  );
}

function unchecked(gaps) {
  const lines = gaps.could_not_judge.map(([rule, why]) => `not checked: ${rule} lacked data: ${why.split("; seen were")[0]}`);
  if (gaps.not_asked.length) lines.push(`not asked: ${gaps.not_asked.join(", ")}`);
  if (gaps.not_captured.length) lines.push(`not captured: ${gaps.not_captured.join(", ")}`);
  if (gaps.workers_not_seen) lines.push(`${plural(gaps.workers_not_seen, "worker")} not seen`);
  return lines;
}

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

function notes(rest, about) {
  const versions = Object.entries(about.versions).map(([name, version]) => `${name} ${version}`);
  const lines = [...about.notes, versions.join(", "), about.place].filter(Boolean);
  rest.replaceChildren(...lines.map((line) => el("p", { className: "about" }, line)));
}
