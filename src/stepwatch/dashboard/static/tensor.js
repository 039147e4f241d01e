// A tensor: its statistics over the steps, how it is spread, and its value at a step.

import { draw, place, say } from "./chart.js";
import { address, choice, el, link } from "./dom.js";
import { count, plural } from "./format.js";
import { ask } from "./net.js";

export async function show({ content, query, signal, state }) {
  const { run, name } = query;
  const title = el("h1", {}, el("code", {}, name));
  const about = el("p", { className: "about" });
  const findings = el("div");
  const controls = el("div", { className: "line" });
  const series = place(340);
  const spread = place(340);
  const stepper = el("div", { className: "line" });
  const value = place(420);
  const images = place(600);
  images.figure.hidden = true;
  const top = el("div", { className: "top" }, title, about);
  content.append(top, findings, controls, series.figure, spread.figure, stepper, value.figure, images.figure);

  const update = async () => {
    const [whole, it] = await Promise.all([ask("run", { run }, signal), ask("tensor", { run, name }, signal)]);
    state(whole.state);
    const shape = it.shape.length ? it.shape.join(" × ") : "one number";
    about.textContent = [it.collection, it.dtype, shape].filter(Boolean).join(" · ");
    findings.replaceChildren(...it.findings.map((one) => finding(one, query)));
    const statistic = query.statistic || it.statistic;
    if (!controls.contains(document.activeElement)) {
      controls.replaceChildren(choice("statistic", whole.statistics, statistic, (chosen) => {
        location.hash = address("tensor", { ...query, statistic: chosen });
      }));
    }
    const go = (point) => {
      location.hash = address("tensor", { ...query, step: Math.round(point.x) });
    };
    const lines = async () => {
      const figure = await ask("figure", { run, figure: "tensor", name, statistic, points: 800, ...series.within }, signal);
      await draw(series, figure, go, lines);
    };
    await Promise.all([
      lines(),
      it.shape.length
        ? ask("figure", { run, figure: "distribution", name }, signal).then((it_) => draw(spread, it_, go))
        : (spread.figure.hidden = true),
      values(stepper, value, images, it, query, signal),
    ]);
  };
  await update();
  return update;
}

function finding(one, query) {
  const step = link("tensor", { ...query, step: one.step }, `step ${count(one.step)}`);
  return el("article", { className: `cause ${one.severity}` }, el("p", { className: "where" }, el("b", {}, one.rule.replaceAll("_", " ")), " ", step), el("p", {}, one.message));
}

// The nearest step at or before the one that was asked for of which the value was saved.
function nearest(steps, wanted) {
  let at = steps.length - 1;
  if (wanted !== undefined) while (at > 0 && steps[at] > wanted) at -= 1;
  return at;
}

async function values(stepper, value, images, it, query, signal) {
  const parts = [stepper, value.figure];
  for (const part of parts) part.hidden = !it.shape.length;
  if (!it.shape.length) return;
  const steps = it.values_at;
  if (!steps.length) {
    stepper.replaceChildren(el("h2", {}, "Value"));
    value.title.textContent = "";
    say(value, `only statistics were saved; its values are with: --save '${it.collection}:raw'`);
    return;
  }
  const wanted = query.step === undefined ? undefined : Number(query.step);
  const at = nearest(steps, wanted);
  const step = steps[at];
  const to = (index, text, mark) => {
    const inside = index >= 0 && index < steps.length;
    const button = link("tensor", { ...query, step: steps[index] }, text);
    button.className = inside ? "button" : "button off";
    if (inside) button.setAttribute(mark, "");
    return button;
  };
  const missing = wanted !== undefined && wanted !== step ? `step ${count(wanted)} was not saved in full; the nearest is ${count(step)}` : "";
  const saved = `${plural(it.num_values, "value")} saved`;
  stepper.replaceChildren(
    el("h2", {}, `Value at step ${count(step)}`),
    to(at - 1, "←", "data-before"),
    to(at + 1, "→", "data-after"),
    el("span", { className: "about" }, missing || saved),
  );
  const asked = { run: query.run, name: query.name, step };
  const show = async (place_, figure) => draw(place_, await ask("figure", { ...asked, figure }, signal));
  images.figure.hidden = !it.images;
  await Promise.all([show(value, "value"), it.images ? show(images, "images") : null]);
}
