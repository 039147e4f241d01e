// Figures of lines over steps, drawn by uPlot.

import { download, el, script } from "./dom.js";
import { colorway, fileName, frame, ink, pointAll, register, savePng, toggleFullScreen, tool, unregister } from "./figure.js";
import { clock, count, number, seconds, sentence } from "./format.js";
import { conditions, csv, gapsOf, inRow, interpolate, logTicks, nearest, ofAll, roundSteps, smoothed, suitsLog, ticks } from "./numbers.js";

/** @typedef {import("./numbers.js").Line} Line */
/**
 * @typedef {object} Look How a figure is drawn.
 * @property {string} axis what x counts
 * @property {Record<string, number[]>} knots where steps lie on it
 * @property {[number, number]} range first and last step
 * @property {number} [smooth]
 * @property {boolean} [log] whether its axis is logarithmic; by default where that suits
 * @property {() => void} [onscale] called when a reader changes that for this figure
 * @property {boolean} [rounds] whether a step is a round of boosting
 * @property {any[]} [marks]
 * @property {string} [unit]
 * @property {(x: number) => void} [onclick]
 * @property {(range: [number, number]|null) => void} [onrange]
 */

const labels = { step: "optimizer step", global: "step, over all modes", time: "time", samples: "samples", epoch: "epoch" };
/** @param {any} name @param {boolean} [rounds] whether a step is a round of boosting */
export const axisLabel = (name, rounds = false) => (rounds && name === "step" ? "boosting round" : labels[/** @type {keyof typeof labels} */ (name)] ?? String(name));

// A line that spans less of its size is drawn as constant.
const LEAST_SPAN = 0.01;
const modeDash = { EVAL: [6, 3], PREDICT: [2, 3] };
// Of several evaluations at one step each is a line: EVAL, EVAL 2, …
/** @param {Line} line */
const modeOf = (line) => line.mode.split(" ")[0];

/** What an address says of logarithmic axes; undefined where each is as it suits.
 * @param {any} query */
export const logOf = (query) => ([undefined, ""].includes(query.log) ? undefined : String(query.log) !== "0");

/** A box over several figures that shows whether their axes are logarithmic, and changes it.
 * @param {any} query @param {(change: any) => void} choose @param {() => void} paint */
export function logBox(query, choose, paint) {
  const box = el("input", { type: "checkbox" });
  box.addEventListener("change", () => { choose({ log: box.checked ? 1 : 0 }); paint(); });
  return {
    label: el("label", {}, box, " log"),
    /** @param {any[]} figures as they are drawn */
    show(figures) { Object.assign(box, ofAll(figures.filter((one) => one.canLog).map((one) => one.isLog))); },
  };
}

/**
 * @param {{title: string, height?: number, pinned?: boolean, onpin?: () => void}} options
 */
export function lineFigure({ title, height = 200, pinned, onpin }) {
  const parts = frame({ title, height, className: "lines" });
  const { figure, about, tools, plot } = parts;
  /** @type {any} */ let chart = null;
  /** @type {Line[]} */ let lines = [];
  /** @type {Look} */ let look = { axis: "step", knots: {}, range: [0, 1] };
  /** @type {import("./numbers.js").Mark[]} */ let found = [];
  let drawn = "";
  let tallest = 0;
  let own = /** @type {boolean|null} */ (null);

  if (onpin) tools.append(tool(pinned ? "★" : "☆", pinned ? `unpin ${title}` : `pin ${title} to the top`, onpin, Boolean(pinned)));
  const logTool = tool("log", `log scale of ${title}`, () => {
    own = !isLog();
    paint();
    look.onscale?.();
  }, false);
  tools.append(
    logTool,
    tool("CSV", `save ${title} as CSV`, () => download(`${fileName(title)}.csv`, new Blob([csv(lines)], { type: "text/csv" }))),
    tool("PNG", `save ${title} as PNG`, () => savePng(plot, title, found.map((mark) => `${mark.number} ${named(mark)}`))),
    tool("⤢", `full screen: ${title}`, () => toggleFullScreen(figure)),
  );
  plot.setAttribute("role", "img");
  const legend = el("ol", { className: "marks" });
  const several = el("p", { className: "about", hidden: true }, "EVAL 2: a second evaluation with no training since the first, as over other data");
  figure.append(legend, several);
  const sizes = new ResizeObserver(() => chart?.setSize({ width: plot.clientWidth, height: plotHeight() }));
  sizes.observe(plot);
  const plotHeight = () => (document.fullscreenElement === figure ? window.innerHeight - 110 - legend.offsetHeight : height);
  figure.addEventListener("fullscreenchange", () => {
    plot.style.height = `${plotHeight()}px`;
    chart?.setSize({ width: plot.clientWidth, height: plotHeight() });
  });

  const canLog = () => lines.every((line) => [...line.y, ...(line.low ?? [])].every((y) => y === null || y === undefined || y > 0));
  const isLog = () => (own ?? look.log ?? suitsLog(lines.flatMap((line) => line.y))) && canLog();
  const toAxis = (/** @type {number} */ x) => (look.axis === "step" ? x : interpolate(x, look.knots.step, look.knots[look.axis]));
  const toStep = (/** @type {number} */ x) => (look.axis === "step" ? x : interpolate(x, look.knots[look.axis], look.knots.step));

  const written = (/** @type {any} */ value) => (lines.every((line) => line.group === "speed") ? seconds(value) : number(value));
  const isKnown = () => lines.some((line) => line.y.some((y) => y !== null));
  /** @param {Line} line */
  const nameOf = (line) => {
    if (line.label) return line.label;
    const several = new Set(lines.map((one) => one.name)).size > 1;
    const mode = line.mode === line.name || (line.mode === "TRAIN" && several) ? "" : line.mode;
    return [several ? line.name.replace(/^[^/]*\//, "") : "", mode, line.worker].filter(Boolean).join(" ");
  };
  /** @param {number} at */
  const colorOf = (at) => {
    if (lines[at].color) return lines[at].color;
    const kind = (/** @type {Line} */ line) => [line.name, line.worker, line.mode === modeOf(line) ? "" : line.mode].join(" ");
    const kinds = [...new Set(lines.map(kind))];
    if (kinds.length > 1 && new Set(lines.map((line) => line.name + line.worker)).size > 1) return colorway[kinds.indexOf(kind(lines[at])) % colorway.length];
    return colorway[at % colorway.length];
  };

  /** @param {number|null} step */
  function read(step) {
    const chips = lines.map((line, at) => {
      const found = step === null ? line.x.length - 1 : nearest(line.x, step);
      const value = found < 0 ? null : step === null && line.last !== undefined ? line.last : line.y[found];
      const isUnfit = found >= 0 && value === null;
      const chip = el("span", { className: "chip" }, el("i", {}), el("span", {}, nameOf(line)), " ", el("b", {}, isUnfit ? "not finite" : line.told?.(found) ?? written(value)));
      chip.firstChild.style.background = colorOf(at);
      if (step === null && line.at !== null && line.at !== undefined) chip.append(` at step ${count(line.at)}`);
      return chip;
    });
    const where = step === null ? "last" : look.axis === "step" ? `${look.rounds ? "round" : "step"} ${Math.round(step)}` : `${axisLabel(look.axis)} ${number(toAxis(step))}`;
    about.replaceChildren(el("span", { className: "where" }, where), ...chips);
    if (about.offsetHeight > tallest) about.style.minHeight = `${tallest = about.offsetHeight}px`; // nothing jumps under the pointer
  }

  function table() {
    const columns = [];
    const between = lines.map((line) => (isSampled(line) ? gapsOf(line) : []));
    const xs = [...new Set([...lines.flatMap((line) => line.x), ...between.flat()])].sort((a, b) => a - b);
    const place = new Map(xs.map((x, at) => [x, at]));
    columns.push(xs.map(toAxis));
    for (const [at, line] of lines.entries()) {
      const y = smoothed(line.y, look.smooth ?? 0);
      const bands = look.smooth ? [line.y, line.y] : [line.low ?? line.y, line.high ?? line.y];
      for (const values of [bands[0], bands[1], y]) {
        const column = new Array(xs.length); // undefined is no point, null a gap
        line.x.forEach((x, index) => { column[/** @type {number} */ (place.get(x))] = values[index]; });
        for (const x of between[at]) column[/** @type {number} */ (place.get(x))] = null;
        columns.push(column);
      }
    }
    return columns;
  }

  /** @param {any} u */
  function marks(u) {
    const pen = u.ctx;
    const ratio = window.devicePixelRatio || 1;
    const colors = ink();
    const { left, top, width, height: high } = u.bbox;
    pen.save();
    pen.beginPath();
    pen.rect(left - 8 * ratio, top - 16 * ratio, width + 16 * ratio, high + 16 * ratio);
    pen.clip();
    for (const line of lines) {
      if (!line.unfit) continue;
      pen.fillStyle = colors.error;
      for (const x of line.unfit) pen.fillRect(u.valToPos(toAxis(x), "x", true) - ratio, top + high - 5 * ratio, 2 * ratio, 5 * ratio);
    }
    if (!isKnown()) {
      pen.fillStyle = colors.error;
      pen.textAlign = "center";
      pen.font = `${12 * ratio}px ${colors.font.slice(5)}`;
      pen.fillText("all values are NaN or infinite", left + width / 2, top + high / 2);
    }
    const size = 7 * ratio;
    const shown = found.map((mark) => u.valToPos(toAxis(mark.x), "x", true));
    const centers = inRow(shown, 2 * size, left, left + width);
    found.forEach((mark, at) => {
      pen.strokeStyle = pen.fillStyle = colors[/** @type {"error"} */ (mark.severity)] ?? colors.info;
      pen.lineWidth = 1.5 * ratio;
      pen.setLineDash([5 * ratio, 4 * ratio]);
      pen.beginPath();
      pen.moveTo(shown[at], top);
      pen.lineTo(shown[at], top + high);
      pen.stroke();
      pen.beginPath();
      pen.arc(centers[at], top - size - ratio, size, 0, 2 * Math.PI);
      pen.fill();
      pen.fillStyle = colors.paper;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.font = `600 ${10 * ratio}px ${colors.font.slice(5)}`;
      pen.fillText(String(mark.number), centers[at], top - size - ratio / 2);
    });
    pen.restore();
  }

  /** @param {any} u */
  const visible = (u, /** @type {string} */ key) => {
    if (key === "x") return look.range.map(toAxis);
    let [low, high] = [Infinity, -Infinity];
    lines.forEach((line, at) => {
      line.x.forEach((x, index) => {
        if (x < look.range[0] || x > look.range[1]) return;
        for (const y of look.smooth ? [line.y[index]] : [line.y[index], line.low?.[index], line.high?.[index]]) {
          if (y === null || y === undefined) continue;
          low = Math.min(low, y);
          high = Math.max(high, y);
        }
      });
    });
    if (low > high) return isLog() ? [0.1, 1] : [0, 1];
    if (isLog()) return low === high ? [low / 2, high * 2] : [low / 1.15, high * 1.15];
    const size = Math.max(Math.abs(low), Math.abs(high));
    const room = high - low < LEAST_SPAN * size ? size / 2 : (high - low) * 0.06 || 1;
    const floor = low >= 0 && low - room < 0 ? 0 : low - room;
    return [floor, high + room];
  };

  function options() {
    const colors = ink();
    const axis = { stroke: colors.muted, font: colors.font, ticks: { show: false }, grid: { stroke: colors.grid, width: 1 } };
    /** @type {any[]} */ const series = [{}];
    /** @type {any[]} */ const bands = [];
    lines.forEach((line, at) => {
      const color = colorOf(at);
      const edge = { stroke: look.smooth ? `${color}55` : "transparent", width: look.smooth ? 1 : 0, points: { show: false }, spanGaps: false };
      const few = line.x.length < (modeOf(line) === "EVAL" ? 200 : 3);
      series.push(edge, { ...edge, stroke: "transparent" });
      const dots = { show: true, size: 5, fill: color, stroke: color };
      const points = few ? dots : isSampled(line) ? { ...dots, size: 4, filter: alone } : { show: false };
      series.push({ stroke: color, width: 1.6, dash: /** @type {any} */ (modeDash)[modeOf(line)], points });
      bands.push({ series: [3 * at + 2, 3 * at + 1], fill: `${color}2e` });
    });
    return {
      width: plot.clientWidth || 300,
      height: plotHeight(),
      padding: [18, 22, 0, 0],
      legend: { show: false },
      scales: { x: { time: false, range: (/** @type {any} */ u) => visible(u, "x") }, y: { distr: isLog() ? 3 : 1, range: (/** @type {any} */ u) => visible(u, "y") } },
      axes: [
        { ...axis, size: 30, grid: { show: false }, values: (/** @type {any} */ _, /** @type {number[]} */ at) => at.map((x) => (look.axis === "time" ? clock(x) : tidy(x))) },
        { ...axis, size: 64, incrs: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ low, /** @type {number} */ high) => roundSteps(high - low), splits: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ low, /** @type {number} */ high) => (isLog() ? logTicks(low, high) : ticks(low, high, plotHeight() / 45)), filter: (/** @type {any} */ _, /** @type {number[]} */ at) => at, values: (/** @type {any} */ _, /** @type {number[]} */ at) => at.map((y) => (y === null || !isKnown() ? "" : written(y).replace(/\.?0+e/, "e"))) },
      ],
      series,
      bands,
      cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false },
      hooks: {
        draw: [marks],
        setCursor: [(/** @type {any} */ u) => {
          if (!u.cursor.event) return;
          const step = u.cursor.left >= 0 ? toStep(u.posToVal(u.cursor.left, "x")) : null;
          read(step);
          pointAll(step, me);
        }],
        setSelect: [(/** @type {any} */ u) => {
          const { left, width } = u.select;
          u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          if (width < 4) return;
          const ends = [left, left + width].map((at) => Math.round(toStep(u.posToVal(at, "x"))));
          if (ends[1] > ends[0]) look.onrange?.([Math.max(0, ends[0]), ends[1]]);
        }],
      },
    };
  }

  function paint() {
    if (!lines.length || !figure.isConnected) return;
    logTool.setAttribute("aria-pressed", String(isLog()));
    const { uPlot } = /** @type {any} */ (window);
    if (!uPlot) {
      script("static/uplot/uPlot.iife.min.js").then(paint, () => {}); // the next update tries again
      return;
    }
    const what = JSON.stringify([lines.map((line) => [line.name, line.mode, line.worker, line.x.length < 200]), isLog(), look.axis, Boolean(look.smooth), ink().paper]);
    found = conditions(look.marks ?? [], look.range);
    several.hidden = lines.every((line) => line.mode === modeOf(line));
    legend.replaceChildren(...found.map((mark) => el("li", { className: mark.severity, "data-number": mark.number }, named(mark))));
    const columns = table();
    if (chart && what === drawn) {
      chart.setData(columns);
    } else {
      chart?.destroy();
      chart = new uPlot(options(), columns, plot);
      drawn = what;
      const over = chart.over;
      over.addEventListener("mouseleave", () => { read(null); pointAll(null, me); });
      over.addEventListener("dblclick", () => look.onrange?.(null));
      over.addEventListener("click", () => { if (look.onclick && chart.cursor.left >= 0 && !chart.select.width) look.onclick(toStep(chart.posToVal(chart.cursor.left, "x"))); });
    }
    read(null);
    plot.setAttribute("aria-label", summary());
  }

  function summary() {
    const told = lines.map((line) => {
      const known = line.y.filter((y) => y !== null);
      return `${nameOf(line) || line.name}: ${line.x.length} points, from ${number(known[0])} to ${number(known.at(-1))}`;
    });
    return `${title}, over ${axisLabel(look.axis, look.rounds)}. ${told.slice(0, 6).join("; ")}`;
  }

  const me = {
    figure,
    plot,
    rename(/** @type {string} */ text) {
      title = text;
      parts.rename(text);
    },
    /** @param {Line[]} fresh @param {Look} how */
    draw(fresh, how) {
      lines = fresh;
      look = how;
      register(me);
      paint();
    },
    get canLog() { return canLog(); },
    get isLog() { return isLog(); },
    get lines() { return lines; },
    get scales() { return chart?.scales; },
    /** What is written beside the figure, from below. */
    get labels() { return chart?.axes[1]._values; },
    get range() { return chart && [toStep(chart.scales.x.min), toStep(chart.scales.x.max)]; },
    repaint() { drawn = ""; paint(); },
    point(/** @type {number|null} */ x) {
      read(x);
      if (chart) chart.setCursor(x === null ? { left: -10, top: -10 } : { left: chart.valToPos(toAxis(x), "x"), top: 4 }, false);
    },
    close() {
      chart?.destroy();
      chart = null;
      sizes.disconnect();
      unregister(me);
    },
  };
  plot.stepwatch = me;
  return me;
}

/** Whether a line is of what is observed at some steps only, so that it is not known in between.
 * @param {Line} line */
const isSampled = (line) => line.group === "phases" || line.mode === "TRAIN" && !["losses", "metrics", "scalars", "learning_rates", "speed"].includes(line.group);

/** The points of a series that have no neighbour to draw a line to.
 * @param {any} u @param {number} series */
function alone(u, series) {
  const ys = u.data[series];
  const known = [];
  ys.forEach((/** @type {any} */ y, /** @type {number} */ at) => { if (y !== undefined) known.push(at); });
  return known.filter((at, index) => ys[at] !== null && (ys[known[index - 1]] ?? null) === null && (ys[known[index + 1]] ?? null) === null);
}

/** A condition as the headline has it.
 * @param {import("./numbers.js").Mark} mark */
const named = (mark) => `${sentence(mark.title)}, ${mark.since}`;

/** @param {number} x */
function tidy(x) {
  return Math.abs(x) >= 1e6 ? `${+(x / 1e6).toPrecision(4)}M` : Math.abs(x) >= 1e4 ? `${+(x / 1e3).toPrecision(4)}k` : String(+x.toPrecision(6));
}
