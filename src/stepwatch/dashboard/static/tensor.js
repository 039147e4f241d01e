// A tensor: its statistics over the steps, how it is spread, and its value at a step.

import { address, choice, el, link } from "./dom.js";
import { count, number, plural } from "./format.js";
import { heatFigure } from "./heatmap.js";
import { lineFigure, logOf } from "./lines.js";
import { ask } from "./net.js";
import { interpolate, isWider, keyOf, merged, sinceOf } from "./numbers.js";
import { parseRange } from "./url.js";

export async function show({ content, query, signal, state, choose }) {
  const { run, name } = query;
  const title = el("h1", {}, el("code", {}, name));
  const about = el("p", { className: "about" });
  const findings = el("div", { className: "page" });
  const controls = el("div", { className: "line" });
  const series = lineFigure({ title: name, height: 280 });
  const spread = el("div");
  const stepper = el("div", { className: "line" });
  const value = heatFigure({ title: `value of ${name}` });
  const images = heatFigure({ title: `images of ${name}` });
  images.figure.hidden = true;
  content.append(el("div", { className: "top" }, title, about), findings, controls, el("h2", { className: "unseen" }, "Over the steps"), series.figure, spread, stepper, value.figure, images.figure);
  let lines = new Map();
  let told = null;
  let band = null;
  let heat = null;

  const range = () => parseRange(query.x) ?? [told.first_step, Math.max(1, told.last_step)];
  const go = (x) => {
    location.hash = address("tensor", { ...query, step: Math.round(interpolate(x, told.knots.step, told.knots.global)) });
  };
  const zoom = (next) => {
    choose({ x: next ? next.join(":") : "" });
    paint();
    curve(true).catch(() => {}); // what is drawn stays
  };
  const paint = () => series.draw([...lines.values()], { axis: told.axis, knots: told.knots, range: range(), log: logOf(query), marks: told.marks, onclick: go, onrange: zoom });

  const curve = async (whole = false) => {
    const within = parseRange(query.x);
    const width = Math.max(0, ...[...lines.values()].map((line) => line.width));
    const since = !whole && !within && width ? sinceOf(told.last_step, width) : undefined;
    const asked = within ? { first: within[0], last: within[1] } : since === undefined ? {} : { since, width };
    const fresh = await ask("series", { run, name, statistic: query.statistic, points: 800, axis: query.axis, ...asked }, signal);
    if (since !== undefined && fresh.lines.some((line) => isWider(lines, line))) return curve(true);
    lines = new Map(fresh.lines.map((line) => [keyOf(line), merged(lines.get(keyOf(line)), line, since ?? 0)]));
    told = within && told ? { ...fresh, first_step: told.first_step, last_step: told.last_step } : fresh;
    series.rename(`${fresh.statistic} of ${name}`);
    paint();
  };

  const spreads = async () => {
    const it = await ask("spread", { run, name }, signal);
    if (it.kind === "exponents") {
      heat ??= heatFigure({ title: "magnitudes: share of elements between two powers of two" });
      if (!heat.figure.isConnected) spread.replaceChildren(heat.figure);
      const last = it.first.map((first) => first);
      heat.draw({ rows: it.rows, first: it.first, last, cells: it.cells }, { range: [0, Math.max(1, it.last_step)], rowHeight: 10, about: "blank: no element of this magnitude" });
      return;
    }
    if (!it.x.length) return;
    band ??= lineFigure({ title: "spread: mean, and lowest to highest", height: 220 });
    if (!band.figure.isConnected) spread.replaceChildren(band.figure);
    const between = (low, high) => (at) => (at < 0 || low[at] === null || high[at] === null ? "–" : `${number(low[at])} to ${number(high[at])}`);
    const line = (label, y, low, high) => ({ name: label, group: "", mode: label, worker: "", x: it.x, y, low, high, told: between(low, high), width: 1, whole: true });
    const apart = it.mean.map((mean, at) => (mean === null || it.std[at] === null ? null : it.std[at]));
    band.draw(
      [line("extremes", it.mean, it.low, it.high), line("one deviation", it.mean, it.mean.map((mean, at) => (apart[at] === null ? mean : mean - apart[at])), it.mean.map((mean, at) => (apart[at] === null ? mean : mean + apart[at])))],
      { axis: "step", knots: told.knots, range: [0, Math.max(1, it.last_step)] },
    );
  };

  const update = async () => {
    const [whole, it] = await Promise.all([ask("run", { run }, signal), ask("tensor", { run, name }, signal)]);
    state(whole.health.state, whole.health.tone);
    const shape = it.shape.length ? it.shape.join(" × ") : "one number";
    about.textContent = [it.collection, it.dtype, shape].filter(Boolean).join(" · ");
    findings.replaceChildren(...it.findings.map((one) => finding(one, query)));
    const statistic = query.statistic || it.statistic;
    if (!controls.contains(document.activeElement)) {
      controls.replaceChildren(choice("statistic", whole.statistics, statistic, (chosen) => {
        location.hash = address("tensor", { ...query, statistic: chosen });
      }));
    }
    await curve();
    await Promise.all([it.shape.length ? spreads() : null, values(stepper, value, images, it, query, signal)]);
  };
  await update();
  return update;
}

function finding(one, query) {
  const step = link("tensor", { ...query, step: one.step }, one.where);
  return el("article", { className: `cause ${one.severity}` }, el("p", { className: "where" }, el("b", {}, one.title), " ", step), el("p", {}, one.message));
}

// The nearest step at or before the one that was asked for of which the value was saved.
function nearestSaved(steps, wanted) {
  let at = steps.length - 1;
  if (wanted !== undefined) while (at > 0 && steps[at] > wanted) at -= 1;
  return at;
}

async function values(stepper, value, images, it, query, signal) {
  for (const part of [stepper, value.figure]) part.hidden = !it.shape.length;
  if (!it.shape.length) return;
  const steps = it.values_at;
  if (!steps.length) {
    stepper.replaceChildren(el("h2", {}, "Value"), el("p", { className: "about" }, `only statistics were saved; its values are with: --save '${it.collection}:raw'`));
    value.figure.hidden = true;
    return;
  }
  const wanted = query.step === undefined ? undefined : Number(query.step);
  const at = nearestSaved(steps, wanted);
  const step = steps[at];
  const to = (index, text, mark, label) => {
    if (index < 0 || index >= steps.length) return el("span", { className: "button off", "aria-hidden": "true" }, text);
    const button = link("tensor", { ...query, step: steps[index] }, text);
    button.className = "button";
    button.setAttribute("aria-label", label);
    button.setAttribute(mark, "");
    return button;
  };
  const missing = wanted !== undefined && wanted !== step ? `step ${count(wanted)} was not saved in full; the nearest is ${count(step)}` : "";
  stepper.replaceChildren(
    el("h2", {}, `Value at step ${count(step)}`),
    to(at - 1, "←", "data-before", "the value before"),
    to(at + 1, "→", "data-after", "the value after"),
    el("span", { className: "about" }, missing || `${plural(it.num_values, "value")} saved`),
  );
  const asked = { run: query.run, name: query.name, step };
  images.figure.hidden = !it.images;
  const draw = async (figure, more) => {
    const told = await ask("value", { ...asked, ...more }, signal);
    const columns = told.cells[0].map((_, column) => column);
    const said = more.images ? `${count(told.images)} of ${count(told.of_images)} images` : `${told.shape.join(" × ")} · ${told.dtype}`;
    figure.draw(
      { rows: told.cells.map((_, row) => String(row)), first: columns, last: columns, cells: told.cells },
      { range: [0, Math.max(0, columns.length - 1)], xname: "column", most: more.images ? 560 : 420, rowHeight: more.images ? 6 : 16, about: said, xlabels: Boolean(more.images) },
    );
  };
  await Promise.all([draw(value, {}), it.images ? draw(images, { images: 64 }) : null]);
}
