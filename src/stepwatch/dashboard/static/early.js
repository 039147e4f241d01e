// Asks for the headline of a run while the modules of its page still come, then for what draws.

(() => {
  const [page, text] = location.hash.replace(/^#\/?/, "").split("?");
  const run = new URLSearchParams(text ?? "").get("run");
  if (page !== "run" || !run) return;
  const address = `api/run?${new URLSearchParams({ run })}`;
  const answer = fetch(address);
  answer.catch(() => {}); // who asks for it is told
  Object.assign(window, { early: { address, answer } });
  // A browser has few connections to a server: these take none from the headline.
  answer.finally(() => {
    for (const name of ["evidence", "heatmap", "layers", "lines", "numbers", "scalars"]) preload("modulepreload", `static/${name}.js`);
    preload("preload", "static/uplot/uPlot.iife.min.js");
  }).catch(() => {});
  function preload(rel, href) {
    document.head.append(Object.assign(document.createElement("link"), { rel, href, as: "script" }));
  }
})();
