// All tables of the service, each with its current state.

import { ask } from "./asking.js";
import { foreign, h, keep, pager } from "./drawing.js";
import { follow } from "./live.js";
import { badge, count, deed, lastGate, nameOf, plain, since } from "./words.js";

export function showTables(main, refused) {
  document.title = "Tables · Lakestrap";
  const intro = h("p", { class: "intro" });
  const list = h("ul", { class: "tables" });
  const pages = h("div");
  let offset = 0;
  let known = "";
  main.append(h("h1", {}, "Tables"), intro, list, pages);

  const looking = follow(async () => {
    const found = await ask("tables", { offset }, known);
    if (found) draw(found);
    return list.querySelector("[data-pending]") !== null;
  }, refused);

  function draw(found) {
    known = found.fingerprint;
    intro.textContent = found.total ? `${count(found.total, "table")} served.`
      : "This service serves no tables. Pass specs or locations to run-pipeline serve.";
    keep(list, found.items, {
      key: (table) => table.id,
      make: () => h("li", { class: "card" }),
      update: (place, table) => {
        place.replaceChildren(...line(table));
        place.toggleAttribute("data-pending", Boolean(table.pending_count));
      },
    });
    const turned = pager(found, "tables", (to) => {
      offset = to;
      known = "";
      looking.now();
    });
    pages.replaceChildren(...(turned ? [turned] : []));
  }

  return looking;
}

function line(table) {
  return [
    h("div", { class: "head" },
      h("h2", {}, h("a", { href: `#/table/${table.id}` }, foreign(nameOf(table)))),
      state(table)),
    h("p", { class: "mono soft" }, foreign(table.location)),
    table.fault
      ? h("p", { class: "note" }, foreign(`${table.fault.message} [${table.fault.condition}]`))
      : h("p", {}, ...last(table)),
  ];
}

function state(table) {
  if (table.fault) return badge(["bad", "✕ cannot be read"]);
  if (table.pending_count) return badge(["caution", `● ${table.pending_count} pending`]);
  if (!table.last) return badge(["plain", "no table yet"]);
  return lastGate(table.last.verdict);
}

function last(table) {
  if (!table.last) return ["No commits yet. They appear here as they complete."];
  const at = table.last.times.completed;
  return [
    table.type ? `${plain(table.type)}, ` : "",
    `${count(table.commits, "commit")}, last: ${deed(table.last)}`,
    ...(at ? [" ", since(at)] : []),
  ];
}
