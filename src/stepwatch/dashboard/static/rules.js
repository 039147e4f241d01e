// The rules: how each stands, what was not checked, and with which parameters.

import { choice, el } from "./dom.js";
import { count, plural } from "./format.js";
import { ask } from "./net.js";

const words = {
  found: ["found", "warning"],
  passed: ["passed", "good"],
  "lacked data": ["lacked data", "none"],
  "does not apply": ["does not apply", "none"],
  failed: ["failed", "error"],
};

export async function show({ content, query, signal, state }) {
  const { run } = query;
  const about = el("p", { className: "about" });
  const list = el("div", { className: "rules-list" });
  const rest = el("div", { className: "rules-list" });
  const wanted = { status: "" };
  let told = { rules: [] };
  const options = [["", "all"], ...Object.entries(words).map(([key, [label]]) => [key, label])];
  const filter = choice("status", options, "", (value) => {
    wanted.status = value;
    fill(list, told.rules, wanted.status);
  });
  const top = el("div", { className: "line" }, el("h1", {}, "Rules"), filter);
  content.append(el("div", { className: "top" }, top, about), list, rest);

  const update = async () => {
    const [whole, found] = await Promise.all([ask("run", { run }, signal), ask("rules", { run }, signal)]);
    told = found;
    state(whole.health.state, whole.health.tone);
    about.textContent = told.headline;
    fill(list, told.rules, wanted.status);
    const wasOpen = rest.querySelector("details")?.open;
    rest.replaceChildren(told.not_asked.length ? folded("not asked", "none", told.not_asked.length, wasOpen, el("p", {}, told.not_asked.map(nameOf).join(", "))) : "");
  };
  await update();
  return update;
}

// What is read first has a row each; of these there are many, and they are read when asked for.
const many = ["passed", "does not apply"];

function fill(list, rules, status) {
  const open = new Set([...list.querySelectorAll("details[open]")].map((one) => one.dataset.rule));
  const shown = rules.filter((rule) => !status || rule.outcome === status);
  const rowOf = (rule) => row(rule, open.has(rule.rule));
  const groups = Object.entries(words).map(([outcome, [label, tone]]) => {
    const own = shown.filter((rule) => rule.outcome === outcome);
    if (status || !many.includes(outcome) || own.length < 2) return own.map(rowOf);
    return [folded(label, tone, own.length, open.has(outcome), el("div", { className: "rules-list" }, ...own.map(rowOf)), outcome)];
  });
  const seen = [...new Set(shown.map((rule) => parted(rule.details)[1]).filter(Boolean))];
  list.replaceChildren(...groups.flat(), ...seen.map((text) => el("p", { className: "about" }, `seen were ${text}`)));
}

const nameOf = (rule) => rule.replaceAll("_", " ");

// Why a rule judged nothing, and what there was instead, which is the same for all.
function parted(details) {
  const [why, ...there] = details.split("; seen were ");
  return [why, there.join("; seen were ")];
}

function folded(label, tone, number, open, content, key = label) {
  return el("details", { open, "data-rule": key, className: "many" }, el("summary", {}, el("span", { className: `badge ${tone}` }, label), el("b", {}, plural(number, "rule"))), content);
}

function row(rule, open) {
  const [label, tone] = words[rule.outcome];
  const parameters = Object.entries(rule.parameters).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)));
  const detail = rule.outcome === "passed" ? "" : parted(rule.details)[0];
  return el(
    "details",
    { open, "data-rule": rule.rule, className: rule.idle ? "idle" : "" },
    el("summary", {}, el("span", { className: `badge ${tone}` }, label), el("b", {}, rule.title || nameOf(rule.rule), rule.title ? el("span", { className: "dim" }, ` ${rule.rule}`) : null), el("span", { className: "detail" }, detail)),
    el("p", {}, rule.looks_for),
    el("p", { className: "about" }, `${count(rule.evaluations)} steps judged · needs ${rule.needs.join(" or ") || "nothing"}`),
    el("dl", {}, ...parameters),
  );
}
