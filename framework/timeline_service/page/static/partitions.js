// Partitions by name, with the slices of an opened one. Only loaded partitions are counted.

import { Refused, ask } from "./asking.js";
import { facts, foreign, h, keep, pager } from "./drawing.js";
import { trouble } from "./live.js";
import { share } from "./pictures.js";
import { badge, count, number, size, utc } from "./words.js";

const SHOWN = 20;
const SLICES = 20;
const KINDS = {
  skeletons: ["boot", "skeleton", "skeletons", "skeleton: data in the source"],
  full: ["base", "base file", "base files", "base file"],
  log_only: ["logs", "log-only slice", "log-only slices", "logs only"],
};

export function partitionsSection(id, refused) {
  const intro = h("p", { class: "intro" });
  const field = h("input", { id: "like", type: "search", autocomplete: "off", spellcheck: "false" });
  const button = h("button", { type: "button", onclick: () => count_all() });
  const form = h("form", { class: "row tools", onsubmit: (event) => event.preventDefault() },
    h("label", { for: "like" }, "Name contains"), field, button);
  const legend = h("p", { class: "legend" }, Object.values(KINDS).map(([tone, , , word]) =>
    h("span", { class: tone }, word)));
  const list = h("ul", { class: "partitions" });
  const pages = h("div");
  const element = h("section", { "aria-labelledby": "partitions-title", hidden: true },
    h("h2", { id: "partitions-title" }, "Partitions and slices"), intro, form, legend, list, pages);
  const state = { offset: 0, known: "", instant: null, most: 1, round: 0, typing: 0 };

  field.addEventListener("input", () => {
    clearTimeout(state.typing);
    state.typing = setTimeout(() => turn(0), 250);
  });

  // Refresh if the timeline advanced; `found` is the page's data of the table.
  function draw(found) {
    const last = found.last?.instant ?? null;
    element.hidden = last === null;
    if (last === null || state.instant === last) return;
    state.instant = last;
    look();
  }

  function turn(offset) {
    state.offset = offset;
    return look();
  }

  async function look() {
    const round = state.round += 1;
    try {
      const found = await ask(`tables/${id}/partitions`,
        { offset: state.offset, limit: SHOWN, like: field.value });
      if (found && round === state.round) show(found);
    } catch (error) {
      told(error);
    }
  }

  function show(found) {
    const all = number(found.partitions);
    const some = found.total === found.partitions ? "" : ` ${number(found.total)} match.`;
    intro.textContent = `${count(found.partitions, "partition")}, ${found.loaded
      ? `${number(found.loaded)} of ${all} loaded, with ${count(found.groups, "file group")}.`
      : "none loaded yet. Open one to see its slices."}${some}`;
    state.most = Math.max(1, ...found.items.map((each) => each.counts?.slices ?? 0));
    const open = found.items.filter((each) => !each.counts).length;
    button.textContent = open ? `Count ${open === 1 ? "this one" : `these ${open}`}` : "Counted";
    button.disabled = open === 0;
    const instant = found.instant;
    keep(list, found.items.map((each) => ({ ...each, most: state.most, instant })), {
      key: (each) => `/${each.path}`,
      make: (each) => fold(each.path),
      update: (place, each) => fill(place, each),
    });
    const turned = pager(found, "partitions", turn);
    pages.replaceChildren(...(turned ? [turned] : []));
  }

  function fold(path) {
    const inside = h("div", { class: "inside" });
    const details = h("details", {
      ontoggle: () => { if (details.open && details.stale !== false) slices(details, path, 0); },
    }, h("summary"), inside);
    return h("li", {}, details);
  }

  function fill(place, each) {
    const details = place.firstChild;
    details.firstChild.replaceChildren(
      foreign(each.path || "unpartitioned", { class: "name" }),
      bar(each),
      h("span", { class: "count" }, each.counts
        ? `${count(each.counts.slices, "slice")}, ${size(each.counts.bytes)}` : "not loaded"));
    if (details.instant !== each.instant) {
      details.instant = each.instant;
      details.stale = true;
      if (details.open) slices(details, each.path, 0);
    }
  }

  function bar({ counts, most }) {
    if (!counts) return share([], "not loaded", "unknown");
    const parts = Object.entries(KINDS).map(([kind, [tone]]) => [tone, counts[kind] / most]);
    return share(parts, countsText(counts));
  }

  async function slices(details, path, offset) {
    const inside = details.lastChild;
    if (!inside.firstChild) inside.replaceChildren(h("p", { class: "soft" }, "Listing…"));
    try {
      const found = await ask(`tables/${id}/slices`, { partition: path, offset, limit: SLICES });
      details.stale = false;
      inside.replaceChildren(...slicesOf(found, (to) => slices(details, path, to)));
      look();
    } catch (error) {
      inside.replaceChildren(h("p", { class: "note" }, `The slices cannot be shown: ${error.message}`));
      if (!(error instanceof Refused)) throw error;
    }
  }

  // Request the slices of all shown partitions that are not loaded, one after the other.
  async function count_all() {
    button.disabled = true;
    const { offset } = state;
    try {
      const found = await ask(`tables/${id}/partitions`, { offset, limit: SHOWN, like: field.value });
      for (const each of found.items.filter((one) => !one.counts)) {
        if (!element.isConnected || offset !== state.offset) return;
        await ask(`tables/${id}/slices`, { partition: each.path, limit: 1 });
        await look();
      }
    } catch (error) {
      told(error);
    }
  }

  function told(error) {
    if (!(error instanceof Refused)) throw error;
    if (error.kind === "token") refused(error);
    else if (element.isConnected) trouble(`The partitions cannot be listed: ${error.message}`);
  }

  return { element, draw };
}

function countsText(counts) {
  const words = Object.entries(KINDS).filter(([kind]) => counts[kind])
    .map(([kind, [, one, many]]) => count(counts[kind], one, many));
  return words.join(", ") || "no slice";
}

function slicesOf(found, turn) {
  const { counts } = found;
  return [
    h("p", { class: "soft" }, `${countsText(counts)}. `,
      counts.logs ? `${count(counts.logs, "log file")} in ${count(counts.with_logs, "slice")}. ` : "",
      `${size(counts.bytes)} in the table`,
      counts.source_bytes ? `, ${size(counts.source_bytes)} in the source.` : "."),
    h("ul", { class: "slices" }, found.items.map(slice)),
    pager(found, "slices", turn),
  ].filter(Boolean);
}

function slice(each) {
  const [tone, word] = KINDS[each.kind];
  return h("li", {},
    h("div", { class: "head" },
      foreign(each.file_id, { class: "mono" }),
      badge([tone, each.source ? "bootstrapped" : word])),
    facts([
      ["Instant", foreign(each.instant, { class: "mono" })],
      ["Size", size(each.bytes)],
      ["Base file", each.base ? [foreign(each.base.name, { class: "mono" }), ` ${size(each.base.size)}`]
        : "none"],
      ["Source file", each.source ? [foreign(each.source.uri, { class: "mono" }),
        ` ${size(each.source.size)}`, each.source.mtime_ms ? `, changed ${utc(each.source.mtime_ms)}` : ""]
        : null],
      [count(each.logs.length, "log file"), each.logs.length ? h("ul", {}, each.logs.map((log) =>
        h("li", {}, foreign(log.name, { class: "mono" }), ` ${size(log.size)}`))) : null],
    ]));
}
