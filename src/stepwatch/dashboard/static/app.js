// Which page is shown, what all pages have in common, and what the keys do.

import { expect, forget } from "./chart.js";
import { address, el, link } from "./dom.js";
import { follow } from "./net.js";

// A module of this name each, read when it is shown first.
const pages = ["run", "tensors", "tensor", "machine", "rules", "compare"];
const ofRun = [["run", "overview"], ["tensors", "tensors"], ["machine", "machine"], ["rules", "rules"]];
const head = document.getElementById("head");
const page = document.getElementById("page");
let leaving = new AbortController();

async function show() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const [path, text] = location.hash.replace(/^#\/?/, "").split("?");
  const query = Object.fromEntries(new URLSearchParams(text ?? ""));
  forget();
  const content = el("div", { className: `page ${path || "runs"}` });
  const state = el("span", { className: "state" });
  head.replaceChildren(...heading(path, query), state);
  page.replaceChildren(content);
  document.title = query.run ? `${query.run} · stepwatch` : "stepwatch";
  const context = { content, query, signal, state: (value) => tell(state, value) };
  try {
    const shown = await import(`./${pages.includes(path) ? path : "runs"}.js`);
    if (signal.aborted) return;
    const showing = shown.show(context); // it has asked for what it shows first
    expect();
    const update = await showing;
    if (update && query.run) follow(query.run, guarded(content, update), signal);
  } catch (error) {
    if (!signal.aborted) fail(content, error);
  }
}

function heading(path, query) {
  const brand = link("", {}, el("b", {}, "stepwatch"));
  if (!query.run) return [brand];
  const tabs = ofRun.map(([name, label]) => {
    const tab = link(name, { run: query.run }, label);
    if (name === path || (name === "tensors" && path === "tensor")) tab.ariaCurrent = "page";
    return tab;
  });
  return [brand, el("span", { className: "name" }, query.run), el("nav", {}, ...tabs)];
}

function tell(place, value) {
  place.className = `state ${value}`;
  place.textContent = value;
}

// One update that fails, as when the server is away for a moment, is told and does not end it.
function guarded(content, update) {
  return async () => {
    try {
      await update();
      content.querySelector(".failure")?.remove();
    } catch (error) {
      if (error.name !== "AbortError") fail(content, error);
    }
  };
}

function fail(content, error) {
  content.querySelector(".failure")?.remove();
  content.prepend(el("p", { className: "failure banner error" }, error.message));
}

function up() {
  const [path, text] = location.hash.replace(/^#\/?/, "").split("?");
  const run_ = new URLSearchParams(text ?? "").get("run");
  if (path === "tensor") return address("tensors", { run: run_ });
  return path === "run" || !run_ ? address("") : address("run", { run: run_ });
}

// The rows that the arrows go through: whatever is marked so on the page.
function move(by) {
  const rows = [...page.querySelectorAll("[data-row]")].filter((row) => row.offsetParent);
  if (!rows.length) return false;
  const at = rows.findIndex((row) => row.classList.contains("chosen"));
  const next = rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by))];
  rows[at]?.classList.remove("chosen");
  next.classList.add("chosen");
  next.scrollIntoView({ block: "nearest" });
  return true;
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input, select, textarea");
  const key = event.key;
  if (key === "Escape") {
    if (typing) event.target.blur();
    else location.hash = up();
  } else if (key === "/" && !typing) {
    const field = page.querySelector("input[type=search]");
    const name = new URLSearchParams(location.hash.split("?")[1] ?? "").get("run");
    if (field) field.focus();
    else if (name) location.hash = address("tensors", { run: name });
    event.preventDefault();
  } else if (key === "ArrowDown" || key === "ArrowUp") {
    if (event.target.matches("select")) return;
    if (move(key === "ArrowDown" ? 1 : -1)) event.preventDefault();
  } else if (key === "Enter" && !event.target.matches("a, button, select, summary")) {
    page.querySelector("[data-row].chosen a, a[data-row].chosen")?.click();
  } else if ((key === "ArrowLeft" || key === "ArrowRight") && !typing) {
    page.querySelector(key === "ArrowLeft" ? "[data-before]" : "[data-after]")?.click();
  }
}

window.addEventListener("hashchange", show);
document.addEventListener("keydown", pressed);
show();
