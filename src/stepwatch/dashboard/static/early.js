// Asks for the headline of a run while the modules of its page still come.

(() => {
  const [page, text] = location.hash.replace(/^#\/?/, "").split("?");
  const run = new URLSearchParams(text ?? "").get("run");
  if (page !== "run" || !run) return;
  const address = `api/run?${new URLSearchParams({ run })}`;
  const answer = fetch(address);
  answer.catch(() => {}); // who asks for it is told
  Object.assign(window, { early: { address, answer } });
})();
