// Asks the server, and hears from it when a run changes.

/** The server did not answer: it is away, or the way to it is. */
export class ConnectionLost extends Error {}
/** What was asked for is not there, yet. */
export class NotThere extends Error {}

let heardAt = new Date();
/** When the server answered last. */
export const heard = () => heardAt;

/** @param {string} what @param {Record<string, any>} query @param {AbortSignal} [signal] */
export async function ask(what, query = {}, signal = undefined) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== null && value !== "") parameters.append(name, String(value));
  let answer;
  try {
    answer = await (early(`api/${what}?${parameters}`) ?? fetch(`api/${what}?${parameters}`, { signal }));
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ConnectionLost("connection lost");
  }
  heardAt = new Date();
  const type = answer.headers.get("content-type") || "";
  if (!type.startsWith("application/json")) throw new Error(await answer.text());
  const told = await answer.json();
  if (told.error) throw answer.status === 404 ? new NotThere(told.error) : new Error(told.error);
  return told;
}

/** What was asked for before this module was there; once.
 * @param {string} address @returns {Promise<Response>|undefined} */
function early(address) {
  const { early: begun } = /** @type {any} */ (window);
  if (begun?.address !== address) return undefined;
  delete (/** @type {any} */ (window).early);
  return begun.answer;
}

// How long from one update to the next; more where updates take long.
const leastMs = 2500;

/**
 * Calls `changed` when a run changed, and `lost` with whether the server is away.
 * @param {string} run @param {() => Promise<void>} changed @param {(away: boolean) => void} lost @param {AbortSignal} signal
 */
export function follow(run, changed, lost, signal) {
  const source = new EventSource(`events?${new URLSearchParams({ run })}`);
  let seen = "";
  let due = false;
  let busy = false;
  let again = 0;
  const look = async () => {
    if (!due || busy || document.hidden || signal.aborted) return;
    due = false;
    busy = true;
    const began = performance.now();
    try {
      await changed();
      lost(false);
    } catch (error) {
      if (error instanceof ConnectionLost) {
        due = true;
        lost(true);
      }
    } finally {
      again = window.setTimeout(() => {
        busy = false;
        look();
      }, Math.max(leastMs, 4 * (performance.now() - began)));
    }
  };
  source.addEventListener("message", (event) => {
    // The first word counts too: the run may have changed since the page was drawn.
    due = due || seen !== event.data;
    seen = event.data;
    lost(false);
    look();
  });
  source.addEventListener("error", () => { if (!signal.aborted) lost(true); });
  document.addEventListener("visibilitychange", look, { signal });
  signal.addEventListener("abort", () => {
    clearTimeout(again);
    source.close();
  });
  return source;
}
