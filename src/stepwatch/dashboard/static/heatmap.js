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
// Exactly 0 on a logarithmic scale, which has no place for it.
const zero = "#f29bd4";
const foot = 26;

/** @param {string} color as #rrggbb */
const rgbOf = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));

/** @param {string[]} stops @param {number} size */
function table(stops, size = 256) {
  const rgb = stops.map(rgbOf);
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

/** Where a matrix has its colours: the lowest and the highest, whether by factors, what is healthy,
 * and whether zero, which has no place by factors, has a colour of its own.
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
  if (low > high) return { low: 0, high: 1, log: false, signed: false, zero: false, band: null };
  const signed = low < 0 && high > 0;
  if (signed) return { low: -Math.max(-low, high), high: Math.max(-low, high), log: false, signed, zero: false, band: null };
  const own = byFactors && low === 0;
  const log = byFactors && low >= 0 && least < Infinity && (high > least || band !== null);
  const from = own && least < Infinity ? least : low;
  return { low: from, high: high > from ? high : from + 1, log, signed, zero: own, band: log ? band : null };
}

/** Where a value has its colour, from 0 to 1: of a band the middle third is what is healthy.
 * @param {number} value @param {{low: number, high: number, log: boolean, band: number[]|null}} scale */
export function shareOf(value, { low, high, log, band }) {
  if (!log) return (value - low) / (high - low);
  const at = Math.log10(Math.max(value, low));
  if (!band) return (at - Math.log10(low)) / (Math.log10(high) - Math.log10(low));
  const [from, to] = band.map(Math.log10);
  if (at < from) return Math.max(0, 0.4 - (0.4 * (from - at)) / 4);
  if (at > to) return Math.min(1, 0.6 + (0.4 * (at - to)) / 3);
  return 0.4 + (0.2 * (at - from)) / (to - from);
}

/** From which column to which each row has nothing while others were measured.
 * @param {Matrix} matrix @returns {[number, number][][]} */
export function gapsOfRows(matrix) {
  const unfit = matrix.rows.map((_, row) => new Set(matrix.unfit?.[row]));
  const has = (/** @type {number} */ row, /** @type {number} */ column) => matrix.cells[row][column] !== null || unfit[row].has(column);
  const known = matrix.first.map((_, column) => column).filter((column) => matrix.rows.some((_, row) => has(row, column)));
  return matrix.rows.map((_, row) => {
    /** @type {[number, number][]} */ const found = [];
    let open = false;
    for (const column of known) {
      const none = !has(row, column);
      if (none && open) found[found.length - 1][1] = column;
      else if (none) found.push([column, column]);
      open = none;
    }
    return found;
  });
}

/** What rows are called: by their whole names, as headlines do; where there is no room for these,
 * without what all of them begin with.
 * @param {string[]} names @param {(label: string) => boolean} fits */
export function rowLabels(names, fits) {
  const prefix = commonPrefix(names);
  if (!prefix || names.every(fits)) return names;
  return names.map((name) => `…${name.slice(prefix.length)}`);
}

/** Where a mark points in a cell from one pixel to another: at its beginning, or beside a narrow
 * one, so that its colour is seen.
 * @param {number} from @param {number} to @param {number} size @param {number} left of the figure */
export function pointerOf(from, to, size, left) {
  const long = 1.6 * size;
  if (to - from >= 1.5 * long) return { tip: from + 1.5 + 1.1 * size, base: from + 1.5 };
  if (from - 1 - long >= left) return { tip: from - 1, base: from - 1 - long };
  return { tip: Math.max(to, from + 2) + 1, base: Math.max(to, from + 2) + 1 + long };
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
  const [lowest, highest] = [el("span"), el("span")];
  const keys = el("span", { className: "keys-of-cells" });
  const key = (/** @type {string} */ kind, /** @type {string} */ text) => el("span", {}, el("i", { className: kind }), text);
  figure.querySelector("figcaption").append(el("div", { className: "legend" }, lowest, bar, highest, keys));
  const progress = el("progress", { max: 1, value: 0, hidden: true, "aria-label": "how much was read" });
  figure.append(progress);
  /** @type {Matrix} */ let matrix = { rows: [], first: [], last: [], cells: [] };
  /** @type {any} */ let look = {};
  let left = 120;
  let pointed = /** @type {[number|null, number|null]} */ ([null, null]);
  let order = { order: /** @type {number[]} */ ([]), above: 0 };
  let labels = /** @type {string[]} */ ([]);
  let gaps = /** @type {[number, number][][]} */ ([]);
  let scale = { low: 0, high: 1, log: false, signed: false, zero: false, band: /** @type {number[]|null} */ (null) };

  tools.append(
    tool("CSV", `save ${title} as CSV`, () => download(`${fileName(parts.heading.textContent)}.csv`, new Blob([asCsv()], { type: "text/csv" }))),
    tool("PNG", `save ${title} as PNG`, () => savePng(plot, parts.heading.textContent)),
    tool("⤢", `full screen: ${title}`, () => toggleFullScreen(figure)),
  );
  const sizes = new ResizeObserver(() => repaint());
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
    labels = rowLabels(matrix.rows.map(subjectOf), (label) => 14 + pen.measureText(label).width <= plot.clientWidth * 0.38);
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

  function repaint() {
    paint();
    if (pointed[0] !== null) point(...pointed);
  }

  /** Each pixel column shows the observed columns that lie in it; what was not observed is blank.
   * @param {any} pen @param {number} ratio @param {number} each @param {number} tall @param {any} colors */
  function drawCells(pen, ratio, each, tall, colors) {
    const across = Math.max(1, Math.round(wide() * ratio));
    const image = pen.createImageData(across, matrix.rows.length);
    const palette = paletteOf();
    const [red, none] = [colors.error, zero].map(rgbOf);
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
        const color = bad ? red : scale.zero && value === 0 ? none : palette[level(/** @type {number} */ (value))];
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
      for (const [from, to] of gaps[row]) {
        const start = Math.max(left, toX(matrix.first[from]));
        const end = Math.min(left + wide(), Math.max(toX(matrix.last[to] + 1), start + 4));
        if (end > start) hatch(pen, start, line * each, end - start, each, line < order.above ? colors.error : colors.muted);
      }
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
      const column = columnAt(mark.x);
      const [first, last] = column < 0 ? [mark.x, mark.x] : [matrix.first[column], matrix.last[column]];
      const { tip, base } = pointerOf(toX(first), toX(last + 1), size, left);
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

  /** @param {any} colors */
  function drawBar(colors) {
    const pen = bar.getContext("2d");
    const palette = paletteOf();
    for (let x = 0; x < 160; x += 1) {
      pen.fillStyle = `rgb(${palette[Math.round((x / 159) * 255)].join(" ")})`;
      pen.fillRect(x, 0, 1, 8);
    }
    const [low, high] = scale.band ?? [scale.low, scale.high];
    lowest.textContent = scale.band ? `below ${number(low)}` : number(low);
    highest.textContent = scale.band ? `above ${number(high)}; grey: usual` : `${number(high)}${unit ? ` ${unit}` : ""}${scale.log ? ", log scale" : ""}`;
    const isBare = scale.zero && !matrix.cells.some((row) => row.some((value) => value));
    for (const part of [lowest, bar, highest]) part.hidden = isBare; // no number but 0
    keys.replaceChildren(
      ...(scale.zero ? [key("zero", "exactly 0")] : []),
      ...(gaps.some((row) => row.length) ? [key("hatched", `${look.none} where others have one`)] : []),
      ...(matrix.unfit?.some((row) => row.length) ? [key("unfit", "not finite")] : []),
    );
    void colors;
  }

  const words = () => look.about ?? "";

  /** Show the crosshair at a step, and in a row of those that are shown; both are kept for the next `repaint`.
   * @param {number|null} step @param {number|null} line */
  function point(step, line) {
    pointed = [step, line];
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
      gaps = how.none && how.read >= 1 ? gapsOfRows(matrix) : matrix.rows.map(() => []);
      scale = how.scale ?? scaleOf(matrix, Boolean(how.byFactors), how.band);
      progress.hidden = !(how.read < 1);
      progress.value = how.read ?? 1;
      plot.classList.toggle("clicks", Boolean(how.onclick));
      register(me);
      paint();
      point(...pointed);
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
    repaint,
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
