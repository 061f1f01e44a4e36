// Numbers, sizes, times and outcomes as text, in the format of the commands.

import { h } from "./drawing.js";

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];
const STEPS = [[86400, " d"], [3600, " h"], [60, " min"]];

export function number(value) {
  return value.toLocaleString("en");
}

export function count(value, word, plural = `${word}s`) {
  return `${number(value)} ${value === 1 ? word : plural}`;
}

// Decimal units, one digit after the point from kB up.
export function size(bytes) {
  let value = bytes;
  let unit = 0;
  while (Math.round(value * 10) / 10 >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return unit === 0 ? `${bytes} B` : `${value.toFixed(1)} ${UNITS[unit]}`;
}

// A large number in compact form, for the scale of a chart.
export function short(value) {
  return new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 })
    .format(value);
}

export function utc(ms) {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

export function took(ms) {
  if (ms < 10000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function ago(ms) {
  const seconds = Math.max(0, Math.round((Date.now() - ms) / 1000));
  if (seconds < 5) return "just now";
  for (const [step, word] of STEPS) {
    if (seconds >= step) return `${number(Math.floor(seconds / step))}${word} ago`;
  }
  return `${seconds} s ago`;
}

// The age of a time, kept current by `tickTimes`.
export function since(ms) {
  return h("time", { datetime: new Date(ms).toISOString(), title: `${utc(ms)} UTC`, "data-ago": ms },
    ago(ms));
}

// The duration since a time, kept current by `tickTimes`.
export function lasting(ms) {
  return h("time", { "data-lasting": ms }, took(Math.max(0, Date.now() - ms)));
}

export function tickTimes() {
  for (const each of document.querySelectorAll("time[data-ago]")) {
    each.textContent = ago(Number(each.dataset.ago));
  }
  for (const each of document.querySelectorAll("time[data-lasting]")) {
    each.textContent = took(Math.max(0, Date.now() - Number(each.dataset.lasting)));
  }
}

// `copy_on_write` as plain words.
export function plain(word) {
  return word.replaceAll("_", " ").toLowerCase();
}

export const OUTCOMES = {
  passed: ["good", "✓ passed"],
  failed: ["bad", "✕ failed"],
  warned: ["caution", "! warned"],
  quarantined: ["quarantine", "↳ quarantined"],
  dropped: ["quarantine", "- dropped"],
};

export const VERDICTS = {
  passed: ["good", "✓ passed"],
  warned: ["caution", "! warned"],
  taken_out: ["quarantine", "↳ rows removed"],
  none: ["plain", "no gate"],
};

export const STATES = {
  requested: ["caution", "requested"],
  inflight: ["caution", "inflight"],
  completed: ["good", "completed"],
};

export function badge([tone, word], more = {}) {
  return h("span", { class: `badge ${tone}`, ...more }, word);
}

// The verdict of the last gate, for a heading.
export function lastGate(verdict) {
  if (!VERDICTS[verdict]) return null;
  if (verdict === "none") return badge(VERDICTS.none);
  return h("p", {}, h("span", { class: "soft" }, "last gate "), badge(VERDICTS[verdict]));
}

// A table's name, or the name of its folder if there is no table.
export function nameOf(table) {
  return table.name ?? table.location.split("/").filter(Boolean).pop() ?? table.location;
}

// An instant's operation or action, for a heading.
export function deed({ action, operation }) {
  return operation && operation !== "UNKNOWN" ? `${plain(operation)}` : plain(action);
}
