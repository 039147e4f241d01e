// What the machine did: one sentence and one bar first, then workers, phases, devices, layers.

import { address, el } from "./dom.js";
import { count, number } from "./format.js";
import { heatFigure } from "./heatmap.js";
import { lineFigure } from "./lines.js";
import { ask } from "./net.js";

const phases = ["data", "forward", "backward", "optimizer", "other"];

export async function show({ content, query, signal, state }) {
  const { run, step } = query;
  const said = el("div", { className: "banner none" });
  const bars = el("div", { className: "bars" });
  const workers = el("div", { className: "numbers" });
  const curves = el("div", { className: "grid" });
  const devices = heatFigure({ title: "how busy devices were", unit: "%" });
  const others = el("div", { className: "grid" });
  const field = el("input", { type: "number", min: 0, value: step ?? "", placeholder: "step", "aria-label": "step" });
  field.addEventListener("change", () => {
    location.hash = address("machine", { run, step: field.value });
  });
  const near = el("div");
  const around = el("section", {}, el("div", { className: "line" }, el("h2", {}, "Around a step"), field), near);
  const spent = el("div");
  const traces = el("div");
  const rest = el("div", { className: "rest" });
  content.append(el("h1", {}, "Machine"), said, bars, spent, el("h2", { className: "unseen" }, "Over the steps"), workers, curves, around, devices.figure, others, traces, rest);
  const drawn = new Map();
  const heats = new Map();

  const update = async () => {
    const about = await ask("run", { run }, signal);
    state(about.health.state, about.health.tone);
    if (!about.profiled) {
      for (const part of [bars, around, devices.figure, others, curves, workers, spent, traces]) part.hidden = true;
      said.replaceChildren(el("p", { className: "headline" }, "Nothing of the machine was recorded in this run"));
      return;
    }
    const told = await ask("machine", { run }, signal);
    said.className = `banner ${told.slowest ? "warning" : "none"}`;
    said.replaceChildren(el("p", { className: "headline" }, told.sentence || "No step was timed"), told.timed ? el("p", {}, told.timed) : "", told.slowest ? el("p", {}, told.slowest) : "");
    bars.replaceChildren(...told.shares.map((one) => bar(one, told.timed ? " observed in full" : "")));
    spent.replaceChildren(costly("Costliest modules", told.spent), costly("Beside them", told.around));
    drawWorkers(workers, heats, told.workers);
    drawPhases(curves, drawn, told, run);
    drawDevices(devices, others, drawn, told.devices);
    traces.replaceChildren(...traceLinks(told.traces, run));
    rest.replaceChildren(...told.notes.map((line) => el("p", { className: "about" }, line)), told.devices.idle.length ? el("p", { className: "about" }, `always zero, so not drawn: ${told.devices.idle.join(", ")}`) : "");
    if (step === undefined) near.replaceChildren(el("p", { className: "about" }, "click on a step above, or write its number"));
    else near.replaceChildren(await ask("machine", { run, step }, signal).then(timeline, (error) => el("p", { className: "about" }, error.message)));
  };
  await update();
  return update;
}

// The share of each phase in the time of a step, beside each other.
/** @param {any} one @param {string} which of the steps these are */
function bar(one, which) {
  const known = phases.filter((name) => one.shares[name] > 0.001);
  const told = known.map((name) => `${name} ${(one.shares[name] * 100).toFixed(0)} %`).join(", ");
  const stack = el("div", { className: "stack", role: "img", "aria-label": `${one.worker}: ${told}` });
  for (const name of known) {
    const part = el("span", { className: `phase ${name}` }, one.shares[name] > 0.08 ? `${name} ${(one.shares[name] * 100).toFixed(0)} %` : "");
    part.style.flexGrow = String(one.shares[name]);
    part.title = `${name}: ${number(one.shares[name] * one.mean_ms)} ms`;
    stack.append(part);
  }
  return el("div", { className: "bar-row" }, el("span", { className: "about" }, `${one.worker} ${one.mode}`), stack, el("span", { className: "about" }, `${number(one.mean_ms)} ms a step, p95 ${number(one.p95_ms)} ms, ${count(one.count)} steps${which}`));
}

function costly(title, spent) {
  if (!spent.length) return "";
  const row = (one) => el("tr", {}, el("td", {}, el("code", {}, one.name)), el("td", {}, one.worker), el("td", { className: "number" }, number(one.mean_ms)), el("td", { className: "number" }, number(one.max_ms)), el("td", { className: "number" }, count(one.count)));
  return el(
    "div",
    { className: "scrolls", tabIndex: 0, role: "region", "aria-label": title },
    el(
      "table",
      { className: "small" },
      el("caption", {}, title),
      el("thead", {}, el("tr", {}, ...["what", "worker", "mean ms", "longest ms", "times"].map((text, at) => el("th", { scope: "col", className: at > 1 ? "number" : "" }, text)))),
      el("tbody", {}, ...spent.map(row)),
    ),
  );
}

function drawWorkers(place, heats, told) {
  place.hidden = !told;
  if (!told) return;
  for (const [key, title] of [["time", "time of each step, ms, by worker"], ["waiting", "of it waiting: for data, and in the backward pass for the slowest, ms"]]) {
    if (!heats.has(key)) {
      heats.set(key, heatFigure({ title, unit: "ms" }));
      place.append(heats.get(key).figure);
    }
    heats.get(key).draw({ rows: told.rows, first: told.x, last: told.x, cells: told[key] }, { range: [0, Math.max(1, told.x.at(-1) ?? 1)], byFactors: key === "time", about: "blank: not timed" });
  }
}

// A few steps take very long, such as the first: the axis goes to most of them.
function clipped(values, share = 0.98) {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  return known[Math.floor((known.length - 1) * share)] ?? 1;
}

function drawPhases(place, drawn, told, run) {
  for (const one of told.phases) {
    const title = told.phases.length > 1 ? `phases of a step, ms, ${one.worker}` : "phases of a step, ms";
    if (!drawn.has(title)) {
      drawn.set(title, lineFigure({ title, height: 220 }));
      place.append(drawn.get(title).figure);
    }
    const limit = clipped(one.longest) * 1.3;
    const line = (name) => ({ name, group: "phases", mode: name, worker: "", x: one.x, y: one[name].map((value) => (value === null ? null : Math.min(value, limit))), width: one.width, whole: true });
    drawn.get(title).draw(phases.filter((name) => one[name].some(Boolean)).map(line), {
      axis: "step", knots: {}, range: [0, told.last_step],
      onclick: (x) => { location.hash = address("machine", { run, step: Math.round(x) }); },
    });
  }
}

function drawDevices(heat, others, drawn, told) {
  const shares = told.series.filter((one) => one.unit === "%");
  heat.figure.hidden = !shares.length;
  const times = [...new Set(shares.flatMap((one) => one.x))].sort((a, b) => a - b);
  const column = new Map(times.map((time, at) => [time, at]));
  const cells = shares.map((one) => {
    const row = new Array(times.length).fill(null);
    one.x.forEach((time, at) => { row[column.get(time)] = one.y[at]; });
    return row;
  });
  const last = times.map((time, at) => (times[at + 1] ?? time + 1) - 1);
  if (shares.length) heat.draw({ rows: shares.map((one) => one.name), first: times, last, cells }, { range: [0, Math.max(1, times.at(-1))], axis: "time", knots: { step: [0, 1], time: [0, 1] }, xname: "second", scale: { low: 0, high: 100, log: false, signed: false, zero: false, band: null }, about: "seconds since the first reading" });
  for (const one of told.series.filter((series) => series.unit !== "%")) {
    const title = one.unit ? `${one.name}, ${one.unit}` : one.name;
    if (!drawn.has(title)) {
      drawn.set(title, lineFigure({ title, height: 150 }));
      others.append(drawn.get(title).figure);
    }
    const knots = { step: [0, 1], time: [0, 1] };
    drawn.get(title).draw([{ name: one.name, group: "", mode: "", worker: "", x: one.x, y: one.y, high: one.high, low: one.y, width: 1, whole: true }], { axis: "time", knots, range: [0, Math.max(1, one.x.at(-1) ?? 1)] });
  }
}

function timeline(told) {
  if (!told.spans.length) return el("p", { className: "about" }, "nothing was timed around this step");
  const whole = Math.max(...told.spans.map((one) => one.from + one.ms));
  const lanes = told.lanes.map((lane) => el("div", { className: "lane" }, el("span", { className: "about" }, lane), el("div", { className: "track" })));
  for (const one of told.spans) {
    const part = el("span", { className: `phase ${one.kind === "phase" ? one.name : one.kind}`, title: `${one.name}, step ${one.step}: ${number(one.ms)} ms from ${number(one.from)} ms` });
    part.style.left = `${(one.from / whole) * 100}%`;
    part.style.width = `${Math.max(0.1, (one.ms / whole) * 100)}%`;
    lanes[one.lane].lastChild.append(part);
  }
  return el("div", { className: "timeline", role: "img", "aria-label": `what ran when, ${number(whole)} ms in ${told.lanes.length} lanes` }, ...lanes, el("p", { className: "about" }, `${number(whole)} ms${told.left_out ? ` · ${count(told.left_out)} shorter intervals are left out` : ""}`));
}

function traceLinks(traces, run) {
  if (!traces.length) return [];
  const rows = traces.map((key) => el("p", {}, el("a", { href: `api/trace?${new URLSearchParams({ run, key })}` }, el("code", {}, key.split("/").at(-1)))));
  return [el("h2", {}, "Traces"), ...rows, el("p", {}, "Save one, and open it in ", el("a", { href: "https://ui.perfetto.dev", target: "_blank", rel: "noreferrer" }, "Perfetto"), ", which reads it in your browser.")];
}

