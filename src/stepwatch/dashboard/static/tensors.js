// The tree of tensors, a level at a time, and search over all of them.

import { address, el, link } from "./dom.js";
import { count, plural } from "./format.js";
import { ask } from "./net.js";

export async function show({ content, query, signal, state }) {
  const { run } = query;
  const field = el("input", { type: "search", placeholder: "search tensors", value: query.search ?? "", "aria-label": "search tensors" });
  const path = el("p", { className: "about path" });
  const list = el("div", { className: "tree" });
  const top = el("div", { className: "line" }, el("h1", {}, "Tensors"), field);
  content.append(el("div", { className: "top" }, top, path), list);

  const look = async () => {
    const search = field.value.trim();
    const told = await ask("tensors", { run, under: search ? "" : query.under, search }, signal);
    path.replaceChildren(...crumbs(run, search ? "" : query.under ?? ""));
    list.replaceChildren(...told.entries.map((entry) => line(run, entry)));
    if (told.more) list.append(el("p", { className: "about" }, `and ${count(told.more)} more; search for them`));
    if (!told.entries.length) list.append(el("p", { className: "about" }, search ? "no tensor is named so" : "no tensors yet"));
  };
  let asked = 0;
  field.addEventListener("input", () => {
    clearTimeout(asked);
    asked = setTimeout(() => {
      history.replaceState(null, "", address("tensors", { run, under: query.under, search: field.value }));
      look();
    }, 120);
  });
  const about = await ask("run", { run }, signal);
  state(about.state);
  await look();
  field.focus();
  return look;
}

function line(run, entry) {
  const where = entry.leaf ? ["tensor", { run, name: entry.path }] : ["tensors", { run, under: entry.path }];
  const row = link(...where, el("code", {}, entry.label), el("span", {}, entry.leaf ? "" : plural(entry.count, "tensor")));
  row.dataset.row = entry.path;
  return row;
}

function crumbs(run, under) {
  const parts = under.match(/[^/.]*[/.]?/g).filter(Boolean);
  const links = parts.map((part, at) => link("tensors", { run, under: parts.slice(0, at + 1).join("") }, el("code", {}, part)));
  return under ? [link("tensors", { run }, "all"), " ", ...links] : [];
}
