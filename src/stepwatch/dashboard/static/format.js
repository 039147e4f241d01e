// Numbers and times as people read them.

const counts = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** @param {number|null|undefined} value */
export function count(value) {
  return value === null || value === undefined ? "" : counts.format(value);
}

/** @param {number} value @param {string} what */
export function plural(value, what) {
  return `${count(value)} ${what}${value === 1 ? "" : "s"}`;
}

/** @param {any} value */
export function number(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(2) : String(+value.toPrecision(4));
}

/** A time in the unit that suits it.
 * @param {any} value seconds */
export function seconds(value) {
  if (typeof value !== "number" || value === 0) return value === 0 ? "0 s" : number(value);
  const size = Math.abs(value);
  if (size < 1e-5) return `${number(+(value * 1e6).toPrecision(3))} µs`;
  return size < 1 ? `${number(+(value * 1e3).toPrecision(3))} ms` : clock(value);
}

/** A time on an axis: seconds, minutes or hours.
 * @param {number} value seconds */
export function clock(value) {
  const size = Math.abs(value);
  if (size < 120) return `${+value.toPrecision(3)} s`;
  return size < 7200 ? `${+(value / 60).toPrecision(3)} min` : `${+(value / 3600).toPrecision(3)} h`;
}

/** @param {number} part */
export function twoDigits(part) {
  return String(part).padStart(2, "0");
}

/** @param {number} ns nanoseconds since the Unix epoch; 0 for unknown */
export function moment(ns) {
  if (!ns) return "";
  const at = new Date(ns / 1e6);
  return `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())} ${twoDigits(at.getHours())}:${twoDigits(at.getMinutes())}`;
}

/** @param {Date} at */
export function timeOfDay(at) {
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(":");
}

/** @param {string} text */
export function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
