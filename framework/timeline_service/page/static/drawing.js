// Builds elements from values. Text always becomes a text node, so no value can become markup.

const SVG = "http://www.w3.org/2000/svg";

// Element, attributes (`on…` are listeners; null, undefined and false are omitted), children.
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((each) => each !== null && each !== undefined));
  return element;
}

// Foreign text, isolated so that its writing direction does not affect its surroundings.
export function foreign(text, attributes = {}) {
  return h("bdi", attributes, String(text));
}

// Give `parent` one child for each item, in order. Children are matched by key and kept, so focus
// and open folds stay. `make` creates one, `update(child, item)` fills it if the item changed.
export function keep(parent, items, { key, make, update }) {
  const before = new Map([...parent.children].map((each) => [each.dataset.key, each]));
  const after = items.map((item) => {
    const name = key(item);
    const child = before.get(name) ?? make(item);
    const text = JSON.stringify(item);
    if (child.shown !== text) {
      update(child, item);
      child.shown = text;
      child.dataset.key = name;
    }
    before.delete(name);
    return child;
  });
  before.forEach((each) => each.remove());
  after.forEach((child, place) => {
    if (parent.children[place] !== child) parent.insertBefore(child, parent.children[place] ?? null);
  });
}

// A list of names and values; pairs without a value are omitted.
export function facts(pairs, attributes = {}) {
  const rows = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h("dl", attributes, rows.map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

// A table with named columns. On a narrow screen each row becomes a block with the column names
// beside the values; the roles keep the table structure visible to screen readers.
export function table(names, rows) {
  return h("table", { role: "table" },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, names.map((name) =>
      h("th", { scope: "col", role: "columnheader" }, name)))),
    h("tbody", { role: "rowgroup" }, rows.map(([first, ...others]) => h("tr", { role: "row" },
      h("th", { scope: "row", role: "rowheader" }, first),
      others.map((each, place) => h("td", { role: "cell", "data-name": names[place + 1] }, each))))));
}

// Paging buttons of a list; null if all of it is shown.
export function pager({ offset, limit, total, items }, word, turn) {
  if (total <= limit && offset === 0) return null;
  const last = offset + items.length;
  const button = (text, to, can) =>
    h("button", { type: "button", disabled: !can, onclick: () => turn(to) }, text);
  return h("nav", { class: "pager", "aria-label": `Pages of ${word}` },
    button("Previous", Math.max(0, offset - limit), offset > 0),
    h("span", {}, `${(offset + 1).toLocaleString("en")}–${last.toLocaleString("en")} of `
      + `${total.toLocaleString("en")} ${word}`),
    button("Next", offset + limit, last < total));
}

// Announce a text to screen readers.
export function say(text) {
  document.getElementById("said").textContent = text;
}
