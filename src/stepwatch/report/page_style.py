"""The style sheet and the script of a page; the colours are those of ``plots.theme``."""

#: Draws the figures in the reader's scheme, again when it changes, and in light for printing.
SCRIPT = """
(() => {
  const { figures, templates } = JSON.parse(document.getElementById("figures").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const config = { responsive: true, displaylogo: false,
    showSendToCloud: false, plotlyServerURL: "" };
  const draw = (scheme) => figures.forEach((figure, number) => {
    const layout = { ...figure.layout, template: templates[scheme] };
    Plotly.react(`figure-${number}`, figure.data, layout, config);
  });
  const drawForReader = () => draw(dark.matches ? "dark" : "light");
  drawForReader();
  dark.addEventListener("change", drawForReader);
  window.addEventListener("beforeprint", () => draw("light"));
  window.addEventListener("afterprint", drawForReader);
})();
"""

STYLE = """
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text);
  font: 15px/1.5 var(--font); -webkit-font-smoothing: antialiased; overflow-wrap: anywhere; }
main { max-width: 1120px; margin: 0 auto; padding: 40px 24px 64px; }
p { margin: 0; }
.brand { color: var(--muted); font-size: 13px; letter-spacing: .04em; }
h1 { margin: 2px 0 14px; font-size: 28px; line-height: 1.25; font-weight: 650;
  letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { margin: 40px 0 0; font-size: 20px; line-height: 1.3; font-weight: 620;
  letter-spacing: -.01em; }
h3 { margin: 32px 0 0; font-size: 16px; font-weight: 600; }
h4, figcaption .title { margin: 0; font-size: 14px; font-weight: 600; overflow-wrap: anywhere; }
h4 { padding: 12px 20px 8px; }
.headline { display: block; padding: 12px 16px; border-radius: 6px; font-size: 17px;
  background: color-mix(in srgb, var(--tone) 9%, var(--paper));
  border-left: 4px solid var(--tone); overflow-wrap: anywhere; }
.error { --tone: var(--error); } .warning { --tone: var(--warning); }
.info, .none { --tone: var(--info); }
dl { display: flex; flex-wrap: wrap; gap: 8px 36px; margin: 18px 0 0; }
dt { color: var(--muted); font-size: 12px; }
dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
figure, .card { margin: 16px 0 0; background: var(--paper);
  border: 1px solid var(--grid); border-radius: 8px; overflow: hidden; }
figure { padding: 0 4px 4px; min-width: 0; }
figcaption { padding: 12px 16px 0; }
.subtitle { color: var(--muted); font-size: 12px; overflow-wrap: anywhere; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 330px), 1fr));
  gap: 0 16px; }
.wide { overflow-x: auto; } .wide td, .wide th { overflow-wrap: normal; }
.wide td.long { min-width: 24ch; overflow-wrap: anywhere; }
.text { margin: 12px 0 0; max-width: 76ch; overflow-wrap: anywhere; }
.text.error, .text.warning { padding-left: 12px; border-left: 3px solid var(--tone); }
.note { color: var(--muted); font-size: 13px; }
nav ul { display: flex; flex-wrap: wrap; gap: 2px 20px; margin: 20px 0 0; padding: 0;
  list-style: none; font-size: 13px; }
nav .level-2 { display: none; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
.cause { padding: 14px 18px 16px; border-left: 4px solid var(--tone); }
.cause .message { margin: 6px 0 2px; font-size: 16px; overflow-wrap: anywhere; }
.cause .advice { margin: 8px 0 0; }
.where { color: var(--muted); font-size: 13px; }
.lines { margin: 8px 0; padding: 0 0 0 18px; color: var(--muted); font-size: 13px; }
pre { margin: 2px 0 0; padding: 8px 12px; border-radius: 6px; background: var(--ground);
  font: 12.5px/1.6 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; font-size: 14px; }
.listing { width: fit-content; min-width: min(100%, 440px); max-width: 100%; }
th { text-align: left; font-weight: 500; font-size: 12px; color: var(--muted); }
th, td { padding: 10px 12px; vertical-align: top; border-top: 1px solid var(--grid); }
thead th { border-top: 0; padding: 4px 12px; }
.wide tbody:first-child tr:first-child td { border-top: 0; }
th:first-child, td:first-child { padding-left: 20px; }
td { overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.badge { display: inline-block; padding: 1px 8px; border-radius: 4px; font-size: 12px;
  white-space: nowrap; color: var(--tone);
  background: color-mix(in srgb, var(--tone) 14%, transparent); }
.tensor { font: 12.5px/1.6 var(--mono); overflow-wrap: anywhere; color: var(--muted); }
.more { padding: 10px 20px 14px; color: var(--muted); }
@media (max-width: 640px) { main { padding: 20px 12px 40px; } }
@media print {
  main { max-width: none; padding: 0; }
  figure, tr, .cause { break-inside: avoid; } h2, h3, h4 { break-after: avoid; }
  nav { display: none; } .wide { overflow: visible; }
  .modebar { display: none; }
  body { background: none; font-size: 11pt;
    print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
