// Columns of numbers: merging, smoothing, looking up. Nothing here knows the page.

/**
 * @typedef {object} Line A column of a figure, as the server sends it.
 * @property {string} name
 * @property {string} group
 * @property {string} mode with a number from the second evaluation at one step on
 * @property {string} worker
 * @property {number[]} x optimizer steps, ascending
 * @property {(number|null)[]} y
 * @property {(number|null)[]} [low]
 * @property {(number|null)[]} [high]
 * @property {number[]} [unfit] where a value is not finite
 * @property {number} width how many steps a point spans
 * @property {number|null} [last] the value at the last step, however many a point spans
 * @property {number|null} [at] where that step is, unless it is the last one of its mode
 * @property {string} [label] what it is called, where that is not its name
 * @property {(at: number) => string} [told] what is read of a point, where that is not its value
 * @property {string} [color] its own colour
 * @property {boolean} whole whether it replaces what the page has
 */

/** What tells lines apart.
 * @param {Line} line */
export const keyOf = (line) => `${line.group} ${line.name} ${line.mode} ${line.worker}`;

/** The columns that a page has, with those that came since put behind them.
 * @param {Line|undefined} old @param {Line} fresh @param {number} since @returns {Line} */
export function merged(old, fresh, since) {
  if (!old || fresh.whole) return fresh;
  const kept = lowerBound(old.x, since);
  /** @type {any} */
  const line = { ...fresh, x: [...old.x.slice(0, kept), ...fresh.x] };
  for (const part of /** @type {const} */ (["y", "low", "high"])) {
    if (part !== "y" && !old[part] && !fresh[part]) continue;
    line[part] = [...(old[part] ?? old.y).slice(0, kept), ...(fresh[part] ?? fresh.y)];
  }
  const unfit = [...(old.unfit ?? []).filter((x) => x < since), ...(fresh.unfit ?? [])];
  if (unfit.length) line.unfit = unfit;
  return line;
}

/** Whether a line that the server goes on with has other buckets than what the page has of it.
 * @param {Map<string, Line>} lines by their keys @param {Line} fresh */
export const isWider = (lines, fresh) => !fresh.whole && (lines.get(keyOf(fresh))?.width ?? fresh.width) !== fresh.width;

/** From where on the server has to send again: the bucket that holds the last step.
 * @param {number} last @param {number} width */
export const sinceOf = (last, width) => Math.floor(Math.max(0, last) / width) * width;

/** The first index whose value is not below another.
 * @param {ArrayLike<number>} xs @param {number} x */
export function lowerBound(xs, x) {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The index whose value is nearest; -1 for none.
 * @param {ArrayLike<number>} xs @param {number} x */
export function nearest(xs, x) {
  if (!xs.length) return -1;
  const at = lowerBound(xs, x);
  if (at === 0) return 0;
  if (at === xs.length) return at - 1;
  return x - xs[at - 1] <= xs[at] - x ? at - 1 : at;
}

/** A value between known points, on a straight line; beyond them the last slope goes on.
 * @param {number} x @param {number[]} xs @param {number[]} ys */
export function interpolate(x, xs, ys) {
  if (!xs?.length || !ys?.length) return x;
  if (xs.length === 1) return ys[0] + (x - xs[0]);
  const at = Math.min(Math.max(lowerBound(xs, x), 1), xs.length - 1);
  const [x0, x1, y0, y1] = [xs[at - 1], xs[at], ys[at - 1], ys[at]];
  if (x === x1 || x1 === x0) return y1;
  return y0 + ((x - x0) * (y1 - y0)) / (x1 - x0);
}

/** An exponential moving average without the lag of its beginning; gaps stay.
 * @param {(number|null)[]} ys @param {number} weight from 0 for none to below 1 */
export function smoothed(ys, weight) {
  if (!weight) return ys;
  let mean = 0;
  let total = 0;
  return ys.map((y) => {
    if (y === null || y === undefined) return y;
    mean = weight * mean + (1 - weight) * y;
    total = weight * total + (1 - weight);
    return mean / total;
  });
}

/** Round places to label between two numbers.
 * @param {number} low @param {number} high @param {number} most */
export function ticks(low, high, most) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10);
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high + step * 1e-9; at += 1) found.push(+(at * step).toPrecision(12));
  return found;
}

/** Round steps within a span, ascending: uPlot draws no axis where it finds none that leaves room.
 * @param {number} span */
export function roundSteps(span) {
  const power = Math.floor(Math.log10(span));
  return [-2, -1, 0, 1].flatMap((more) => [1, 2, 5].map((factor) => Number(`${factor}e${power + more}`)));
}

/** What all of some names begin with, cut after a separator; "" where that leaves a name empty.
 * @param {string[]} names */
export function commonPrefix(names) {
  if (names.length < 2) return "";
  let prefix = names[0];
  for (const name of names) while (!name.startsWith(prefix)) prefix = prefix.slice(0, -1);
  const cut = Math.max(prefix.lastIndexOf("/"), prefix.lastIndexOf(".")) + 1;
  prefix = prefix.slice(0, cut);
  return names.includes(prefix) ? "" : prefix;
}

/** Lines as comma-separated values, a row for each point.
 * @param {Line[]} lines */
export function csv(lines) {
  /** @param {any} value */
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const rows = ["name,mode,worker,step,value,low,high"];
  for (const line of lines) {
    line.x.forEach((x, at) => {
      rows.push([line.name, line.mode, line.worker, x, line.y[at], line.low?.[at], line.high?.[at]].map(cell).join(","));
    });
  }
  return `${rows.join("\n")}\n`;
}

/** One line less another, where the first has a point.
 * @param {Line} first @param {Line} second @returns {Line} */
export function difference(first, second) {
  const y = first.x.map((x, at) => {
    const there = second.x.length ? nearest(second.x, x) : -1;
    const other = there >= 0 && Math.abs(second.x[there] - x) <= Math.max(first.width, second.width) ? second.y[there] : null;
    return first.y[at] === null || other === null || other === undefined ? null : Number(first.y[at]) - other;
  });
  return { ...first, y, last: undefined, at: undefined, low: undefined, high: undefined, unfit: undefined };
}

// Steps that were looked at one after the other are no farther apart than so many points.
const NEAR = 2;

/** Places in the gaps between points, where nothing was observed for longer than a few steps.
 * @param {Line} line */
export function gapsOf(line) {
  /** @type {number[]} */ const found = [];
  const near = NEAR * Math.max(1, line.width || 1);
  for (let at = 1; at < line.x.length; at += 1) {
    if (line.x[at] - line.x[at - 1] > near) found.push((line.x[at - 1] + line.x[at]) / 2);
  }
  return found;
}

/**
 * @typedef {object} Mark What was found, where it began.
 * @property {number} x
 * @property {string} title
 * @property {string} since
 * @property {string} severity
 * @property {number} number under which it is in every figure
 */

const severities = ["info", "warning", "error"];

/** What was found in a figure: each condition once, from where it began first, in the order of the marks.
 * @param {Mark[]} marks causes as they are listed, then what followed @param {[number, number]} range of the figure @returns {Mark[]} */
export function conditions(marks, range) {
  /** @type {Map<string, Mark>} */ const found = new Map();
  for (const mark of marks) {
    const known = found.get(mark.title) ?? mark;
    const severity = severities.indexOf(mark.severity) > severities.indexOf(known.severity) ? mark.severity : known.severity;
    found.set(mark.title, { ...(mark.x < known.x ? mark : known), severity });
  }
  return [...found.values()].filter((mark) => mark.x >= range[0] && mark.x <= range[1]);
}

/** Where labels of one width stand in a row, each as near to its place as those to its left let it.
 * @param {number[]} places in any order @param {number} wide @param {number} low @param {number} high */
export function inRow(places, wide, low, high) {
  const order = places.map((_, index) => index).sort((a, b) => places[a] - places[b]); // stable
  const found = order.map((index) => Math.min(Math.max(places[index], low), high));
  for (let at = 1; at < found.length; at += 1) found[at] = Math.max(found[at], found[at - 1] + wide);
  for (let at = found.length - 1, most = high; at >= 0; at -= 1, most = found[at + 1] - wide) found[at] = Math.min(found[at], most);
  return places.map((_, index) => found[order.indexOf(index)]);
}

// The largest is so many times the median, as in the terminal, or so many times the smallest.
const SPREAD = 5;
const FAR = 1e6;

/** Whether a logarithmic axis suits: all above zero, the largest far above the median or the smallest.
 * @param {(number|null)[]} ys */
export function suitsLog(ys) {
  const known = ys.filter((y) => y !== null && y !== undefined).map(Number).sort((a, b) => a - b);
  return known.length > 0 && known[0] > 0 && known[known.length - 1] > Math.min(SPREAD * known[known.length >> 1], FAR * known[0]);
}

/** What a box shows that stands for several: all of them, or some.
 * @param {boolean[]} states @returns {{checked: boolean, indeterminate: boolean}} */
export function ofAll(states) {
  const some = states.includes(true);
  const all = some && !states.includes(false);
  return { checked: all, indeterminate: some && !all };
}

/** Round places to label on a logarithmic axis: decades, and within few of them 2 and 5.
 * @param {number} low @param {number} high */
export function logTicks(low, high) {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const every = Math.max(1, Math.ceil((last - first) / 6));
  const found = [];
  for (let power = first; power <= last; power += every) {
    for (const factor of last - first > 2 ? [1] : [1, 2, 5]) found.push(Number(`${factor}e${power}`));
  }
  return found.filter((at) => at >= low && at <= high);
}
