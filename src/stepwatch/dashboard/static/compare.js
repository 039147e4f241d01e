// Two runs: where they part first, and the same tensor in both.

import { draw, place } from "./chart.js";
import { address, el, link } from "./dom.js";
import { number, sentence } from "./format.js";
import { ask } from "./net.js";

export async function show({ content, query, signal }) {
  const { a, b } = query;
  const names = el("p", { className: "about" }, "first ", link("run", { run: a }, a), " · second ", link("run", { run: b }, b));
  const verdict = el("div", { className: "banner none" }, el("p", { className: "headline" }, "comparing …"));
  const series = place(340);
  const field = el("input", { type: "search", placeholder: "tensor", value: query.name ?? "", "aria-label": "tensor", list: "tensors" });
  const known = el("datalist", { id: "tensors" });
  field.addEventListener("change", () => {
    location.hash = address("compare", { a, b, name: field.value });
  });
  const table = el("table", { hidden: true });
  const rest = el("div");
  content.append(el("div", { className: "top" }, el("h1", {}, "Two runs"), names), verdict, el("div", { className: "line" }, el("h2", {}, "Side by side"), field, known), series.figure, table, rest);

  const [told, figure] = await Promise.all([
    ask("compare", { a, b, what: "parted" }, signal),
    ask("compare", { a, b, what: "series", name: query.name }, signal),
  ]);
  verdict.className = `banner ${told.same ? "good" : "warning"}`;
  verdict.replaceChildren(el("p", { className: "headline" }, sentence(told.verdict)), ...told.details.map((line) => el("p", {}, line)));
  known.replaceChildren(...told.tensors.map((name) => el("option", { value: name })));
  await draw(series, figure);
  table.hidden = !told.differences.length;
  const headings = ["tensor", "first", "second", "relative"];
  table.replaceChildren(
    el("thead", {}, el("tr", {}, ...headings.map((text, at) => el("th", { className: at ? "number" : "" }, text)))),
    el("tbody", {}, ...told.differences.map((one) => row(one, query))),
  );
  rest.replaceChildren(...told.not_compared.map((line) => el("p", { className: "about" }, `not compared: ${line}`)));
}

function row(one, { a, b }) {
  return el(
    "tr",
    { "data-row": one.tensor },
    el("td", {}, link("compare", { a, b, name: one.tensor }, el("code", {}, one.tensor))),
    ...[one.here, one.there, one.apart].map((value) => el("td", { className: "number" }, number(value))),
  );
}
