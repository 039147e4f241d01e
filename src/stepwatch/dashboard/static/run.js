// A run: is it healthy, what went wrong first, and where.

import { drawn, el } from "./dom.js";
import { moment, plural, sentence } from "./format.js";
import { aboutOf, banner, ending } from "./headline.js";
import { ask } from "./net.js";

export async function show({ content, query, signal, state, choose }) {
  const { run } = query;
  const top = el("section", { className: "verdict", "aria-label": "how the run stands" });
  const rest = el("section", { className: "rest", "aria-label": "about the run" });
  content.append(el("h1", { className: "unseen" }, `Run ${run}`), top);
  let figures = null;

  const update = async () => {
    const headline = ask("run", { run }, signal); // asked first, as it is read first
    const numbers = figures?.read();
    numbers?.catch(() => {});
    const about = await headline;
    state(about.health.state, about.health.tone);
    verdict(top, about, run);
    notes(rest, about);
    // What draws is most of the page: the headline is on the screen before that is run.
    if (!figures) await drawn();
    figures ??= (await import("./evidence.js")).evidence({ run, query, signal, choose, content });
    await figures.show(about, numbers ?? figures.read());
    if (!rest.isConnected) content.append(rest);
  };
  await update();
  return update;
}

function verdict(top, about, run) {
  const open = new Set([...top.querySelectorAll("details[open]")].map((one) => one.dataset.cause));
  const isSaid = (chain) => !about.ending && chain.cause.finding_id === about.health.cause?.finding_id;
  top.replaceChildren(
    banner(about, run, ...about.chains.filter(isSaid).map((chain) => around(chain, run, open)), facts(about)),
    ending(about) ?? "",
    ...about.chains.filter((chain) => !isSaid(chain)).map((chain) => cause(chain, run, open)),
    about.more ? el("p", { className: "about" }, `and ${plural(about.more, "more cause")}; see them with: stepwatch check --all`) : "",
  );
  const trace = top.querySelector(".traceback");
  if (trace) trace.scrollTop = trace.scrollHeight; // what was raised is at its end
}

function facts(about) {
  const parts = [plural(about.steps.GLOBAL, "step")];
  if (/, | of /.test(about.steps_by_mode)) parts[0] += ` (${about.steps_by_mode})`;
  if (about.num_workers > 1) parts.push(plural(about.num_workers, "worker"));
  parts.push(moment(about.started_ns), about.command);
  return el("p", { className: "about" }, parts.filter(Boolean).join(" · "));
}

/** What followed from a cause, how to confirm it, and what was not checked. */
function around(chain, run, open) {
  const key = chain.cause.finding_id;
  const followed = chain.consequences.length + chain.more;
  const gaps = unchecked(chain.not_checked);
  if (!followed && !chain.confirm && !gaps.length) return "";
  const without = chain.confirm ? "how to confirm it" : "what was not checked";
  return el(
    "details",
    { open: open.has(key), "data-cause": key },
    el("summary", {}, followed ? `${plural(followed, "finding")} followed` : without),
    el("ol", {}, ...chain.consequences.map((one) => consequence(one, run))),
    chain.confirm ? el("p", {}, "to confirm: ", el("code", {}, chain.confirm)) : "",
    ...gaps.map((line) => el("p", { className: "about" }, line)),
  );
}

function cause(chain, run, open) {
  const { cause: first } = chain;
  return el(
    "article",
    { className: `cause ${chain.severity}` },
    el("p", { className: "where" }, el("b", {}, sentence(first.title)), ` ${first.where} `, chain.again.startsWith("in ") ? "" : aboutOf(first, run), chain.again ? ` ${chain.again}` : "", el("span", { className: "dim" }, ` ${first.rule}`)),
    el("p", {}, first.message),
    first.remedy ? el("p", { className: "remedy" }, first.remedy) : "",
    around(chain, run, open),
  );
}

function consequence(one, run) {
  return el(
    "li",
    { className: one.severity },
    `${one.where} `,
    el("b", {}, one.title),
    one.certain ? " " : " (may follow) ",
    aboutOf(one, run),
    el("p", { className: "about" }, one.message),
  );
}

function unchecked(gaps) {
  const lines = gaps.could_not_judge.map(([rule, why]) => `not checked: ${rule} lacked data: ${why.split("; seen were")[0]}`);
  if (gaps.not_asked.length) lines.push(`not asked: ${gaps.not_asked.join(", ")}`);
  if (gaps.not_captured.length) lines.push(`not captured: ${gaps.not_captured.join(", ")}`);
  if (gaps.workers_not_seen) lines.push(`${plural(gaps.workers_not_seen, "worker")} not seen`);
  return lines;
}

function notes(rest, about) {
  const versions = Object.entries(about.versions).map(([name, version]) => `${name} ${version}`);
  const lines = [...about.notes, versions.join(", "), about.place].filter(Boolean);
  rest.replaceChildren(...lines.map((line) => el("p", { className: "about" }, line)));
}
