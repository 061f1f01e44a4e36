// The page's entry point: the view of the address, and messages if none can be shown.

import { hasToken, takeToken, useToken } from "./asking.js";
import { h, say } from "./drawing.js";
import { pulse, trouble } from "./live.js";
import { showTable } from "./table.js";
import { showTables } from "./tables.js";

const main = document.getElementById("main");
let view = null;

function route() {
  takeToken();
  view?.stop();
  trouble("");
  const found = /^#\/table\/([0-9a-f]+)$/.exec(location.hash);
  main.replaceChildren();
  view = found ? showTable(main, found[1], refused) : showTables(main, refused);
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
}

// Show why a view cannot be shown, and the remedy.
function refused(error) {
  pulse("gone", error.kind === "token" ? "token needed" : "not found");
  trouble("");
  if (error.kind === "token") askForToken();
  else main.replaceChildren(missing(error));
}

function missing(error) {
  say("Not served here");
  return h("section", { class: "card" },
    h("h1", {}, "Not served here"),
    h("p", {}, `The service reports: ${error.message}. It may have been started for other tables.`),
    h("p", {}, h("a", { href: "#/" }, "All tables of this service")));
}

function askForToken() {
  const field = h("input", {
    id: "token", name: "token", type: "password", autocomplete: "off", spellcheck: "false",
    required: true, "aria-describedby": "token-help",
  });
  const form = h("form", {
    class: "card token",
    onsubmit: (event) => {
      event.preventDefault();
      useToken(field.value.trim());
      route();
    },
  },
  h("h1", {}, "Access token"),
  hasToken()
    ? h("p", { class: "note", role: "alert" }, "The service rejected this token.")
    : null,
  h("p", { id: "token-help" }, "run-pipeline serve prints this page's address with its token; each "
    + "start creates a new one. Open that address, or paste the token here. It stays in this tab."),
  h("label", { for: "token" }, "Token"),
  h("div", { class: "row" }, field, h("button", { type: "submit", class: "main" }, "Open")));
  main.replaceChildren(form);
  field.focus();
}

document.getElementById("skip").addEventListener("click", () => main.focus());
addEventListener("hashchange", route);
route();
