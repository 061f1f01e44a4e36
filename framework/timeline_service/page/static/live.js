// Polling: often while something is pending, otherwise rarely, and not in a hidden tab.

import { Refused } from "./asking.js";
import { tickTimes } from "./words.js";

const SOON_MS = 1000;
const SELDOM_MS = 3000;

let heard = null;

// Call `look` until `stop` is called on the result; `look` resolves to whether to poll soon again.
// `refused` gets errors that end the polling. The page shows when the service does not respond.
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

// Show that the service does not respond or fails; true if it may recover by itself.
function quiet(error) {
  if (error.kind === "silent") {
    const last = heard ? ` Last response at ${new Date(heard).toISOString().slice(11, 19)} UTC.` : "";
    trouble(`The service does not respond.${last} The page shows the state at that time. Retrying.`);
    pulse("gone", "no response");
    document.body.classList.add("stale");
    return true;
  }
  if (error.kind === "fault") {
    const condition = error.condition ? ` [${error.condition}]` : "";
    trouble(`The table cannot be read: ${error.message}${error.message.includes("[") ? "" : condition}`
      + " Retrying.");
    pulse("gone", "error");
    return true;
  }
  return false;
}

// A bug of the page itself: shown, so that stale content is not mistaken for current data.
function fail(error) {
  console.error(error);
  trouble(`This page failed, and its content may be outdated: ${error}`);
  pulse("gone", "error");
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
