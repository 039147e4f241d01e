// Elements from plain values. Text is always a text node, so a name is never markup.

import { address } from "./url.js";

export { address };

/**
 * @param {string} tag @param {Record<string, any>} properties @param {...any} children
 * @returns {any}
 */
export function el(tag, properties = {}, ...children) {
  /** @type {any} */
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** @param {string} page @param {Record<string, any>} query @param {...any} children */
export function link(page, query, ...children) {
  return el("a", { href: address(page, query) }, ...children);
}

/** @param {string} label @param {(string|string[])[]} options @param {string} value @param {(value: string) => void} onchange */
export function choice(label, options, value, onchange) {
  const select = el("select", { onchange: () => onchange(select.value), "aria-label": label });
  for (const option of options) {
    const [key, text] = Array.isArray(option) ? option : [option, option];
    select.append(el("option", { value: key, selected: key === value }, text));
  }
  return select;
}

/** @param {string} run @param {string} name @param {number|null} [step] @param {string} [text] by default the name */
export function tensorLink(run, name, step, text) {
  return link("tensor", { run, name, step }, text ?? el("code", {}, name));
}

/** Resolves when what the page holds by now is on the screen; soon where nobody sees the page. */
export function drawn() {
  return new Promise((done) => {
    if (document.hidden) done(undefined);
    else requestAnimationFrame(() => setTimeout(done));
  });
}

/** @param {string} name @param {Blob} content */
export function download(name, content) {
  const href = URL.createObjectURL(content);
  el("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 1000);
}

/** @type {Map<string, Promise<unknown>>} */
const scripts = new Map();

/** Runs a script that is no module, once; again where it did not come.
 * @param {string} src */
export function script(src) {
  const coming = scripts.get(src) ?? new Promise((done, failed) => {
    document.head.append(el("script", { src, onload: done, onerror: () => {
      scripts.delete(src);
      failed(new Error(`${src} did not come`));
    } }));
  });
  scripts.set(src, coming);
  return coming;
}

/** A small curve for a table; nothing for fewer than two points.
 * @param {(number|null)[]} values @param {string} [label] */
export function sparkline(values, label = "") {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return el("span", { className: "spark" });
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const [width, height] = [72, 18];
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("class", "spark");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  if (label) {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
  } else svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  let pen = "M";
  const parts = [];
  values.forEach((value, at) => {
    if (value === null) {
      pen = "M";
      return;
    }
    const x = (at / (values.length - 1)) * (width - 2) + 1;
    const y = high > low ? height - 2 - ((value - low) / (high - low)) * (height - 4) : height / 2;
    parts.push(`${pen}${x.toFixed(1)} ${y.toFixed(1)}`);
    pen = "L";
  });
  path.setAttribute("d", parts.join(""));
  svg.append(path);
  return svg;
}
