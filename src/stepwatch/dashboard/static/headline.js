// What is read first of a run: how it stands, how it ended, and what went wrong first.

import { el, tensorLink } from "./dom.js";
import { count, number, plural } from "./format.js";

/** What a finding is about: a link where a figure shows it, else its name. */
export function aboutOf(found, run) {
  if (!found.shown) return found.about;
  return found.shown === found.about
    ? tensorLink(run, found.shown, found.step)
    : tensorLink(run, found.shown, found.step, found.about);
}

export function banner(about, run, ...facts) {
  const { tone, title, rest, remedy, details } = about.health;
  const cause = about.ending ? null : about.chains[0];
  const first = cause?.cause;
  const at = first && (first.about || cause.again)
    ? el("p", {}, ...(first.about && !cause.again.startsWith("in ") ? ["first in ", aboutOf(first, run)] : []), cause.again ? el("span", { className: "about" }, ` ${cause.again}`) : null)
    : null;
  const since = [first?.noticed, first?.rule].filter(Boolean).join(" · ");
  const judge = about.verdict === "not judged" && about.state !== "running";
  return el(
    "div",
    { className: `banner ${tone}`, role: "status" },
    el("p", { className: "headline" }, title, since ? el("span", { className: "dim" }, ` ${since}`) : null),
    rest ? el("p", { className: about.health.cause ? "" : "about" }, rest) : null,
    at,
    remedy ? el("p", { className: "remedy" }, el("b", {}, "What to do: "), remedy) : null,
    ...details.map((line) => el("p", {}, line)),
    judge ? el("p", {}, "to judge it: ", el("code", {}, `stepwatch check ${about.place}`)) : null,
    ...facts,
  );
}

// How it ended that did not end well: the end of the traceback, the last steps, what to run next.
/** @param {any} about @param {boolean} [isAlone] whether no headline above it has the exception */
export function ending(about, isAlone = false) {
  const it = about.ending;
  if (!it) return null;
  const replayed = it.commands.some((line) => line.startsWith("stepwatch replay"));
  const missing = it.last_steps.length && !replayed
    ? el("p", { className: "about" }, "No step can be run again, as no snapshot was kept; next time: ", el("code", {}, "stepwatch run --snapshot every=100 …"))
    : null;
  return el(
    "section",
    { className: "ending", "aria-label": "how it ended" },
    it.traceback ? el("pre", { className: "traceback", tabIndex: 0 }, isAlone ? `${it.traceback}\n${it.error}` : it.traceback) : null,
    it.last_steps.length ? lastSteps(it.last_steps) : null,
    ...it.commands.map((line) => el("p", {}, el("code", {}, line))),
    missing,
  );
}

/** @type {[string, string, (value: any) => string][]} */
const columns = [
  ["place", "step", String],
  ["before_end_s", "before the end", (value) => `${value.toFixed(2)} s`],
  ["loss", "loss", number],
  ["learning_rate", "learning rate", number],
  ["gradient_norm", "gradient norm", number],
  ["non_finite", "tensors not finite", count],
];

// So many are shown before anybody asks for more.
const FEW = 10;
let whole = false; // whether more were asked for

export function lastSteps(steps) {
  const several = new Set(steps.map((one) => one.worker)).size > 1;
  /** @type {[string, string, (value: any) => string][]} */
  const shown = several ? [["worker", "worker", String], ...columns] : columns;
  const isText = (key) => typeof steps[0][key] === "string";
  const cell = ([key, label, write], one) => el("td", { className: isText(key) ? "" : "number", "data-label": label }, one[key] === null ? "–" : write(one[key]));
  const rows = steps.map((one, at) => el("tr", { hidden: !whole && at < steps.length - FEW }, ...shown.map((column) => cell(column, one))));
  const hidden = rows.filter((row) => row.hidden);
  const more = el("button", { type: "button", onclick: () => { whole = true; for (const row of hidden) row.hidden = false; more.remove(); } }, plural(hidden.length, "earlier step"));
  return el(
    "div",
    { className: "scrolls", tabIndex: 0, role: "region", "aria-label": "last steps" },
    hidden.length ? more : "",
    el(
      "table",
      { className: "small cards" },
      el("caption", {}, "Last steps, from the black box"),
      el("thead", {}, el("tr", {}, ...shown.map(([key, label]) => el("th", { scope: "col", className: isText(key) ? "" : "number" }, label)))),
      el("tbody", {}, ...rows),
    ),
  );
}
