// Pending instants and, for a while, those that have just ended.

import { foreign, h, keep, say } from "./drawing.js";
import { badge, deed, lasting, took, utc } from "./words.js";

const STEPS = ["requested", "inflight", "completed"];
const TONES = { "": "caution", completed: "good", "rolled back": "bad" };
const LINGER_MS = 20000;

export function nowSection() {
  const list = h("ul", { class: "now" });
  const note = h("p", { class: "soft" });
  const element = h("section", { "aria-labelledby": "now-title", hidden: true },
    h("h2", { id: "now-title" }, "Now"), note, list);
  const watched = new Map();
  let before = null;

  function draw(table) {
    for (const each of table.pending) watch(each);
    watchUnseen(table.last);
    const pending = new Set(table.pending.map((each) => each.instant));
    for (const [name, entry] of watched) {
      if (!pending.has(name)) end(entry, table);
      if (entry.until && entry.until < Date.now()) watched.delete(name);
    }
    const shown = [...watched.values()].sort((a, b) => (a.instant.instant < b.instant.instant ? 1 : -1));
    note.textContent = noteOf(table);
    keep(list, shown.map(({ instant, end }) => ({ instant, end })), {
      key: ({ instant }) => instant.instant,
      make: () => h("li", { class: "card" }),
      update: (place, { instant, end }) => {
        place.className = `card ${TONES[end]}`;
        place.replaceChildren(...card(instant, end));
      },
    });
    element.hidden = shown.length === 0;
  }

  // A commit that started and completed between two polls.
  function watchUnseen(last) {
    const name = last?.instant ?? "";
    if (before !== null && name > before && !watched.has(name)) {
      watched.set(name, { instant: last, end: "", until: 0 });
    }
    before = name;
  }

  function watch(instant) {
    const before = watched.get(instant.instant);
    if (before?.instant.state !== instant.state) {
      say(`${deed(instant)} ${instant.instant} is ${instant.state}`);
    }
    watched.set(instant.instant, { instant, end: "", until: 0 });
  }

  function end(entry, table) {
    if (entry.until) return;
    const name = entry.instant.instant;
    const found = [...table.instants.items, table.last].find((each) => each?.instant === name);
    entry.end = found?.state === "completed" ? "completed" : "rolled back";
    if (found) entry.instant = found;
    entry.until = Date.now() + LINGER_MS;
    say(`${deed(entry.instant)} ${entry.instant.instant} is ${entry.end}`);
    setTimeout(() => {
      watched.delete(entry.instant.instant);
      element.hidden = watched.size === 0;
      [...list.children].find((each) => each.dataset.key === entry.instant.instant)?.remove();
    }, LINGER_MS);
  }

  return { element, draw, isOpen: () => watched.size > 0 };
}

function noteOf(table) {
  if (!table.pending.length) return "";
  if (table.at_work) return `Running: ${table.at_work}.`;
  return "No lakestrap run is active. Another writer may be, or a run was interrupted: "
    + "run-pipeline run resumes it or rolls it back.";
}

function card(instant, end) {
  const reached = end === "completed" ? 2 : STEPS.indexOf(instant.state);
  const begun = instant.times.requested ?? instant.times.inflight;
  const over = instant.times.completed;
  return [
    h("div", { class: "head" },
      h("h3", {}, deed(instant), " ", foreign(instant.instant, { class: "mono soft" })),
      end === "rolled back" ? badge(["bad", "✕ rolled back"])
        : end ? badge(["good", "✓ completed"]) : badge(["caution", `● ${instant.state}`])),
    h("ol", { class: "steps" }, STEPS.map((step, place) => h("li", {
      class: place < reached || (end === "completed" && place === reached) ? "done"
        : place === reached && !end ? "current" : "",
      "aria-current": place === reached && !end ? "step" : null,
    },
    h("span", { class: "step" }, step),
    h("span", { class: "soft" }, instant.times[step] ? utc(instant.times[step]).slice(11) : "–")))),
    end === "rolled back"
      ? h("p", {}, "It was removed from the timeline; nothing was published.")
      : h("p", {}, over && begun ? `Took ${took(over - begun)}.`
        : begun ? ["Running for ", lasting(begun), "."] : "Running."),
  ];
}
