// Which page is shown, what all pages have in common, and what the keys do.

import { address, el, link } from "./dom.js";
import { forget } from "./figure.js";
import { timeOfDay } from "./format.js";
import { ConnectionLost, NotThere, follow, heard } from "./net.js";
import { parseAddress } from "./url.js";

// A module of this name each, read when it is shown first.
const pages = ["run", "tensors", "tensor", "machine", "last", "rules", "compare"];
const ofRun = [["run", "overview"], ["tensors", "layers"], ["machine", "machine"], ["last", "last steps"], ["rules", "rules"]];
const keys = [
  ["/", "search"], ["↑ ↓", "choose a row"], ["Enter", "open it"], ["← →", "the value one step before, or after"],
  ["Esc", "leave the search; go up"], ["t", "light, dark, or as the system"], ["?", "this list"],
];
const head = document.getElementById("head");
const page = document.getElementById("page");
const notice = document.getElementById("notice");
let leaving = new AbortController();
let shownHash = "";

async function show() {
  if (location.hash === shownHash) return;
  shownHash = location.hash;
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const { page: path, query } = parseAddress(location.hash);
  forget();
  connection(false);
  const name = pages.includes(path) ? path : "runs";
  const content = el("div", { className: `page ${name}` });
  const state = el("span", { className: "state" });
  head.replaceChildren(...heading(path, query), state, ...controls());
  page.replaceChildren(content);
  document.title = query.run && typeof query.run === "string" ? `${query.run} · stepwatch` : "stepwatch";
  const context = { content, query, signal, state: (value, tone) => tell(state, value, tone), choose: (change) => choose(path, query, change) };
  for (;;) {
    try {
      const shown = await import(`./${name}.js`);
      if (signal.aborted) return;
      content.replaceChildren();
      const update = await shown.show(context);
      connection(false);
      if (update && typeof query.run === "string") follow(query.run, guarded(content, update), connection, signal);
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof NotThere) content.replaceChildren(el("h1", {}, "Waiting"), el("p", {}, `Waiting for the run ${query.run} to begin …`), el("p", { className: "about" }, error.message));
      else if (error instanceof ConnectionLost) connection(true);
      else {
        fail(content, error);
        return;
      }
      await new Promise((done) => setTimeout(done, 1000));
    }
  }
}

// What a reader chooses is in the address, without another page.
function choose(path, query, change) {
  Object.assign(query, change);
  for (const [name, value] of Object.entries(query)) if (value === undefined || value === "") delete query[name];
  history.replaceState(null, "", address(path, query));
  shownHash = location.hash;
}

function heading(path, query) {
  const brand = link("", {}, el("b", {}, "stepwatch"));
  if (typeof query.run !== "string" || !query.run) return [brand];
  const tabs = ofRun.map(([name, label]) => {
    const tab = link(name, { run: query.run }, label);
    if (name === path || (name === "tensors" && path === "tensor")) tab.ariaCurrent = "page";
    return tab;
  });
  return [brand, el("span", { className: "name" }, query.run), el("nav", { "aria-label": "pages of the run" }, ...tabs)];
}

const themes = ["auto", "light", "dark"];
const theme = () => localStorage.getItem("theme") ?? "auto";
function setTheme(value) {
  localStorage.setItem("theme", value);
  if (value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
  document.dispatchEvent(new Event("theme"));
  const button = head.querySelector(".theme");
  if (button) button.textContent = `theme: ${value}`;
}
const nextTheme = () => setTheme(themes[(themes.indexOf(theme()) + 1) % themes.length]);

function controls() {
  return [
    el("button", { type: "button", className: "quiet theme", onclick: nextTheme }, `theme: ${theme()}`),
    el("button", { type: "button", className: "quiet", "aria-label": "list of keys", onclick: listKeys }, "?"),
  ];
}

function listKeys() {
  const dialog = el("dialog", { "aria-label": "keys" }, el("h2", {}, "Keys"), el("dl", { className: "keys" }, ...keys.map(([key, does]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)))));
  const form = el("button", { type: "button", onclick: () => dialog.close() }, "close");
  dialog.append(form);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// A run that finished is not well where something was found: the colour of that wins.
function tell(place, value, tone = "") {
  place.className = `state ${value} ${tone}`;
  place.textContent = value;
}

function connection(away) {
  notice.textContent = away ? `connection lost, retrying (data of ${timeOfDay(heard())})` : "";
}

// One update that fails is told and does not end it.
function guarded(content, update) {
  return async () => {
    try {
      await update();
      content.querySelector(".failure")?.remove();
    } catch (error) {
      if (error instanceof ConnectionLost) throw error;
      if (error.name !== "AbortError" && !(error instanceof NotThere)) fail(content, error);
    }
  };
}

function fail(content, error) {
  content.querySelector(".failure")?.remove();
  if (!content.querySelector("h1")) content.prepend(el("h1", { className: "unseen" }, document.title));
  content.prepend(el("p", { className: "failure banner error", role: "alert" }, error.message));
}

function up() {
  const { page: path, query } = parseAddress(location.hash);
  if (path === "tensor") return address("tensors", { run: query.run });
  return path === "run" || !query.run ? address("") : address("run", { run: query.run });
}

// The rows that the arrows go through: whatever is marked so on the page.
function move(by) {
  const rows = /** @type {HTMLElement[]} */ ([...page.querySelectorAll("[data-row]")]).filter((row) => row.offsetParent);
  if (!rows.length) return false;
  const at = rows.findIndex((row) => row.classList.contains("chosen"));
  const next = rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by))];
  rows[at]?.classList.remove("chosen");
  next.classList.add("chosen");
  next.scrollIntoView({ block: "nearest" });
  return true;
}

/** @param {string} selector */
function press(selector) {
  /** @type {HTMLElement|null} */ (page.querySelector(selector))?.click();
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const typing = event.target.matches("input, select, textarea");
  const key = event.key;
  if (key === "Escape") {
    if (document.fullscreenElement) return;
    if (typing) event.target.blur();
    else location.hash = up();
  } else if (key === "/" && !typing) {
    const field = /** @type {HTMLElement} */ (page.querySelector("input[type=search]"));
    const { query } = parseAddress(location.hash);
    if (field && !field.closest(".grid-controls")) field.focus();
    else if (query.run) location.hash = address("tensors", { run: query.run });
    event.preventDefault();
  } else if (key === "?" && !typing) {
    listKeys();
  } else if (key === "t" && !typing) {
    nextTheme();
  } else if (key === "ArrowDown" || key === "ArrowUp") {
    if (event.target.matches("select")) return;
    if (move(key === "ArrowDown" ? 1 : -1)) event.preventDefault();
  } else if (key === "Enter" && !event.target.matches("a, button, select, summary")) {
    press("[data-row].chosen a, a[data-row].chosen");
  } else if ((key === "ArrowLeft" || key === "ArrowRight") && !typing) {
    press(key === "ArrowLeft" ? "[data-before]" : "[data-after]");
  }
}

setTheme(theme());
window.addEventListener("hashchange", show);
document.addEventListener("keydown", pressed);
shownHash = "none yet";
show();
