// A heat map on a canvas: a row for each layer, a column where something was observed, else blank.

import { download, el } from "./dom.js";
import { fileName, frame, ink, pointAll, register, savePng, toggleFullScreen, tool, unregister } from "./figure.js";
import { clock, number } from "./format.js";
import { subjectOf } from "./layers.js";
import { commonPrefix, interpolate, lowerBound, ticks } from "./numbers.js";

const viridis = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"];
const diverging = ["#2166ac", "#6aa5cf", "#a9aeb5", "#dd8a62", "#b2182b"];
// What is below what is healthy, within it, and above it.
const banded = ["#2166ac", "#7fa9cc", "#c9ced4", "#c9ced4", "#dd8a62", "#b2182b"];
const foot = 26;

/** @param {string[]} stops @param {number} size */
function table(stops, size = 256) {
  const rgb = stops.map((stop) => [1, 3, 5].map((at) => parseInt(stop.slice(at, at + 2), 16)));
  return Array.from({ length: size }, (_, index) => {
    const at = (index / (size - 1)) * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    return rgb[low].map((part, channel) => Math.round(part + (at - low) * (rgb[low + 1][channel] - part)));
  });
}

const sequential = table(viridis);
const around = table(diverging);
const byBand = table(banded);

/**
 * @typedef {object} Matrix
 * @property {string[]} rows
 * @property {number[]} first where each column begins
 * @property {number[]} last where it ends
 * @property {(number|null)[][]} cells
 * @property {number[][]} [unfit] the columns of each row that are not finite
 * @property {any[]} [marks]
 * @property {number[]} [above] the rows of what was found first
 */

/** Where a matrix has its colours: the lowest and the highest, whether by factors, what is healthy.
 * @param {Matrix} matrix @param {boolean} byFactors @param {number[]|null} [band] */
export function scaleOf(matrix, byFactors, band = null) {
  let [low, high, least] = [Infinity, -Infinity, Infinity];
  for (const row of matrix.cells) {
    for (const value of row) {
      if (value === null) continue;
      if (value < low) low = value;
      if (value > high) high = value;
      if (value > 0 && value < least) least = value;
    }
  }
  if (low > high) return { low: 0, high: 1, log: false, signed: false, band: null };
  const signed = low < 0 && high > 0;
  if (signed) return { low: -Math.max(-low, high), high: Math.max(-low, high), log: false, signed, band: null };
  const log = byFactors && low >= 0 && least < Infinity && high > least;
  return { low: log ? least : low, high: high > low ? high : low + 1, log, signed, band: log ? band : null };
}

/** Where a value has its colour, from 0 to 1: of a band the middle third is what is healthy.
 * @param {number} value @param {{low: number, high: number, log: boolean, band: number[]|null}} scale */
export function shareOf(value, { low, high, log, band }) {
  if (!log) return (value - low) / (high - low);
  if (band && value <= 0) return 0; // none at all is below what is healthy, whatever else is drawn
  const at = Math.log10(Math.max(value, low));
  if (!band) return (at - Math.log10(low)) / (Math.log10(high) - Math.log10(low));
  const [from, to] = band.map(Math.log10);
  if (at < from) return Math.max(0, 0.4 - (0.4 * (from - at)) / 4);
  if (at > to) return Math.min(1, 0.6 + (0.4 * (at - to)) / 3);
  return 0.4 + (0.2 * (at - from)) / (to - from);
}

/** Rows of what was found first above the others, else those with any finding; in their order.
 * @param {Matrix} matrix */
export function rowOrder(matrix) {
  const first = matrix.above ?? [];
  if (first.length) {
    const rest = matrix.rows.map((_, row) => row).filter((row) => !first.includes(row));
    return { order: [...first, ...rest], above: first.length };
  }
  const found = new Set((matrix.marks ?? []).map((mark) => mark.row));
  const all = matrix.rows.map((_, row) => row);
  if (!found.size || found.size > all.length / 2) return { order: all, above: 0 };
  return { order: [...all.filter((row) => found.has(row)), ...all.filter((row) => !found.has(row))], above: found.size };
}

/** @param {{title: string, unit?: string, height?: number}} options */
export function heatFigure({ title, unit = "" }) {
  const parts = frame({ title, height: 300, className: "heat" });
  const { figure, about, tools, plot } = parts;
  const cells = el("canvas", { role: "img" });
  const over = el("canvas", { "aria-hidden": "true", className: "over" });
  plot.append(cells, over);
  const bar = el("canvas", { className: "bar", width: 160, height: 8, "aria-hidden": "true" });
  const legend = el("div", { className: "legend" }, el("span"), bar, el("span"));
  figure.querySelector("figcaption").append(legend);
  const progress = el("progress", { max: 1, value: 0, hidden: true, "aria-label": "how much was read" });
  figure.append(progress);
  /** @type {Matrix} */ let matrix = { rows: [], first: [], last: [], cells: [] };
  /** @type {any} */ let look = {};
  let left = 120;
  let order = { order: /** @type {number[]} */ ([]), above: 0 };
  let labels = /** @type {string[]} */ ([]);
  let scale = { low: 0, high: 1, log: false, signed: false, band: /** @type {number[]|null} */ (null) };

  tools.append(
    tool("CSV", `save ${title} as CSV`, () => download(`${fileName(parts.heading.textContent)}.csv`, new Blob([asCsv()], { type: "text/csv" }))),
    tool("PNG", `save ${title} as PNG`, () => savePng(plot, parts.heading.textContent)),
    tool("⤢", `full screen: ${title}`, () => toggleFullScreen(figure)),
  );
  const sizes = new ResizeObserver(() => paint());
  sizes.observe(plot);

  const rowHeight = () => {
    const room = document.fullscreenElement === figure ? window.innerHeight - 150 : look.most ?? 620;
    return Math.max(1, Math.min(look.rowHeight ?? 18, Math.floor(room / Math.max(1, matrix.rows.length))));
  };
  const wide = () => Math.max(40, plot.clientWidth - left - 4);
  const range = () => look.range ?? [0, 1];
  const toX = (/** @type {number} */ step) => left + ((step - range()[0]) / (range()[1] - range()[0] + 1)) * wide();
  const toStep = (/** @type {number} */ x) => range()[0] + ((x - left) / wide()) * (range()[1] - range()[0] + 1);
  const counts = () => look.axis && look.axis !== "step";
  const shown = (/** @type {number} */ step) => (counts() ? interpolate(step, look.knots.step, look.knots[look.axis]) : step);

  const paletteOf = () => (scale.band ? byBand : scale.signed ? around : sequential);

  /** @param {number} value */
  function level(value) {
    const at = shareOf(value, scale);
    return Math.max(0, Math.min(255, Math.round(at * 255)));
  }

  function paint() {
    if (!figure.isConnected || !matrix.rows.length) return;
    const pen = cells.getContext("2d");
    const colors = ink();
    const ratio = window.devicePixelRatio || 1;
    const each = rowHeight();
    const tall = each * matrix.rows.length;
    pen.font = colors.font;
    left = labels.length && each >= 9 ? Math.min(plot.clientWidth * 0.38, 14 + Math.max(...labels.map((label) => pen.measureText(label).width))) : 54;
    plot.style.height = `${tall + foot}px`;
    for (const canvas of [cells, over]) {
      canvas.width = plot.clientWidth * ratio;
      canvas.height = (tall + foot) * ratio;
      canvas.style.width = `${plot.clientWidth}px`;
      canvas.style.height = `${tall + foot}px`;
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, plot.clientWidth, tall + foot);
    pen.fillStyle = `${colors.grid}80`;
    pen.fillRect(left, 0, wide(), tall);
    drawCells(pen, ratio, each, tall, colors);
    drawLabels(pen, each, colors);
    drawAxis(pen, tall, colors);
    drawMarks(pen, each, tall, colors);
    drawBar(colors);
  }

  /** Each pixel column shows the observed columns that lie in it; what was not observed is blank.
   * @param {any} pen @param {number} ratio @param {number} each @param {number} tall @param {any} colors */
  function drawCells(pen, ratio, each, tall, colors) {
    const across = Math.max(1, Math.round(wide() * ratio));
    const image = pen.createImageData(across, matrix.rows.length);
    const palette = paletteOf();
    const red = [1, 3, 5].map((at) => parseInt(colors.error.slice(at, at + 2), 16));
    const unfit = (matrix.unfit ?? []).map((columns) => new Set(columns));
    const spans = matrix.first.map((first, column) => {
      const [low, high] = [first, matrix.last[column] + 1].map((step) => (toX(step) - left) * ratio);
      return [Math.max(0, Math.floor(low)), Math.min(across, Math.max(Math.round(high), Math.floor(low) + Math.ceil(2 * ratio)))];
    });
    order.order.forEach((row, line) => {
      const values = matrix.cells[row];
      spans.forEach(([from, to], column) => {
        const bad = unfit[row]?.has(column);
        const value = values[column];
        if (value === null && !bad) return;
        const color = bad ? red : palette[level(/** @type {number} */ (value))];
        for (let x = from; x < to; x += 1) {
          const at = (line * across + x) * 4;
          image.data[at] = color[0];
          image.data[at + 1] = color[1];
          image.data[at + 2] = color[2];
          image.data[at + 3] = 255;
        }
      });
    });
    const sheet = el("canvas", { width: across, height: matrix.rows.length });
    sheet.getContext("2d").putImageData(image, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(sheet, left, 0, wide(), tall);
    order.order.forEach((row, line) => {
      if (matrix.cells[row].some((value) => value !== null) || unfit[row]?.size) return;
      hatch(pen, left, line * each, wide(), each, line < order.above ? colors.error : colors.line);
    });
    if (each >= 5) {
      pen.strokeStyle = `${colors.paper}66`;
      pen.lineWidth = 1;
      for (let line = 1; line < matrix.rows.length; line += 1) {
        pen.beginPath();
        pen.moveTo(left, line * each);
        pen.lineTo(left + wide(), line * each);
        pen.stroke();
      }
    }
  }

  /** @param {any} pen @param {number} each @param {any} colors */
  function drawLabels(pen, each, colors) {
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.font = each < 14 ? colors.font.replace("12px", "10px") : colors.font;
    const every = Math.max(1, Math.ceil(11 / each));
    order.order.forEach((row, line) => {
      if (line % every) return;
      pen.fillStyle = line < order.above ? colors.error : colors.muted;
      pen.fillText(cut(pen, labels[row], left - 10), left - 6, (line + 0.5) * each);
    });
  }

  /** @param {any} pen @param {number} tall @param {any} colors */
  function drawAxis(pen, tall, colors) {
    pen.textAlign = "center";
    pen.textBaseline = "top";
    pen.font = colors.font;
    pen.fillStyle = colors.muted;
    if (look.xlabels) return;
    // Round places of what the axis counts, at the steps where they lie.
    for (const place of ticks(shown(range()[0]), shown(range()[1]), wide() / 80)) {
      const at = counts() ? interpolate(place, look.knots[look.axis], look.knots.step) : place;
      pen.fillRect(toX(at + 0.5), tall, 1, 4);
      pen.fillText(look.axis === "time" ? clock(place) : number(place), Math.min(toX(at + 0.5), left + wide() - 14), tall + 7);
    }
  }

  /** @param {any} pen @param {number} each @param {number} tall @param {any} colors */
  function drawMarks(pen, each, tall, colors) {
    const line = new Map(order.order.map((row, at) => [row, at]));
    for (const mark of matrix.marks ?? []) {
      if (mark.x < range()[0] || mark.x > range()[1]) continue;
      const y = ((line.get(mark.row) ?? 0) + 0.5) * each;
      const size = Math.max(4, Math.min(6, each / 2));
      const { tip, base } = pointer(mark.x, size);
      pen.beginPath();
      pen.moveTo(tip, y);
      pen.lineTo(base, y - size);
      pen.lineTo(base, y + size);
      pen.closePath();
      pen.fillStyle = colors[mark.severity] ?? colors.info;
      pen.fill();
      pen.strokeStyle = "#ffffff";
      pen.lineWidth = 1.5;
      pen.stroke();
    }
    if (order.above) {
      pen.strokeStyle = colors.error;
      pen.lineWidth = 1.5;
      pen.strokeRect(left + 0.75, 0.75, wide() - 1.5, order.above * each - 1.5);
    }
  }

  /** Where a mark stands that points at a step: beside its cell, so that the cell is seen.
   * @param {number} step @param {number} size */
  function pointer(step, size) {
    const column = columnAt(step);
    const [first, last] = column < 0 ? [step, step] : [matrix.first[column], matrix.last[column]];
    const before = toX(first) - 1;
    if (before - 1.6 * size >= left) return { tip: before, base: before - 1.6 * size };
    const after = Math.max(toX(last + 1), toX(first) + 2) + 1;
    return { tip: after, base: after + 1.6 * size };
  }

  /** @param {any} colors */
  function drawBar(colors) {
    const pen = bar.getContext("2d");
    const palette = paletteOf();
    for (let x = 0; x < 160; x += 1) {
      pen.fillStyle = `rgb(${palette[Math.round((x / 159) * 255)].join(" ")})`;
      pen.fillRect(x, 0, 1, 8);
    }
    const [low, high] = scale.band ?? [scale.low, scale.high];
    legend.firstChild.textContent = scale.band ? `below ${number(low)}` : number(low);
    legend.lastChild.textContent = scale.band ? `above ${number(high)}; grey: usual` : `${number(high)}${unit ? ` ${unit}` : ""}${scale.log ? ", log scale" : ""}`;
    void colors;
  }

  const words = () => look.about ?? "";

  /** @param {number|null} step @param {number|null} line */
  function point(step, line) {
    const pen = over.getContext("2d");
    const ratio = window.devicePixelRatio || 1;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, plot.clientWidth, over.height);
    if (step === null || step < range()[0] || step > range()[1] + 1) {
      about.textContent = words();
      return;
    }
    const each = rowHeight();
    pen.strokeStyle = ink().text;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(toX(step + 0.5), 0);
    pen.lineTo(toX(step + 0.5), each * matrix.rows.length);
    pen.stroke();
    if (line === null) return;
    const row = order.order[line];
    if (row === undefined) return;
    pen.strokeRect(left + 0.5, line * each + 0.5, wide() - 1, each - 1);
    const column = columnAt(step);
    const bad = column >= 0 && matrix.unfit?.[row]?.includes(column);
    const value = column < 0 ? null : matrix.cells[row][column];
    const told = bad ? "not finite" : value === null ? "not observed" : `${number(value)}${unit ? ` ${unit}` : ""}`;
    about.replaceChildren(el("span", { className: "where" }, `${look.xname ?? "step"} ${number(look.axis === "epoch" ? +shown(Math.floor(step)).toFixed(2) : Math.round(shown(Math.floor(step))))}`), el("span", {}, matrix.rows[row], " "), el("b", {}, told));
  }

  /** The column that holds a step, or lies within two pixels of it; -1 for none.
   * @param {number} step */
  function columnAt(step) {
    const at = lowerBound(matrix.first, Math.floor(step) + 1) - 1;
    const slack = 2 / (wide() / (range()[1] - range()[0] + 1));
    return at >= 0 && step <= matrix.last[at] + Math.max(1, slack) ? at : -1;
  }

  plot.addEventListener("mousemove", (/** @type {MouseEvent} */ event) => {
    const box = plot.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const inside = x >= left && y < rowHeight() * matrix.rows.length;
    const step = inside ? Math.floor(toStep(x)) : null;
    point(step, inside ? Math.floor(y / rowHeight()) : null);
    pointAll(step, me);
  });
  plot.addEventListener("mouseleave", () => {
    point(null, null);
    pointAll(null, me);
  });
  plot.addEventListener("click", (/** @type {MouseEvent} */ event) => {
    const box = plot.getBoundingClientRect();
    const row = order.order[Math.floor((event.clientY - box.top) / rowHeight())];
    const x = Math.max(left, event.clientX - box.left);
    if (row !== undefined) look.onclick?.(row, Math.floor(toStep(x)));
  });

  function asCsv() {
    const head = `row,${matrix.first.map((first) => `step ${first}`).join(",")}`;
    const lines = matrix.rows.map((name, row) => [`"${name.replaceAll('"', '""')}"`, ...matrix.cells[row].map((value) => value ?? "")].join(","));
    return `${[head, ...lines].join("\n")}\n`;
  }

  const me = {
    figure,
    plot,
    rename: parts.rename,
    /** @param {Matrix} fresh @param {any} how */
    draw(fresh, how) {
      matrix = fresh;
      look = how;
      order = rowOrder(matrix);
      const names = matrix.rows.map(subjectOf);
      const prefix = commonPrefix(names);
      labels = names.map((row) => row.slice(prefix.length));
      scale = how.scale ?? scaleOf(matrix, Boolean(how.byFactors), how.band);
      progress.hidden = !(how.read < 1);
      progress.value = how.read ?? 1;
      plot.classList.toggle("clicks", Boolean(how.onclick));
      register(me);
      paint();
      point(null, null);
      cells.setAttribute("aria-label", `${parts.heading.textContent}: ${matrix.rows.length} rows, ${matrix.first.length} observed columns, from ${number(scale.low)} to ${number(scale.high)}. ${words()}`);
    },
    get matrix() { return matrix; },
    /** Where a cell is in the plot, pixels: its middle. @param {number} step @param {number} line */
    placeOf(step, line) { return [toX(step + 0.5), (line + 0.5) * rowHeight()]; },
    /** @param {string} text */
    say(text) {
      about.textContent = text;
      plot.style.height = "0";
    },
    repaint: paint,
    point(/** @type {number|null} */ step) { point(step, null); },
    close() {
      sizes.disconnect();
      unregister(me);
    },
  };
  plot.stepwatch = me;
  return me;
}

/** @param {any} pen @param {string} text @param {number} room */
function cut(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let from = 1;
  while (from < text.length && pen.measureText(`…${text.slice(from)}`).width > room) from += 1;
  return `…${text.slice(from)}`;
}

/** @param {any} pen @param {number} x @param {number} y @param {number} width @param {number} height @param {string} color */
function hatch(pen, x, y, width, height, color) {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  pen.strokeStyle = color;
  pen.lineWidth = 1;
  for (let at = x - height; at < x + width; at += 7) {
    pen.beginPath();
    pen.moveTo(at, y + height);
    pen.lineTo(at + height, y);
    pen.stroke();
  }
  pen.restore();
}

/** Put the columns that came since behind those that a page has.
 * @param {any} old @param {any} fresh @param {number} since */
export function mergedMatrix(old, fresh, since) {
  if (!old || fresh.whole) return fresh;
  const kept = lowerBound(old.first, since);
  return {
    ...fresh,
    first: [...old.first.slice(0, kept), ...fresh.first],
    last: [...old.last.slice(0, kept), ...fresh.last],
    cells: fresh.cells.map((/** @type {any[]} */ row, /** @type {number} */ at) => [...old.cells[at].slice(0, kept), ...row]),
    unfit: fresh.unfit.map((/** @type {number[]} */ columns, /** @type {number} */ at) => [
      ...old.unfit[at].filter((/** @type {number} */ column) => column < kept),
      ...columns.map((column) => column + kept),
    ]),
  };
}
