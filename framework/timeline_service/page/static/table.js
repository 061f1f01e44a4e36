// One table: what it is, what happens now, how it grew, its timeline and its partitions.

import { ask } from "./asking.js";
import { facts, foreign, h, say } from "./drawing.js";
import { follow } from "./live.js";
import { nowSection } from "./now.js";
import { partitionsSection } from "./partitions.js";
import { growthSection } from "./pictures.js";
import { timelineSection } from "./timeline.js";
import { VERDICTS, badge, count, number, plain, since, size } from "./words.js";

const SHOWN = 25;

export function showTable(main, id, refused) {
  let offset = 0;
  let known = "";
  let soon = false;
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
  head.append(h("p", { class: "soft" }, "Looking at the table…"));

  const looking = follow(async () => {
    const found = await ask(`tables/${id}`, { offset, limit: SHOWN }, known);
    if (found) {
      known = found.fingerprint;
      soon = found.pending.length > 0 || found.unread > 0;
      head.replaceChildren(...headOf(found));
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
  const name = table.name ?? table.location.split("/").filter(Boolean).pop();
  return table.pending.length ? `● ${name}` : name;
}

function headOf(table) {
  const points = table.growth.points;
  const now = table.growth.is_known && table.growth.is_whole ? points.at(-1) : undefined;
  const kind = table.type ? `${plain(table.type)}, version ${table.version}` : "no table yet";
  const verdict = table.last ? VERDICTS[table.last.verdict] : null;
  return [
    h("div", { class: "head" },
      h("h1", {}, foreign(table.name ?? table.location)),
      verdict ? h("p", {}, h("span", { class: "soft" }, "last gate "), badge(verdict)) : null),
    facts([
      ["Rows", now ? number(now.rows) : null],
      ["Size", now ? size(now.bytes) : null],
      ["File groups", now ? number(now.groups) : null],
      ["Commits", table.commits ? count(table.commits, "commit") : null],
      ["Last commit", table.last?.times.completed ? since(table.last.times.completed) : null],
      ["Type", kind],
    ], { class: "figures" }),
    facts([
      ["Location", foreign(table.location)],
      ["Bootstrap source", table.source ? foreign(table.source) : null],
    ], { class: "facts" }),
  ];
}
