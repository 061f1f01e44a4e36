// SVG charts: the table's growth, and bars of shares.

import { foreign, h, svg, table } from "./drawing.js";
import { count, number, short, size, utc } from "./words.js";

const HEIGHT = 170;
const EDGE = { top: 12, right: 8, bottom: 24, left: 58 };
const TABLE_ROWS = 60;

// A bar of parts between 0 and 1 by tone; `text` is its description.
export function share(parts, text, more = "") {
  let left = 0;
  const rects = parts.filter(([, part]) => part > 0).map(([tone, part]) => {
    const rect = svg("rect", {
      class: tone, x: `${left * 100}%`, y: 0, width: `${Math.max(part * 100, 0.5)}%`, height: "100%",
    });
    left += part;
    return rect;
  });
  return svg("svg", { class: `share ${more}`, role: "img", "aria-label": text },
    svg("title", {}, text), svg("rect", { class: "track", width: "100%", height: "100%" }), rects);
}

export function growthSection() {
  const intro = h("p", { class: "intro" });
  const charts = [
    chart("Bytes", (point) => point.bytes, size, "of base and log files"),
    chart("Rows", (point) => point.rows, number, "in the newest slices"),
  ];
  const inside = h("div", { class: "inside" });
  const numbers = h("details", { class: "numbers" }, h("summary", {}, "Show as a table"), inside);
  const element = h("section", { "aria-labelledby": "growth-title", hidden: true },
    h("h2", { id: "growth-title" }, "Size after each commit"), intro,
    h("div", { class: "charts" }, charts.map((each) => each.element)), numbers);
  let points = [];

  const seen = new ResizeObserver(() => charts.forEach((each) => each.draw(points)));
  seen.observe(element);

  function draw({ growth, unread }) {
    element.hidden = growth.points.length === 0 && !unread && growth.is_known;
    intro.textContent = introOf(growth, unread);
    if (JSON.stringify(points) === JSON.stringify(growth.points)) return;
    points = growth.points;
    charts.forEach((each) => each.draw(points));
    inside.replaceChildren(table(["Instant", "Completed", "File groups", "Rows", "Bytes"],
      points.slice(-TABLE_ROWS).reverse().map((each) => [
        foreign(each.instant, { class: "mono" }), each.at ? utc(each.at) : "",
        number(each.groups), number(each.rows), size(each.bytes),
      ])));
  }

  return { element, draw, stop: () => seen.disconnect() };
}

function introOf({ points, commits, is_whole, is_known }, unread) {
  const said = [commits === 1 ? "One commit so far." : `One step for each of ${number(commits)} commits.`];
  if (points.length && points.length < commits) said[0] = `${number(commits)} commits, some omitted.`;
  if (unread) said.push(`${count(unread, "commit")} not read yet.`);
  if (!is_whole) said.push("Older commits are archived, so only groups written since are counted.");
  if (!is_known) said.push("Sizes are unknown from some commit on: it cannot be read, or the "
    + "table has too many file groups.");
  return said.join(" ");
}

// A step line over the commits, redrawn to the width of its container.
function chart(name, valueOf, words, what) {
  const place = h("div", { class: "plot" });
  const value = h("strong");
  const element = h("figure", { class: "card" },
    h("figcaption", {}, h("span", { class: "soft" }, name), value, h("span", { class: "soft" }, what)),
    place);
  let drawn = "";

  function draw(points) {
    const width = Math.floor(place.clientWidth);
    const task = `${width} ${JSON.stringify(points.map((each) => [each.at, valueOf(each)]))}`;
    if (!width || !points.length || task === drawn) return;
    drawn = task;
    const values = points.map(valueOf);
    value.textContent = words(values.at(-1));
    place.replaceChildren(plot(points, values, { width, words, name }));
  }

  return { element, draw };
}

function plot(points, values, { width, words, name }) {
  const top = niceTop(Math.max(...values));
  const inner = { width: width - EDGE.left - EDGE.right, height: HEIGHT - EDGE.top - EDGE.bottom };
  const x = (place) => EDGE.left + (place / values.length) * inner.width;
  const y = (each) => EDGE.top + inner.height * (1 - Math.max(0, each) / top);
  const text = `${name}: ${words(values[0])} after ${points[0].instant}, ${words(values.at(-1))} after `
    + `${points.at(-1).instant}, the ${values.length === 1 ? "only" : "last"} commit shown`;
  const line = values.map((each, place) => `${place ? "L" : "M"}${x(place)},${y(each)}H${x(place + 1)}`);
  const floor = EDGE.top + inner.height;
  return svg("svg", { class: "chart", role: "img", "aria-label": text, width, height: HEIGHT },
    [0, 0.5, 1].map((part) => rule(part * top, y(part * top), width, name)),
    svg("path", { class: "area", d: `${line.join("")}V${floor}H${EDGE.left}Z` }),
    svg("path", { class: "line", d: line.join("") }),
    values.map((each, place) => svg("rect", {
      class: "touch", x: x(place), y: EDGE.top, width: x(1) - x(0), height: inner.height,
    }, svg("title", {}, `${points[place].instant}: ${words(each)}`))),
    labels(points, width));
}

function rule(value, at, width, name) {
  const word = name === "Bytes" ? size(value).replace(".0 ", " ") : short(value);
  return svg("g", { class: "rule" },
    svg("line", { x1: EDGE.left, x2: width - EDGE.right, y1: at, y2: at }),
    svg("text", { x: EDGE.left - 8, y: at + 4, "text-anchor": "end" }, word));
}

function labels(points, width) {
  const text = (point, at, anchor) => svg("text", {
    class: "when", x: at, y: HEIGHT - 6, "text-anchor": anchor,
  }, point.at ? utc(point.at).slice(0, 16) : point.instant);
  const first = text(points[0], EDGE.left, "start");
  if (points.length === 1) return [first];
  return width < 330 ? [text(points.at(-1), width - EDGE.right, "end")]
    : [first, text(points.at(-1), width - EDGE.right, "end")];
}

// The least of 1, 2 and 5 times a power of ten that is at least the greatest value.
function niceTop(most) {
  if (most <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= most);
}
