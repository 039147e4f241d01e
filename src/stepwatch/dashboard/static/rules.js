// The rules: how each stands, what was not checked, and with which parameters.

import { choice, el } from "./dom.js";
import { count } from "./format.js";
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
  const rest = el("p", { className: "about" });
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
    state(whole.state, whole.health.tone);
    about.textContent = told.headline;
    fill(list, told.rules, wanted.status);
    rest.textContent = told.not_asked.length ? `not asked: ${told.not_asked.join(", ")}` : "";
  };
  await update();
  return update;
}

function fill(list, rules, status) {
  const open = new Set([...list.querySelectorAll("details[open]")].map((one) => one.dataset.rule));
  const shown = rules.filter((rule) => !status || rule.outcome === status);
  list.replaceChildren(...shown.map((rule) => row(rule, open.has(rule.rule))));
}

function row(rule, open) {
  const [label, tone] = words[rule.outcome];
  const parameters = Object.entries(rule.parameters).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)));
  const detail = rule.outcome === "passed" ? "" : rule.details;
  return el(
    "details",
    { open, "data-rule": rule.rule, className: rule.idle ? "idle" : "" },
    el("summary", {}, el("span", { className: `badge ${tone}` }, label), el("b", {}, rule.title || rule.rule.replaceAll("_", " "), rule.title ? el("span", { className: "dim" }, ` ${rule.rule}`) : null), el("span", { className: "detail" }, detail)),
    el("p", {}, rule.looks_for),
    el("p", { className: "about" }, `${count(rule.evaluations)} steps judged · needs ${rule.needs.join(" or ") || "nothing"}`),
    el("dl", {}, ...parameters),
  );
}
