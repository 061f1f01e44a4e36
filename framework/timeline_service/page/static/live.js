// Asking again and again: soon while something happens, seldom otherwise, not at all unseen.

import { Refused } from "./asking.js";
import { tickTimes } from "./words.js";

const SOON_MS = 1000;
const SELDOM_MS = 3000;

let heard = null;

// Call `look` until `stop` is called on what is returned; it resolves to whether to look soon again.
// `refused` hears of answers that end the looking. The reader is told when the service is silent.
export function follow(look, refused) {
  let timer = 0;
  let stopped = false;
  let at_work = false;
  let again = false;

  async function round() {
    clearTimeout(timer);
    if (stopped || document.hidden) return;
    if (at_work) {
      again = true;
      return;
    }
    at_work = true;
    let soon = false;
    try {
      soon = await look();
      heard = Date.now();
      if (!stopped) pulse("live", soon ? "live, every second" : "live");
    } catch (error) {
      if (!(error instanceof Refused)) fail(error);
      else if (!stopped && !quiet(error)) {
        stopped = true;
        refused(error);
      }
    } finally {
      at_work = false;
    }
    if (again) soon = true;
    again = false;
    if (!stopped) timer = setTimeout(round, soon ? SOON_MS : SELDOM_MS);
  }

  const seen = () => (document.hidden ? pulse("paused", "paused") : round());
  document.addEventListener("visibilitychange", seen);
  round();
  return {
    now: round,
    stop() {
      stopped = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    },
  };
}

// Tell of a service that does not answer, or cannot; true where it may by itself do so later.
function quiet(error) {
  if (error.kind === "silent") {
    const last = heard ? ` It last did at ${new Date(heard).toISOString().slice(11, 19)} UTC.` : "";
    trouble(`The service does not answer.${last} What you see is from then. Trying again.`);
    pulse("gone", "no answer");
    document.body.classList.add("stale");
    return true;
  }
  if (error.kind === "fault") {
    const condition = error.condition ? ` [${error.condition}]` : "";
    trouble(`The table cannot be read: ${error.message}${error.message.includes("[") ? "" : condition}`
      + " Trying again.");
    pulse("gone", "trouble");
    return true;
  }
  return false;
}

// A fault of the page itself: told, so that nobody takes what stands there for the truth.
function fail(error) {
  console.error(error);
  trouble(`This page has a fault of its own, so what it shows may be old: ${error}`);
  pulse("gone", "trouble");
}

export function trouble(text) {
  const place = document.getElementById("trouble");
  if (place.textContent !== text) place.textContent = text;
  place.hidden = text === "";
}

export function pulse(kind, word) {
  const place = document.getElementById("pulse");
  place.className = `pulse ${kind}`;
  document.getElementById("pulse-word").textContent = word;
  document.body.classList.remove("stale");
  if (kind === "live") trouble("");
}

setInterval(() => { if (!document.hidden) tickTimes(); }, 1000);
