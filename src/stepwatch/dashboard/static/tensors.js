// The layers of the model as a tree with numbers, what else was captured, and search over all.

import { address, el, link, sparkline } from "./dom.js";
import { count, number, plural } from "./format.js";
import { ask } from "./net.js";
import { commonPrefix } from "./numbers.js";
import { lastStep, layerRows, sortedRows } from "./layers.js";

const columns = [
  ["name", "layer"], ["weight", "‖w‖"], ["gradient", "‖g‖"], ["update", "update ratio"], ["zeros", "zeros"], ["bad", "not finite"], ["spark", "gradient"],
];

// The numbers whose steps are said.
const dated = ["weight", "gradient"];

export async function show({ content, query, signal, state, choose }) {
  const { run } = query;
  const field = el("input", { type: "search", placeholder: "search tensors", value: query.search ?? "", "aria-label": "search tensors" });
  const path = el("p", { className: "about path" });
  const list = el("div");
  content.append(el("div", { className: "top" }, el("div", { className: "line" }, el("h1", {}, "Layers"), field), path), list);
  let told = null;

  const found = async () => {
    const search = field.value.trim();
    const level = await ask("tensors", { run, under: search ? "" : query.under, search }, signal);
    path.replaceChildren(...crumbs(run, search ? "" : query.under ?? ""));
    const tree = el("div", { className: "tree" }, ...level.entries.map((entry) => line(run, entry)));
    list.replaceChildren(tree);
    if (level.more) list.append(el("p", { className: "about" }, `and ${count(level.more)} more; search for them`));
    if (!level.entries.length) list.append(el("p", { className: "about" }, search ? "no tensor is named so" : "no tensors yet"));
  };
  const layers = async () => {
    told = await ask("layers", { run }, signal);
    path.replaceChildren();
    paint();
  };
  let offending = new Set();
  const paint = () => list.replaceChildren(table(told, query, choose, paint, offending), internals(told, run));
  const look = () => (field.value.trim() || query.under ? found() : layers());

  let asked = 0;
  field.addEventListener("input", () => {
    clearTimeout(asked);
    asked = window.setTimeout(() => {
      choose({ search: field.value });
      look().catch(() => {});
    }, 120);
  });
  const about = await ask("run", { run }, signal);
  state(about.health.state, about.health.tone);
  offending = new Set(about.view.tensors);
  await look();
  field.focus({ preventScroll: true });
  return look;
}

function table(told, query, choose, repaint, offending) {
  const rows = layerRows(told.layers, told.order);
  if (!rows.length) return el("p", { className: "about" }, "nothing was captured of any layer; see the other tensors below");
  const prefix = commonPrefix(rows.filter((row) => row.depth === 0).map((row) => `${row.name}.`));
  const closed = new Set((query.closed ?? "").split(",").filter(Boolean));
  const sort = query.sort ?? "";
  const shown = sort ? sortedRows(rows, sort, query.up === "1") : rows.filter((row) => !row.parents.some((parent) => closed.has(parent)));
  const press = (key) => {
    if (key === "name") choose({ sort: "", up: "" });
    else choose({ sort: key, up: sort === key && query.up !== "1" ? "1" : "" });
    repaint();
  };
  const toggle = (name) => {
    if (closed.has(name)) closed.delete(name);
    else closed.add(name);
    choose({ closed: [...closed].join(",") });
    repaint();
  };
  // A column is of the last step of its numbers; a row of an earlier one says so itself.
  const steps = Object.fromEntries(dated.map((key) => [key, lastStep(rows, key)]));
  const stepOf = (step, kind = "") => (step >= 0 ? el("span", { className: `dim at ${kind}`.trim() }, `at step ${count(step)}`) : null);
  const heading = ([key, label]) => el(
    "th",
    { scope: "col", className: key === "name" ? "" : "number", "aria-sort": sort === key ? (query.up === "1" ? "ascending" : "descending") : null },
    key === "spark" ? label : el("button", { type: "button", onclick: () => press(key) }, label + (sort === key ? (query.up === "1" ? " ↑" : " ↓") : "")),
    stepOf(steps[key] ?? -1),
  );
  const body = shown.map((row) => {
    const name = row.tensor ? link("tensor", { run: query.run, name: row.tensor }, el("code", {}, sort ? row.name : row.label)) : el("code", {}, sort ? row.name : row.label);
    const open = row.children && !sort
      ? el("button", { type: "button", className: "fold", "aria-expanded": String(!closed.has(row.name)), "aria-label": `${closed.has(row.name) ? "open" : "close"} ${row.name}`, onclick: () => toggle(row.name) }, closed.has(row.name) ? "▸" : "▾")
      : el("span", { className: "fold" });
    const cell = el("td", { className: "name" }, open, name);
    if (!sort) cell.style.paddingLeft = `${row.depth * 18}px`;
    const written = (key) => (key === "zeros" && row[key] !== null ? `${(row[key] * 100).toFixed(row[key] > 0.99 && row[key] < 1 ? 2 : 0)} %` : number(row[key]));
    // What was observed and is no number is not finite.
    const isThere = (key) => row[key] !== null || (row.at[key] ?? -1) >= 0;
    const value = (key, label) => el("td", { className: "number", "data-label": label }, ...(isThere(key) ? [row[key] === null ? el("span", { className: "dim" }, "not finite") : written(key)] : []), isThere(key) && key in steps ? stepOf(row.at[key], row.at[key] < steps[key] ? "" : "as-above") : null);
    return el(
      "tr",
      { "data-row": row.name, className: [row.bad ? "bad" : "", offending.has(row.name) ? "offending" : ""].join(" ").trim() },
      cell,
      value("weight", "‖w‖"), value("gradient", "‖g‖"), value("update", "update ratio"), value("zeros", "zeros"),
      el("td", { className: row.bad ? "number found" : "number", "data-label": "not finite" }, row.bad ? "✕ yes" : "no"),
      el("td", { className: "number", "data-label": "gradient" }, ...(row.spark.length ? [sparkline(row.spark)] : [])),
    );
  });
  return el("div", { className: "scrolls", tabIndex: 0, role: "region", "aria-label": "layers" }, prefix ? el("p", { className: "about" }, `all beneath ${prefix}`) : "", el("table", { className: "layer-table cards" }, el("thead", {}, el("tr", {}, ...columns.map(heading))), el("tbody", {}, ...body)));
}

function internals(told, run) {
  const shown = new Set(["weights", "gradients", "updates", "outputs"]);
  const others = Object.entries(told.collections);
  const row = ([name, many]) => el("li", {}, el("a", { href: address("tensors", { run, under: prefixOf(name) }) }, name), ` ${count(many)}`);
  const rest = others.filter(([name]) => !shown.has(name));
  return el("details", { className: "internals" }, el("summary", {}, `everything that was captured: ${plural(others.reduce((sum, [, many]) => sum + many, 0), "tensor")}`), el("ul", {}, ...others.filter(([name]) => shown.has(name)).map(row), ...rest.map(row)));
}

// What the names of a collection begin with.
const prefixes = {
  gradients: "gradient/", outputs: "output/", inputs: "input/", losses: "loss/", learning_rates: "learning_rate/", updates: "update_ratio/", optimizer_states: "optimizer_state/",
  metrics: "metric/", scalars: "scalar/", batches: "batch/", samples: "sample/", predictions: "prediction/", labels: "label/", loop: "loop/", optimizer: "optimizer/",
};
const prefixOf = (name) => prefixes[name] ?? "";

function line(run, entry) {
  /** @type {[string, any]} */
  const where = entry.leaf ? ["tensor", { run, name: entry.path }] : ["tensors", { run, under: entry.path }];
  const row = link(where[0], where[1], el("code", {}, entry.label), el("span", {}, entry.leaf ? "" : plural(entry.count, "tensor")));
  row.dataset.row = entry.path;
  return row;
}

function crumbs(run, under) {
  const parts = under.match(/[^/.]*[/.]?/g).filter(Boolean);
  const links = parts.map((part, at) => link("tensors", { run, under: parts.slice(0, at + 1).join("") }, el("code", {}, part)));
  return under ? [link("tensors", { run }, "layers"), " ", ...links] : [];
}
