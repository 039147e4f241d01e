// What the black box holds: the last steps, why it was kept, what can be run again; actions taken.

import { el } from "./dom.js";
import { count, moment, sentence } from "./format.js";
import { ending, lastSteps } from "./headline.js";
import { ask } from "./net.js";

export async function show({ content, query, signal, state }) {
  const { run } = query;
  const body = el("div", { className: "page" });
  content.append(el("h1", {}, "Last steps"), body);
  const update = async () => {
    const [about, told] = await Promise.all([ask("run", { run }, signal), ask("last", { run }, signal)]);
    state(about.health.state, about.health.tone);
    const how = ending(about, true);
    const trace = how?.querySelector("pre");
    body.replaceChildren(
      trace ? el("section", {}, el("h2", {}, "How it ended"), trace) : "",
      el("section", { className: "ending" }, ...box(told)),
      el("section", { className: "ending" }, el("h2", {}, "Replay"), ...replay(told)),
      el("section", { className: "ending" }, el("h2", {}, "Actions"), ...actions(told.actions)),
    );
    if (trace) trace.scrollTop = trace.scrollHeight; // what was raised is at its end
  };
  await update();
  return update;
}

function box(told) {
  if (!told.last_steps.length) return [el("h2", {}, "Black box"), el("p", { className: "about" }, "There is none: a run that ended well and in which nothing was found needs none.")];
  const why = told.triggers.map((one) => el("p", {}, el("b", {}, sentence(one.finding?.title ?? one.reason)), one.error ? `: ${one.error}` : "", one.finding ? ` ${one.finding.where}` : one.step === undefined ? "" : ` at step ${count(one.mode_step ?? one.step)}`, one.finding ? el("span", { className: "dim" }, ` ${one.finding.rule}`) : ""));
  return [el("h2", {}, "Black box"), ...why, lastSteps(told.last_steps), el("p", {}, "all of it: ", el("code", {}, `stepwatch blackbox ${told.place}`))];
}

function replay(told) {
  if (!told.replayable.length) return [el("p", { className: "about" }, "No step can be run again, as no snapshot was kept; next time: ", el("code", {}, "stepwatch run --snapshot every=100 …"))];
  const [first, last] = [told.replayable[0], told.replayable.at(-1)];
  return [
    el("p", {}, `${count(told.replayable.length)} TRAIN steps can be run again, ${count(first)} to ${count(last)}.`),
    el("p", {}, el("code", {}, `stepwatch replay ${told.place} --step ${last}`)),
  ];
}

function actions(notes) {
  if (!notes.length) return [el("p", { className: "about" }, "Nothing was done about a finding.")];
  const names = ["when", "step", "finding", "action", "outcome", "what"];
  const row = (one) => {
    const texts = [moment(one.time_ns), count(one.train_step), sentence(one.title), one.action, one.outcome, one.error || one.detail];
    return el("tr", {}, ...texts.map((text, at) => el("td", { className: names[at] === "step" ? "number" : "", "data-label": names[at] }, ...(text ? [text] : []))));
  };
  return [
    el(
      "div",
      { className: "scrolls", tabIndex: 0, role: "region", "aria-label": "actions" },
      el("table", { className: "small cards" }, el("thead", {}, el("tr", {}, ...names.map((text) => el("th", { scope: "col", className: text === "step" ? "number" : "" }, text)))), el("tbody", {}, ...notes.map(row))),
    ),
  ];
}
