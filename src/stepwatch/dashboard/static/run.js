// A run: is it healthy, what went wrong first, and where.

import { draw, place, say } from "./chart.js";
import { address, choice, el, tensorLink } from "./dom.js";
import { count, moment, plural } from "./format.js";
import { banner, ending } from "./headline.js";
import { ask } from "./net.js";

// What is worth a look of the layers, if the run has it.
const views = [
  ["gradients", "l2", "gradient norm"],
  ["updates", "mean", "update ratio"],
  ["outputs", "zero_fraction", "zeros in outputs"],
  ["outputs", "non_finite", "not finite in outputs"],
  ["gradients", "non_finite", "not finite in gradients"],
  ["weights", "rms", "size of weights"],
  ["outputs", "std", "spread of outputs"],
];

export async function show({ content, query, signal, state }) {
  const { run } = query;
  const top = el("section", { className: "verdict" });
  const losses = place(320);
  const rates = place(320);
  const layers = place(420);
  const controls = el("div", { className: "line" });
  const rest = el("section", { className: "rest" });
  const curves = el("div", { className: "columns" }, losses.figure, rates.figure);
  content.append(top, curves, controls, layers.figure, rest);
  const view = { collection: query.collection, statistic: query.statistic, under: query.under };

  const update = async () => {
    const about = await ask("run", { run }, signal);
    state(about.state);
    verdict(top, about, run);
    notes(rest, about);
    choose(view, about);
    select(controls, view, about, query);
    const numbers = { run, figure: "numbers", points: 600 };
    await Promise.all([
      curve(losses, { ...numbers, collection: "losses" }, about, signal, run),
      curve(rates, { ...numbers, collection: "learning_rates" }, about, signal, run),
      heatmap(layers, { run, figure: "heatmap", ...view }, about, signal),
    ]);
    curves.classList.toggle("single", rates.figure.hidden);
  };
  await update();
  return update;
}

function verdict(top, about, run) {
  const open = new Set([...top.querySelectorAll("details[open]")].map((one) => one.dataset.cause));
  top.replaceChildren(
    banner(about, run, facts(about)),
    ending(about) ?? "",
    ...about.chains.map((chain) => cause(chain, run, open)),
    about.more ? el("p", { className: "about" }, `and ${plural(about.more, "more cause")}; see them with: stepwatch check --all`) : "",
  );
}

function facts(about) {
  const steps = Object.entries(about.steps).filter(([mode]) => mode !== "GLOBAL");
  const parts = [plural(about.steps.GLOBAL, "step")];
  if (steps.length > 1) parts[0] += ` (${steps.map(([mode, many]) => `${count(many)} ${mode}`).join(", ")})`;
  if (about.workers > 1) parts.push(plural(about.workers, "worker"));
  parts.push(moment(about.started_ns), about.command);
  return el("p", { className: "about" }, parts.filter(Boolean).join(" · "));
}

function cause(chain, run, open) {
  const { cause: first } = chain;
  const where = [`step ${count(first.step)}`];
  if (first.mode) where.push(`${first.mode} ${count(first.mode_step)}`);
  const key = first.finding_id;
  const followed = chain.consequences.length + chain.more;
  const more = el(
    "details",
    { open: open.has(key), "data-cause": key },
    el("summary", {}, followed ? `${plural(followed, "finding")} followed` : "what to do next"),
    el("ol", {}, ...chain.consequences.map((one) => consequence(one, run))),
    el("p", {}, "to confirm: ", el("code", {}, chain.confirm)),
    ...unchecked(chain.not_checked).map((line) => el("p", { className: "about" }, line)),
  );
  return el(
    "article",
    { className: `cause ${chain.severity}` },
    el("p", { className: "where" }, el("b", {}, first.rule.replaceAll("_", " ")), ` ${where.join(" · ")} `, first.tensor ? tensorLink(run, first.tensor, first.step) : ""),
    el("p", {}, first.message),
    first.remedy ? el("p", { className: "remedy" }, first.remedy) : "",
    more,
  );
}

function consequence(one, run) {
  return el(
    "li",
    { className: one.severity },
    `step ${count(one.step)} `,
    el("b", {}, one.rule.replaceAll("_", " ")),
    one.certain ? " " : " (may follow) ",
    one.tensor ? tensorLink(run, one.tensor, one.step) : "",
    el("p", { className: "about" }, one.message),
  );
}

function unchecked(gaps) {
  const lines = gaps.could_not_judge.map(([rule, why]) => `not checked: ${rule} could not judge: ${why}`);
  if (gaps.not_asked.length) lines.push(`not asked: ${gaps.not_asked.join(", ")}`);
  if (gaps.not_captured.length) lines.push(`not captured: ${gaps.not_captured.join(", ")}`);
  if (gaps.workers_not_seen) lines.push(`${plural(gaps.workers_not_seen, "worker")} not seen`);
  return lines;
}

function choose(view, about) {
  if (view.collection && view.statistic) return;
  const known = views.find(([collection]) => about.collections[collection]);
  view.collection = known?.[0] ?? Object.keys(about.collections)[0];
  view.statistic = known?.[1] ?? "rms";
}

function select(controls, view, about, query) {
  if (controls.contains(document.activeElement)) return;
  const go = (change) => {
    location.hash = address("run", { run: query.run, ...view, ...change });
  };
  const ready = views.filter(([collection]) => about.collections[collection]);
  const now = `${view.collection} ${view.statistic}`;
  const listed = ready.map(([collection, statistic, label]) => [`${collection} ${statistic}`, label]);
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
  );
}

async function curve(at, query, about, signal, run) {
  at.figure.hidden = !about.collections[query.collection];
  if (at.figure.hidden) return;
  const figure = await ask("figure", { ...query, ...at.within }, signal);
  const name = figure.layout.meta?.tensor;
  const go = name ? (point) => {
    location.hash = address("tensor", { run, name, step: Math.round(point.x) });
  } : null;
  await draw(at, figure, go, () => curve(at, query, about, signal, run));
}

async function heatmap(at, query, about, signal) {
  if (!about.collections[query.collection]) {
    say(at, "nothing was captured of any layer");
    return;
  }
  for (;;) {
    const figure = await ask("figure", query, signal);
    const { rows, read, tensors } = figure.layout.meta;
    await draw(at, figure, (point) => {
      const number = Array.isArray(point.pointIndex) ? point.pointIndex[0] : rows.indexOf(point.y);
      const row = rows[number];
      if (row === undefined) return;
      location.hash = tensors[number]
        ? address("tensor", { run: query.run, name: row, step: point.x })
        : address("run", { ...query, figure: "", under: row });
    });
    if (read >= 1 || signal.aborted) return;
  }
}

function notes(rest, about) {
  const versions = Object.entries(about.versions).map(([name, version]) => `${name} ${version}`);
  const lines = [...about.notes, versions.join(", "), about.place].filter(Boolean);
  rest.replaceChildren(...lines.map((line) => el("p", { className: "about" }, line)));
}
