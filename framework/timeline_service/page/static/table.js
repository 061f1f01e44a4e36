// One table: its properties, pending instants, growth, timeline and partitions.

import { ask } from "./asking.js";
import { facts, foreign, h, say } from "./drawing.js";
import { follow } from "./live.js";
import { nowSection } from "./now.js";
import { partitionsSection } from "./partitions.js";
import { growthSection } from "./pictures.js";
import { timelineSection } from "./timeline.js";
import { lastGate, nameOf, number, plain, since, size } from "./words.js";

const SHOWN = 12;

export function showTable(main, id, refused) {
  let offset = 0;
  let known = "";
  let soon = false;
  let was_there = false;
  const head = h("div", { class: "table-head" });
  const now = nowSection();
  const growth = growthSection();
  const timeline = timelineSection((to) => {
    offset = to;
    known = "";
    looking.now();
  });
  const partitions = partitionsSection(id, refused);
  main.append(head, now.element, growth.element, timeline.element, partitions.element);
  head.append(h("p", {}, h("a", { href: "#/" }, "All tables")),
    h("p", { class: "soft" }, "Loading the table…"));

  const looking = follow(async () => {
    const found = await ask(`tables/${id}`, { offset, limit: SHOWN }, known);
    if (found) {
      known = found.fingerprint;
      soon = found.pending.length > 0 || found.unread > 0;
      was_there = was_there || found.name !== null;
      head.replaceChildren(...headOf(found, was_there));
      now.draw(found);
      growth.draw(found);
      timeline.draw(found);
      partitions.draw(found);
      document.title = `${titleOf(found)} · Lakestrap`;
    }
    return soon || now.isOpen();
  }, refused);

  return {
    stop() {
      looking.stop();
      growth.stop();
      say("");
    },
  };
}

function titleOf(table) {
  return table.pending.length ? `● ${nameOf(table)}` : nameOf(table);
}

function headOf(table, was_there) {
  const points = table.growth.points;
  const now = table.growth.is_known && table.growth.is_whole ? points.at(-1) : undefined;
  const kind = table.type ? `${plain(table.type)}, version ${table.version}` : "no table yet";
  return [
    h("p", {}, h("a", { href: "#/" }, "All tables")),
    h("div", { class: "head" },
      h("h1", {}, foreign(nameOf(table))),
      table.last ? lastGate(table.last.verdict) : null),
    table.name === null && was_there
      ? h("p", { class: "note" }, "The table no longer exists at its location.") : "",
    facts([
      ["Rows", now ? number(now.rows) : null],
      ["Size", now ? size(now.bytes) : null],
      ["File groups", now ? number(now.groups) : null],
      ["Commits", table.commits ? number(table.commits) : null],
      ["Last commit", table.last?.times.completed ? since(table.last.times.completed) : null],
    ], { class: "figures" }),
    facts([
      ["Type", kind],
      ["Location", foreign(table.location)],
      ["Bootstrap source", table.source ? foreign(table.source) : null],
    ], { class: "facts" }),
  ];
}
