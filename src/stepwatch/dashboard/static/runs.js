// The table of runs: how each stands, what it was started with, what came of it; compare some.

import { address, choice, el, link, sparkline } from "./dom.js";
import { count, moment, number } from "./format.js";
import { ask } from "./net.js";
import { notesOf } from "./notes.js";
import { parseList, writeList } from "./url.js";

const fixed = [
  ["health", "health"], ["name", "run"], ["state", "state"], ["steps", "steps"], ["rate", "steps / s"], ["last_loss", "last loss"],
  ["spark", "loss"], ["findings", "findings"], ["tags", "tags"], ["note", "note"], ["group", "group or project"], ["started_ns", "started"],
];
const meanings = { rate: "steps of all modes, over the time from the first step to the last; of a run that goes on, over its last steps" };
const usual = ["health", "name", "state", "steps", "rate", "last_loss", "spark", "started_ns"];
const rank = { "✕": 0, "!": 1, "–": 2, "✓": 3 };
// What did not end by itself comes before what goes on, and that before what is over.
const states = ["unreadable", "failed", "died", "stalled", "running", "stopped", "interrupted", "finished"];
const healthNames = { "✕": "something is wrong", "!": "a warning", "–": "not known", "✓": "healthy" };

export async function show({ content, query, signal, choose }) {
  const view = { runs: [], place: "", chosen: [] };
  const notes = notesOf(() => view.place);
  const field = el("input", { type: "search", placeholder: "filter: name, state, lr=0.1, #tag", value: query.text ?? "", "aria-label": "filter runs" });
  const both = el("a", { className: "button", hidden: true }, "compare");
  const group = el("span");
  const archive = el("label", {}, el("input", { type: "checkbox", checked: query.archived === "1", onchange: (event) => { choose({ archived: event.target.checked ? "1" : "" }); redraw(); } }), " archived");
  const picker = el("details", { className: "picker" }, el("summary", {}, "columns"), el("div"));
  const table = el("table", { className: "runs-table cards" });
  const about = el("p", { className: "about" });
  const edit = (name, change) => {
    notes.set(name, change);
    redraw();
  };
  const noted = () => view.runs.some((run) => valueOf(run, "note", notes));
  const columns = () => (query.cols ? parseList(query.cols) : noted() ? [...usual.slice(0, -1), "note", "started_ns"] : usual);
  const redraw = () => {
    fillTable({ table, both, view, query, choose, redraw, notes, columns: columns(), edit });
    fillPicker(picker, view, columns(), (next) => { choose({ cols: writeList(next) }); redraw(); });
  };
  field.addEventListener("input", () => {
    choose({ text: field.value });
    redraw();
  });
  content.append(el("div", { className: "top" }, el("div", { className: "line" }, el("h1", {}, "Runs"), field, group, archive, picker, both), about), el("div", { className: "scrolls", tabIndex: 0, role: "region", "aria-label": "table of runs" }, table));
  const look = async () => {
    const told = await ask("runs", {}, signal);
    if (told.one && told.runs.length === 1 && !location.hash.startsWith("#/?")) {
      location.replace(address("run", { run: told.runs[0].name }));
      return;
    }
    Object.assign(view, { runs: told.runs, place: told.place });
    about.textContent = told.runs.length ? told.place : `no runs in ${told.place} yet; make one with: stepwatch run train.py`;
    if (!group.contains(document.activeElement)) {
      const options = [["", "no groups"], ["state", "by state"], ["group", "by group"], ...settingNames(view.runs).map((name) => [`setting ${name}`, `by ${name}`])];
      group.replaceChildren(choice("group runs", options, query.group ?? "", (value) => { choose({ group: value }); redraw(); }));
    }
    if (!table.contains(document.activeElement) || /** @type {any} */ (document.activeElement).type === "checkbox") redraw();
    again(told.pending ? 50 : 2000);
  };
  const again = (wait) => {
    const timer = setTimeout(() => look().catch(() => signal.aborted || again(2000)), wait);
    signal.addEventListener("abort", () => clearTimeout(timer));
  };
  await look();
}

const settingNames = (runs) => [...new Set(runs.flatMap((run) => Object.keys(run.settings ?? {})))];
const metricNames = (runs) => [...new Set(runs.flatMap((run) => Object.keys(run.metrics ?? {})))];

function fillPicker(picker, view, columns, change) {
  const names = [...fixed, ...settingNames(view.runs).map((name) => [`setting ${name}`, name]), ...metricNames(view.runs).map((name) => [`metric ${name}`, name])];
  const rows = names.map(([key, label]) => el("label", {}, el("input", { type: "checkbox", checked: columns.includes(key), disabled: key === "name", onchange: (event) => change(event.target.checked ? [...columns, key] : columns.filter((one) => one !== key)) }), ` ${label}`));
  if (!picker.contains(document.activeElement)) picker.lastChild.replaceChildren(...rows);
}

/** The tags that a run was started with, then those of this browser. */
export const tagsOf = (run, notes) => [...new Set([...(run.tags ?? []), ...(notes.get(run.name).tags ?? [])])];

/** What a column holds of a run. */
function valueOf(run, key, notes) {
  if (key === "health") return run.health?.mark ?? (run.state === "unreadable" ? "✕" : "–");
  if (key === "tags") return tagsOf(run, notes).join(" ");
  if (key === "note") return notes.get(run.name).note || run.note || "";
  if (key === "group") return notes.get(run.name).group || run.project || "";
  if (key.startsWith("setting ")) return asNumber(run.settings?.[key.slice(8)]);
  if (key.startsWith("metric ")) return run.metrics?.[key.slice(7)];
  return run[key];
}

const asNumber = (text) => (text !== undefined && text !== "" && Number.isFinite(Number(text)) ? Number(text) : text);

/** Whether a run has every word: of its name and state, `#tag`, or `setting=value`. */
export function matches(run, text, notes) {
  return text.toLowerCase().split(/\s+/).filter(Boolean).every((term) => {
    if (term.startsWith("#")) return tagsOf(run, notes).some((tag) => tag.toLowerCase().startsWith(term.slice(1)));
    const [name, value] = term.split("=");
    if (value !== undefined) return Object.entries(run.settings ?? {}).some(([key, own]) => key.toLowerCase() === name && own.toLowerCase().startsWith(value));
    return `${run.name} ${run.state} ${valueOf(run, "note", notes)} ${valueOf(run, "group", notes)} ${run.health?.text ?? ""}`.toLowerCase().includes(term);
  });
}

function order(a, b) {
  if (typeof a === "string" && a in rank && typeof b === "string" && b in rank) return rank[a] - rank[b];
  if (typeof a === "string" && typeof b === "string") return a.localeCompare(b, "en", { numeric: true });
  if (typeof a === "string" || typeof b === "string") return typeof a === "string" ? 1 : -1;
  return (a ?? -Infinity) - (b ?? -Infinity) || 0;
}

/** Runs as they are listed: by a column, those that are alike in it by health, state, and the newest first.
 * @param {any[]} runs @param {string} sort @param {boolean} up @param {any} notes */
export function inOrder(runs, sort, up, notes) {
  const state = (run) => (states.indexOf(run.state) + 1) || states.length + 1; // what was not read yet is last
  return [...runs].sort((a, b) =>
    (up ? 1 : -1) * order(valueOf(a, sort, notes), valueOf(b, sort, notes))
    || order(valueOf(a, "health", notes), valueOf(b, "health", notes))
    || state(a) - state(b)
    || order(b.started_ns, a.started_ns));
}

function fillTable(context) {
  const { table, both, view, query, notes, columns } = context;
  const before = table.querySelector(".chosen")?.dataset.row;
  const { sort, up } = sortOf(query);
  const found = view.runs.filter((run) => matches(run, query.text ?? "", notes) && Boolean(notes.get(run.name).archived) === (query.archived === "1"));
  const shown = inOrder(found, sort, up, notes);
  const groups = new Map();
  for (const run of shown) {
    const key = query.group ? String(valueOf(run, query.group, notes) ?? "none") || "none" : "";
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(run);
  }
  table.hidden = !view.runs.length;
  const bodies = [...groups].map(([key, runs]) => el("tbody", {}, key ? el("tr", { className: "group" }, el("th", { colSpan: columns.length + 2, scope: "rowgroup" }, `${key} · ${count(runs.length)}`)) : null, ...runs.map((run) => row(run, context))));
  table.replaceChildren(el("thead", {}, el("tr", {}, el("td", { className: "pick" }), ...columns.map((key) => heading(key, context)), el("td"))), ...bodies);
  if (before) table.querySelector(`[data-row="${CSS.escape(before)}"]`)?.classList.add("chosen");
  both.hidden = view.chosen.length < 2;
  both.href = address("compare", { run: view.chosen });
}

const labelOf = (key) => fixed.find(([one]) => one === key)?.[1] ?? key.replace(/^(setting|metric) /, "");

// What is wrong comes first, unless the address says otherwise.
const sortOf = (query) => ({ sort: query.sort ?? "health", up: query.sort ? query.up === "1" : true });

function heading(key, { query, choose, redraw }) {
  const { sort, up } = sortOf(query);
  const sorted = sort === key;
  const press = () => {
    choose({ sort: key, up: sorted ? (up ? "" : "1") : key === "name" || key === "health" ? "1" : "" });
    redraw();
  };
  const mark = sorted ? (up ? " ↑" : " ↓") : "";
  return el("th", { scope: "col", className: ["name", "state", "tags", "note", "group"].includes(key) ? "" : "number", "aria-sort": sorted ? (up ? "ascending" : "descending") : null }, key === "spark" ? labelOf(key) : el("button", { type: "button", title: meanings[key], onclick: press }, labelOf(key) + mark));
}

function row(run, context) {
  const { view, redraw, columns, notes, edit } = context;
  const pick = el("input", {
    type: "checkbox",
    checked: view.chosen.includes(run.name),
    "aria-label": `compare ${run.name}`,
    onchange: () => {
      view.chosen = view.chosen.filter((name) => name !== run.name);
      if (pick.checked) view.chosen.push(run.name);
      redraw();
    },
  });
  const own = notes.get(run.name);
  const tools = el(
    "details",
    { className: "picker" },
    el("summary", { "aria-label": `notes on ${run.name}` }, "⋯"),
    el(
      "div",
      {},
      field("tags", (own.tags ?? []).join(" "), run.name, (text) => edit(run.name, { tags: text.split(/\s+/).filter(Boolean) })),
      field("group", own.group ?? "", run.name, (text) => edit(run.name, { group: text })),
      field("note", own.note ?? "", run.name, (text) => edit(run.name, { note: text })),
      el("button", { type: "button", onclick: () => edit(run.name, { archived: !own.archived }) }, own.archived ? "take out of the archive" : "archive"),
      el("p", { className: "about" }, "kept in this browser"),
    ),
  );
  return el("tr", { "data-row": run.name }, el("td", { className: "pick" }, pick), ...columns.map((key) => cell(run, key, notes)), el("td", { className: "number" }, tools));
}

function field(label, value, name, change) {
  return el("label", {}, `${label} `, el("input", { value, "aria-label": `${label} of ${name}`, onchange: (event) => change(event.target.value.trim()) }));
}

function cell(run, key, notes) {
  const label = labelOf(key);
  const value = valueOf(run, key, notes);
  if (key === "health") return el("td", { className: `health ${run.health?.tone ?? (value === "✕" ? "error" : "none")}`, "data-label": label, title: run.health?.title }, el("span", { role: "img", "aria-label": healthNames[value] }, value));
  if (key === "name") return el("td", { className: "name" }, link("run", { run: run.name }, run.name), ...tagsOf(run, notes).map((tag) => el("span", { className: "tag" }, tag)), run.error ? el("p", { className: "about" }, run.error) : run.health && run.health.tone !== "good" ? el("p", { className: "about verdict-line", title: run.health.text }, run.health.title) : null);
  if (key === "state") return el("td", { "data-label": label }, el("span", { className: `state ${run.state} ${run.health?.tone ?? ""}` }, run.state));
  if (key === "spark") return el("td", { className: "number", "data-label": label }, sparkline(run.spark ?? [], `loss of ${run.name}`));
  if (key === "started_ns") return el("td", { className: "number started_ns", "data-label": label }, moment(run.started_ns));
  if (key === "steps" || key === "findings") return el("td", { className: `number ${key === "findings" && value ? "found" : ""}`, "data-label": label }, count(value));
  if (["nan", "inf", "-inf"].includes(value)) return el("td", { className: "number", "data-label": label }, value);
  if (typeof value === "string") return el("td", { "data-label": value ? label : null }, value);
  return el("td", { className: "number", "data-label": label }, number(value));
}
