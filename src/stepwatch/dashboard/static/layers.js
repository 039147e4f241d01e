// The rows of the table of layers: parameters beneath their modules, in the order of the model.

/**
 * @typedef {object} LayerRow
 * @property {string} name
 * @property {string} label its name without those of its parents
 * @property {number} depth
 * @property {string[]} parents
 * @property {boolean} children
 * @property {string} tensor what to open
 * @property {number|null} weight
 * @property {number|null} gradient
 * @property {number|null} update
 * @property {number|null} zeros
 * @property {boolean} bad
 * @property {(number|null)[]} spark of its gradient; none where it has no gradient
 * @property {Record<string, number>} at the step of each number
 */

/** What a tensor is about: its name without what says which of its numbers it is.
 * @param {string} name */
export const subjectOf = (name) => name.replace(/^(gradient|update_ratio|output)\//, "");

/** @param {Record<string, any[]>} layers @param {string[]} order modules as they ran @returns {LayerRow[]} */
export function layerRows(layers, order) {
  /** @type {Map<string, any>} */
  const found = new Map();
  const of = (/** @type {string} */ name) => {
    if (!found.has(name)) found.set(name, { name, weight: null, gradient: null, update: null, zeros: null, bad: false, spark: [], at: {}, tensor: "" });
    return found.get(name);
  };
  const parts = { weights: "weight", gradients: "gradient", updates: "update", outputs: "zeros" };
  for (const [collection, key] of Object.entries(parts)) {
    for (const one of layers[collection] ?? []) {
      const row = of(subjectOf(one.name));
      row[key] = one.last;
      row.at[key] = one.at;
      row.bad ||= one.bad;
      if (collection === "gradients") row.spark = one.spark;
      if (one.leaf && (!row.tensor || collection === "gradients")) row.tensor = one.name;
    }
  }
  // A module stands where the first of what is in it stands.
  const ranks = new Map();
  const rank = (/** @type {string} */ name, /** @type {number} */ at) => { if (!ranks.has(name)) ranks.set(name, at); };
  order.forEach((name, at) => rank(name, at));
  [...found.keys()].forEach((name, at) => rank(name, order.length + at));
  /** @type {Map<string, string[]>} */
  const children = new Map();
  for (const name of [...found.keys()]) {
    let child = name;
    for (let parent = parentOf(child); ; child = parent, parent = parentOf(child)) {
      if (!children.has(parent)) children.set(parent, []);
      const beneath = /** @type {string[]} */ (children.get(parent));
      if (!beneath.includes(child)) beneath.push(child);
      if (!parent) break;
      of(parent);
    }
  }
  const firstRank = (/** @type {string} */ name) => {
    const inside = [...ranks].filter(([one]) => one === name || one.startsWith(`${name}.`)).map(([, at]) => at);
    return inside.length ? Math.min(...inside) : Infinity;
  };
  const known = new Map([...found.keys()].map((name) => [name, firstRank(name)]));
  /** @type {LayerRow[]} */
  const rows = [];
  const walk = (/** @type {string} */ parent, /** @type {string[]} */ parents) => {
    const beneath = [...(children.get(parent) ?? [])].sort((a, b) => (known.get(a) ?? 0) - (known.get(b) ?? 0));
    for (const name of beneath) {
      const label = parent ? name.slice(parent.length + 1) : name;
      rows.push({ ...found.get(name), label, depth: parents.length, parents, children: children.has(name) });
      walk(name, [...parents, name]);
    }
  };
  walk("", []);
  return rows;
}

/** The last step of which rows have a number; -1 for none.
 * @param {LayerRow[]} rows @param {string} key */
export const lastStep = (rows, key) => Math.max(-1, ...rows.map((row) => row.at[key] ?? -1));

/** @param {string} name */
const parentOf = (name) => name.slice(0, Math.max(0, name.lastIndexOf(".")));

/** Rows by a number, without those that have none.
 * @param {LayerRow[]} rows @param {string} key @param {boolean} up */
export function sortedRows(rows, key, up) {
  const value = (/** @type {any} */ row) => (key === "bad" ? Number(row.bad) : row[key]);
  const known = rows.filter((row) => value(row) !== null && value(row) !== undefined);
  return known.sort((a, b) => (up ? 1 : -1) * (value(a) - value(b)));
}
