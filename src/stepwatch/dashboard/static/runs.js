// The table of runs: filter, sort, compare two.

import { address, el, link } from "./dom.js";
import { count, moment, number } from "./format.js";
import { ask } from "./net.js";

const columns = [
  ["name", "run", "text"],
  ["state", "state", "text"],
  ["steps", "steps", "number"],
  ["rate", "steps / s", "number"],
  ["last_loss", "last loss", "number"],
  ["findings", "findings", "number"],
  ["started_ns", "started", "number"],
];

export async function show({ content, signal }) {
  const view = { sort: "started_ns", down: true, text: "", chosen: [], runs: [] };
  const field = el("input", { type: "search", placeholder: "filter", "aria-label": "filter runs" });
  const both = el("a", { className: "button", hidden: true }, "compare");
  const table = el("table");
  const about = el("p", { className: "about" });
  const redraw = () => fill(table, both, view, redraw);
  field.addEventListener("input", () => {
    view.text = field.value.toLowerCase();
    redraw();
  });
  const top = el("div", { className: "line" }, el("h1", {}, "Runs"), field, both);
  content.append(el("div", { className: "top" }, top, about), table);
  const look = async () => {
    const told = await ask("runs", {}, signal);
    if (told.one && told.runs.length === 1 && !location.hash.startsWith("#/?")) {
      location.replace(address("run", { run: told.runs[0].name }));
      return;
    }
    view.runs = told.runs;
    about.textContent = told.runs.length ? told.place : "";
    if (!told.runs.length) {
      about.textContent = `no runs in ${told.place} yet; make one with: stepwatch run train.py`;
    }
    redraw();
    const timer = setTimeout(() => look().catch(() => {}), told.pending ? 50 : 2000);
    signal.addEventListener("abort", () => clearTimeout(timer));
  };
  await look();
}

function fill(table, both, view, redraw) {
  const before = table.querySelector(".chosen")?.dataset.row;
  const shown = view.runs.filter((run) => `${run.name} ${run.state}`.toLowerCase().includes(view.text));
  const sign = view.down ? -1 : 1;
  shown.sort((a, b) => sign * order(a[view.sort], b[view.sort]));
  table.hidden = !view.runs.length;
  table.replaceChildren(
    el("thead", {}, el("tr", {}, el("th", { className: "pick" }), ...columns.map((one) => heading(one, view, redraw)))),
    el("tbody", {}, ...shown.map((run) => row(run, view, redraw))),
  );
  if (before) table.querySelector(`[data-row="${CSS.escape(before)}"]`)?.classList.add("chosen");
  both.hidden = view.chosen.length !== 2;
  both.href = address("compare", { a: view.chosen[0], b: view.chosen[1] });
}

function order(a, b) {
  if (typeof a === "string" && typeof b === "string") return a.localeCompare(b, "en", { numeric: true });
  return (a ?? -Infinity) - (b ?? -Infinity) || 0;
}

function heading([key, label, kind], view, redraw) {
  const sorted = view.sort === key;
  const press = () => {
    view.down = sorted ? !view.down : kind === "number";
    view.sort = key;
    redraw();
  };
  const mark = sorted ? (view.down ? " ↓" : " ↑") : "";
  const button = el("button", { type: "button", onclick: press }, label + mark);
  const direction = sorted ? (view.down ? "descending" : "ascending") : "none";
  return el("th", { className: key === "state" ? "" : `${kind} ${key}`, ariaSort: direction }, button);
}

function row(run, view, redraw) {
  const pick = el("input", {
    type: "checkbox",
    checked: view.chosen.includes(run.name),
    "aria-label": `compare ${run.name}`,
    onchange: () => {
      view.chosen = pick.checked
        ? [...view.chosen, run.name].slice(-2)
        : view.chosen.filter((name) => name !== run.name);
      redraw();
    },
  });
  const cells = [
    el("td", { className: "name" }, link("run", { run: run.name }, run.name), run.error ? el("p", { className: "about" }, run.error) : null),
    el("td", {}, el("span", { className: `state ${run.state}` }, run.state)),
    el("td", { className: "number" }, count(run.steps)),
    el("td", { className: "number rate" }, number(run.rate)),
    el("td", { className: "number" }, number(run.last_loss)),
    el("td", { className: `number ${run.findings ? "found" : ""}` }, count(run.findings)),
    el("td", { className: "number started_ns" }, moment(run.started_ns)),
  ];
  return el("tr", { "data-row": run.name }, el("td", { className: "pick" }, pick), ...cells);
}
