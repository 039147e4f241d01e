// Asks the server, and hears from it when a run changes.

export async function ask(what, query = {}, signal = undefined) {
  const known = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const answer = await fetch(`api/${what}?${new URLSearchParams(known)}`, { signal });
  const type = answer.headers.get("content-type") || "";
  if (!type.startsWith("application/json")) throw new Error(await answer.text());
  const told = await answer.json();
  if (told.error) throw new Error(told.error);
  return told;
}

// Calls `changed` when the run changed, not more often than it can be drawn, and not while hidden.
export function follow(run, changed, signal) {
  const source = new EventSource(`events?${new URLSearchParams({ run })}`);
  let seen = "";
  let due = false;
  let busy = false;
  const look = async () => {
    if (!due || busy || document.hidden || signal.aborted) return;
    due = false;
    busy = true;
    try {
      await changed();
    } finally {
      busy = false;
      setTimeout(look, 400);
    }
  };
  source.addEventListener("message", (event) => {
    // The first word counts too: the run may have changed since the page was drawn.
    due = due || seen !== event.data;
    seen = event.data;
    look();
  });
  document.addEventListener("visibilitychange", look, { signal });
  signal.addEventListener("abort", () => source.close());
  return source;
}
