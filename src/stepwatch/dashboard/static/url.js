// Addresses of pages: `#/page?name=value`. All that a reader chose is in them.

/** @param {string} page @param {Record<string, any>} query */
export function address(page, query = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) parameters.append(name, String(one));
  }
  const text = parameters.toString();
  return `#/${page}${text ? `?${text}` : ""}`;
}

/** The page and what is chosen in it; a name that comes several times is a list.
 * @param {string} hash @returns {{page: string, query: Record<string, any>}} */
export function parseAddress(hash) {
  const [page, text] = hash.replace(/^#\/?/, "").split("?");
  /** @type {Record<string, any>} */
  const query = {};
  for (const [name, value] of new URLSearchParams(text ?? "")) {
    if (name in query) query[name] = [].concat(query[name], value);
    else query[name] = value;
  }
  return { page, query };
}

/** Two numbers that are written `10:20`; null for anything else.
 * @param {string|undefined} text @returns {[number, number]|null} */
export function parseRange(text) {
  const found = /^(\d+):(\d+)$/.exec(text ?? "");
  return found && Number(found[1]) < Number(found[2]) ? [Number(found[1]), Number(found[2])] : null;
}

/** A list that is written with commas.
 * @param {string|undefined} text @returns {string[]} */
export const parseList = (text) => (text ? text.split(",").filter(Boolean).map(decodeURIComponent) : []);

/** @param {string[]} values */
export const writeList = (values) => values.map(encodeURIComponent).join(",");
