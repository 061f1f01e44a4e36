// Elements from values. Text only ever becomes a text node, so no value can become markup.

const SVG = "http://www.w3.org/2000/svg";

// Element, attributes (`on…` are listeners; null, undefined and false are left out), children.
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

// Foreign text, isolated so that its direction of writing does not spill over.
export function foreign(text, attributes = {}) {
  return h("bdi", attributes, String(text));
}

// Let `parent` have one child for each item, in order. Children are known by key and kept, so focus
// and opened folds stay. `make` makes one, `update(child, item)` fills it where the item is new.
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

// Names and values below each other; pairs without a value are left out.
export function facts(pairs, attributes = {}) {
  const rows = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h("dl", attributes, rows.map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

// A table by the names of its columns; on a narrow screen each row becomes a block, in which the
// names stand beside the values. The roles say what that form would hide from a screen reader.
export function table(names, rows) {
  return h("table", { role: "table" },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, names.map((name) =>
      h("th", { scope: "col", role: "columnheader" }, name)))),
    h("tbody", { role: "rowgroup" }, rows.map(([first, ...others]) => h("tr", { role: "row" },
      h("th", { scope: "row", role: "rowheader" }, first),
      others.map((each, place) => h("td", { role: "cell", "data-name": names[place + 1] }, each))))));
}

// Buttons that turn the pages of a list; null where all of it is shown.
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

// Tell somebody who does not see the page.
export function say(text) {
  document.getElementById("said").textContent = text;
}
