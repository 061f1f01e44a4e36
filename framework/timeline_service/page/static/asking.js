// Requests to the service, with the token from the address or the form.

const BASE = "/v1/lakestrap/page/";
const NAME = "lakestrap.token";
const PATIENCE_MS = 30000;

let token = stored();

// A failed request; `kind` is its cause: token, missing, fault, silent.
export class Refused extends Error {
  constructor(kind, message, condition = "") {
    super(message);
    this.kind = kind;
    this.condition = condition;
  }
}

// Take the token from the address, if it has one, and remove it from sight.
export function takeToken() {
  const found = /^#token=([\w.~-]+)$/.exec(location.hash);
  if (!found) return;
  useToken(found[1]);
  history.replaceState(null, "", "#/");
}

export function useToken(text) {
  token = text;
  try {
    sessionStorage.setItem(NAME, text);
  } catch {
    // Without browser storage, the token is kept for this page only.
  }
}

// Whether there is a token that the service may have rejected.
export function hasToken() {
  return token !== "";
}

function stored() {
  try {
    return sessionStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}

// Return the response of `path`; null if it still has the fingerprint `known`.
export async function ask(path, parameters = {}, known = "") {
  const query = new URLSearchParams({ ...parameters, ...(known ? { known } : {}) });
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const response = await fetched(`${BASE}${path}?${query}`, headers);
  const found = await body(response);
  if (response.ok) return found.same ? null : found;
  const said = found?.error ?? `the service returned status ${response.status}`;
  if (response.status === 401) throw new Refused("token", said);
  if (response.status === 404) throw new Refused("missing", said);
  throw new Refused("fault", said, found?.condition);
}

async function fetched(url, headers) {
  try {
    return await fetch(url, {
      headers, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(PATIENCE_MS),
    });
  } catch (error) {
    throw new Refused("silent", String(error));
  }
}

async function body(response) {
  try {
    return await response.json();
  } catch (error) {
    if (!response.ok) return null;
    throw new Refused("silent", `the response was truncated: ${error}`);
  }
}
