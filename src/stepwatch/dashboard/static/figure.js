// The frame that all figures share: title, what lies under the crosshair, tools, full screen.

import { download, el } from "./dom.js";

/** @type {Set<{repaint: () => void, point: (x: number|null) => void, close: () => void}>} */
const open = new Set();
let watched = false;

/** Begin to draw a figure: it is told of the crosshair and of the scheme until `forget`.
 * @param {{repaint: () => void, point: (x: number|null) => void, close: () => void}} figure */
export function register(figure) {
  open.add(figure);
  if (watched) return;
  watched = true;
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaintAll);
  document.addEventListener("theme", repaintAll);
}

/** @param {any} figure */
export function unregister(figure) {
  open.delete(figure);
}

function repaintAll() {
  for (const figure of open) figure.repaint();
}

/** Let go of all figures, as when another page is shown. */
export function forget() {
  for (const figure of [...open]) figure.close();
  open.clear();
}

/** Put the crosshair of every figure on the same step; null for nowhere.
 * @param {number|null} x @param {any} source */
export function pointAll(x, source) {
  for (const figure of open) if (figure !== source) figure.point(x);
}

/** The colours of the page as it is now. */
export function ink() {
  const style = getComputedStyle(document.documentElement);
  const of = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: of("text"), muted: of("muted"), grid: of("grid"), line: of("line"), paper: of("paper"),
    error: of("error"), warning: of("warning"), info: of("info"), font: `12px ${of("font")}`,
  };
}

/** The colours of lines, in order; each is clear on white and on near-black. */
export const colorway = ["#3a7fc4", "#d98312", "#179a80", "#b05fb0", "#7d8590", "#c8553d", "#7fae3a", "#3f5fc0"];

const TITLE_END = 8;

/**
 * The frame of a figure. `tools` are buttons: a label, what it does, and whether it is pressed.
 * @param {{title: string, height: number, level?: string, className?: string}} options
 */
export function frame({ title, height, level = "h3", className = "" }) {
  const heading = el(level, {}, title);
  const about = el("p", { className: "about readout" });
  const tools = el("div", { className: "tools" });
  const plot = el("div", { className: "plot" });
  plot.style.height = `${height}px`;
  const figure = el("figure", { className }, el("figcaption", {}, el("div", { className: "caption" }, heading, tools), about), plot);
  const rename = (/** @type {string} */ text) => {
    // Where there is no room its middle is left out: names differ at their ends.
    const end = Math.max(0, text.length - TITLE_END);
    heading.replaceChildren(el("span", {}, text.slice(0, end)), el("span", {}, text.slice(end)));
    heading.title = text;
    figure.setAttribute("aria-label", text);
  };
  rename(title);
  return { figure, heading, about, tools, plot, rename };
}

/** @param {string} text @param {string} label @param {() => void} onclick @param {boolean} [pressed] */
export function tool(text, label, onclick, pressed) {
  const button = el("button", { type: "button", className: "tool", title: label, "aria-label": label, onclick }, text);
  if (pressed !== undefined) button.setAttribute("aria-pressed", String(pressed));
  return button;
}

/** @param {HTMLElement} figure */
export function toggleFullScreen(figure) {
  if (document.fullscreenElement) document.exitFullscreen();
  else figure.requestFullscreen?.();
}

/** Save what is drawn as a picture, on the ground of the page, with its title and lines below it.
 * @param {HTMLElement} plot @param {string} title @param {string[]} [lines] */
export function savePng(plot, title, lines = []) {
  const parts = [...plot.querySelectorAll("canvas")];
  if (!parts.length) return;
  const box = plot.getBoundingClientRect();
  const ratio = window.devicePixelRatio || 1;
  const height = box.height + 28 + 18 * lines.length;
  const canvas = el("canvas", { width: box.width * ratio, height: height * ratio });
  const pen = canvas.getContext("2d");
  const colors = ink();
  pen.scale(ratio, ratio);
  pen.fillStyle = colors.paper;
  pen.fillRect(0, 0, box.width, height);
  pen.fillStyle = colors.text;
  pen.font = `600 14px ${colors.font.slice(5)}`;
  pen.fillText(title, 8, 18);
  pen.font = colors.font;
  lines.forEach((line, at) => pen.fillText(line, 8, box.height + 40 + 18 * at));
  for (const part of parts) {
    const at = part.getBoundingClientRect();
    pen.drawImage(part, at.left - box.left, at.top - box.top + 28, at.width, at.height);
  }
  canvas.toBlob((/** @type {Blob} */ blob) => download(`${fileName(title)}.png`, blob));
}

/** @param {string} title */
export function fileName(title) {
  return title.replace(/[^\w.-]+/g, "_") || "figure";
}
