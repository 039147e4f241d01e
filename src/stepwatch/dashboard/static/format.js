// Numbers and times as people read them.

const counts = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export function count(value) {
  return value === null || value === undefined ? "" : counts.format(value);
}

export function plural(value, what) {
  return `${count(value)} ${what}${value === 1 ? "" : "s"}`;
}

export function number(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(2) : String(+value.toPrecision(4));
}

export function moment(ns) {
  if (!ns) return "";
  const at = new Date(ns / 1e6);
  const two = (part) => String(part).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

export function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
