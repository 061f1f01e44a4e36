// The timeline: instants, newest first, each with its written files and its gate's findings.

import { facts, foreign, h, keep, pager, table } from "./drawing.js";
import { share } from "./pictures.js";
import { OUTCOMES, STATES, VERDICTS, badge, count, deed, number, plain, since, size, took, utc }
  from "./words.js";

const ON_FAIL = { abort: "refuses", quarantine: "quarantines rows", drop: "drops rows", warn: "warns" };

export function timelineSection(turn) {
  const intro = h("p", { class: "intro" });
  const list = h("ol", { class: "instants" });
  const pages = h("div");
  const element = h("section", { "aria-labelledby": "timeline-title", hidden: true },
    h("h2", { id: "timeline-title" }, "Timeline"), intro, list, pages);

  function draw(found) {
    const { total } = found.instants;
    element.hidden = false;
    const left = found.unread ? ` ${count(found.unread, "commit")} not read yet.` : "";
    intro.textContent = total ? `${count(total, "instant")}, newest first.${left}` : "No instants yet.";
    keep(list, found.instants.items, {
      key: (each) => `${each.instant}.${each.action}`,
      make: () => h("li", {}, h("details", {}, h("summary"), h("div", { class: "inside" }))),
      update: (place, each) => {
        const [summary, inside] = place.firstChild.children;
        summary.replaceChildren(...summaryOf(each));
        inside.replaceChildren(...insideOf(each));
      },
    });
    const turned = pager(found.instants, "instants", turn);
    const focused = pages.contains(document.activeElement) ? document.activeElement.textContent : "";
    pages.replaceChildren(...(turned ? [turned] : []));
    if (focused) {
      [...pages.querySelectorAll("button")].find((each) => each.textContent === focused)?.focus();
    }
  }

  return { element, draw };
}

function summaryOf(each) {
  const at = each.times.completed ?? each.times.inflight ?? each.times.requested;
  return [
    h("span", { class: "what" }, h("span", { class: "name" }, deed(each)),
      foreign(each.instant, { class: "mono soft" })),
    h("span", { class: "when" }, at ? since(at) : ""),
    h("span", { class: "count" }, countOf(each)),
    stateOf(each),
  ];
}

function stateOf({ state, commit }) {
  if (state !== "completed") return badge(STATES[state]);
  if (commit?.fault) return badge(["bad", "✕ unreadable"]);
  return badge(commit ? VERDICTS[commit.gate.verdict] : ["plain", state]);
}

function countOf({ commit, unread }) {
  if (unread) return "reading…";
  if (!commit || commit.fault) return "";
  return `${count(commit.rows, "row")}, ${size(commit.bytes)}`;
}

function insideOf(each) {
  const { commit, times } = each;
  const begun = times.requested ?? times.inflight;
  return [
    facts([
      ["Action", each.action],
      ["State", each.state],
      ["Requested", times.requested ? utc(times.requested) : null],
      ["Inflight", times.inflight ? utc(times.inflight) : null],
      ["Completed", times.completed ? utc(times.completed) : null],
      ["Took", begun && times.completed ? took(times.completed - begun) : null],
      ["Files written", commit ? number(commit.files) : null],
      ["Rows written", commit ? number(commit.rows) : null],
      ["Inserted", commit?.inserts ? number(commit.inserts) : null],
      ["Updated", commit?.updates ? number(commit.updates) : null],
      ["Deleted", commit?.deletes ? number(commit.deletes) : null],
      ["Bytes written", commit ? size(commit.bytes) : null],
      ["Run", commit?.run ? foreign(commit.run, { class: "mono" }) : null],
    ]),
    ...(commit?.fault ? [h("p", { class: "note" }, foreign(commit.fault))] : []),
    ...(commit && !commit.fault ? gateOf(commit) : []),
  ];
}

function gateOf({ gate, run }) {
  if (gate.verdict === "none") {
    return [h("p", { class: "soft" }, run ? "The commit contains no proof of the gate."
      : "Written by another writer, without the gate.")];
  }
  return [
    h("h3", {}, "Gate"),
    keys(gate.keys),
    gate.fate ? fate(gate.fate) : null,
    gate.checks.length ? checks(gate) : h("p", { class: "soft" }, "No checks were requested."),
  ].filter(Boolean);
}

function keys(proof) {
  if (!proof) return null;
  const names = proof.columns.length ? `(${proof.columns.join(", ")})` : "automatic key";
  return h("p", {}, h("strong", {}, "Proven: "), foreign(names),
    ` unique in ${proof.scope}, not null; ${count(proof.rows, "key")}.`);
}

function fate({ input, published, quarantined, dropped }) {
  const parts = [["good", published, "published"], ["quarantine", quarantined, "quarantined"],
    ["caution", dropped, "dropped"]];
  const words = parts.filter(([, rows]) => rows).map(([, rows, word]) => `${number(rows)} ${word}`);
  const text = `Of ${count(input, "input row")}: ${words.join(", ") || "none published"}.`;
  return h("div", { class: "fate" },
    share(parts.map(([tone, rows]) => [tone, rows / Math.max(1, input)]), text), h("p", {}, text));
}

function checks({ checks: found, more }) {
  const left = Object.entries(more).map(([word, n]) => `${number(n)} ${word}`);
  return h("div", { class: "rows" },
    table(["Check", "Outcome", "Found", "On failure"], found.map((each) => [
      [foreign(each.name), h("span", { class: "kind" }, plain(each.kind))],
      badge(OUTCOMES[each.outcome]),
      `${number(each.failed)} of ${count(each.rows, "row")}`,
      ON_FAIL[each.on_fail] ?? foreign(each.on_fail),
    ])),
    left.length ? h("p", { class: "soft" }, `and ${left.join(", ")} more`) : null);
}
