// Elements from plain values. Text is always a text node, so a name is never markup.

export function el(tag, properties = {}, ...children) {
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

export function link(page, query, ...children) {
  return el("a", { href: address(page, query) }, ...children);
}

export function address(page, query = {}) {
  const known = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(known).toString();
  return `#/${page}${text ? `?${text}` : ""}`;
}

export function choice(label, options, value, onchange) {
  const select = el("select", { onchange: () => onchange(select.value), "aria-label": label });
  for (const option of options) {
    const [key, text] = Array.isArray(option) ? option : [option, option];
    select.append(el("option", { value: key, selected: key === value }, text));
  }
  return select;
}

export function tensorLink(run, name, step) {
  return link("tensor", { run, name, step }, el("code", {}, name));
}
