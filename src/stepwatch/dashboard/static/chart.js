// Draws the figures that the server makes, in the reader's scheme, their titles as text above them.

import { el } from "./dom.js";

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const narrow = window.matchMedia("(max-width: 640px)");
const config = { responsive: true, displaylogo: false, displayModeBar: false };
const drawn = new Set();
let theme = null;
let ready = null;

// What drawing needs is fetched while a page asks for what it says first. Plotly's script is run once
// there is something to draw: that takes longer than all the rest.
export function expect() {
  if (theme) return;
  document.head.append(el("link", { rel: "preload", as: "script", href: "plotly.js" }));
  theme = fetch("theme.json").then((answer) => answer.json());
}

async function load() {
  expect();
  const found = await theme;
  document.head.append(...found.styles.map((id) => el("meta", { id })));
  await new Promise((done, failed) => {
    document.head.append(el("script", { src: "plotly.js", onload: done, onerror: failed }));
  });
  return found;
}

// A place for a figure; it keeps its height while nothing is drawn, so that nothing jumps.
export function place(height = 340) {
  const plot = el("div", { className: "plot" });
  plot.style.height = `${height}px`;
  const title = el("h3");
  const about = el("p", { className: "about" });
  const figure = el("figure", {}, el("figcaption", {}, title, about), plot);
  return { figure, title, about, plot, height };
}

// `again` is called when the reader zooms, and asks for what lies in `at.within`: a figure of a long
// run holds a few of its steps.
export async function draw(at, figure, onclick = null, again = null) {
  const layout = figure.layout;
  at.title.textContent = plain(layout.title?.text ?? "");
  at.about.textContent = plain(layout.title?.subtitle?.text ?? "");
  at.height = layout.height ? layout.height - 44 : at.height;
  at.data = figure;
  at.onclick = onclick;
  at.again = again;
  await paint(at);
  drawn.add(at);
}

export function say(at, message) {
  if (window.Plotly) window.Plotly.purge(at.plot);
  drawn.delete(at);
  at.data = null;
  at.about.textContent = message;
  at.plot.replaceChildren();
  at.plot.style.height = "0";
}

export function forget() {
  for (const at of drawn) window.Plotly?.purge(at.plot);
  drawn.clear();
}

async function paint(at) {
  const templates = await (ready ??= load());
  if (!at.data) return;
  const layout = { ...at.data.layout, template: templates[dark.matches ? "dark" : "light"] };
  delete layout.title;
  delete layout.height;
  layout.autosize = true;
  layout.uirevision = "kept";
  layout.margin = { t: layout.showlegend === false ? 10 : 34, r: 12, b: 44, l: 56 };
  layout.dragmode = narrow.matches ? false : "zoom";
  if (narrow.matches) {
    layout.margin = { t: 10, r: 4, b: 44, l: 44 };
    layout.legend = { x: 0, xanchor: "left", y: -0.22, yanchor: "top", orientation: "h" };
    if (layout.coloraxis) layout.coloraxis = { ...layout.coloraxis, showscale: false };
    if (layout.yaxis?.ticktext) layout.yaxis = { ...layout.yaxis, ticktext: layout.yaxis.ticktext.map(short) };
  }
  let { data } = at.data;
  if (narrow.matches) data = data.map((trace) => ({ ...trace, showscale: false }));
  const tall = narrow.matches && layout.yaxis?.scaleanchor;
  at.plot.style.height = `${tall ? at.plot.clientWidth : at.height}px`;
  const plot = await window.Plotly.react(at.plot, data, layout, config);
  plot.removeAllListeners("plotly_click");
  plot.classList.toggle("clicks", Boolean(at.onclick));
  if (at.onclick) plot.on("plotly_click", (event) => at.onclick(event.points[0]));
  plot.removeAllListeners("plotly_relayout");
  if (at.again) plot.on("plotly_relayout", (event) => zoom(at, event));
}

function zoom(at, event) {
  const [low, high] = [event["xaxis.range[0]"], event["xaxis.range[1]"]];
  if (low !== undefined) at.within = { first: Math.max(0, Math.floor(low)), last: Math.max(0, Math.ceil(high)) };
  else if (event["xaxis.autorange"]) at.within = {};
  else return;
  at.again().catch(() => {}); // what is drawn stays
}

function short(name) {
  return name.length > 20 ? `…${name.slice(-19)}` : name;
}

// The server writes what Plotly would take for markup as entities; here it is text.
function plain(text) {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

const again = () => drawn.forEach(paint);
dark.addEventListener("change", again);
narrow.addEventListener("change", again);
