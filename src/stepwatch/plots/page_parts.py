"""The style and the script of a page."""

from __future__ import annotations

from .theme import FONT, INK, SEVERITY_COLORS, Scheme

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

_STYLE = """
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text);
  font: 15px/1.5 var(--font); -webkit-font-smoothing: antialiased; }
main { max-width: 1120px; margin: 0 auto; padding: 40px 24px 64px; }
p { margin: 0; }
.brand { color: var(--muted); font-size: 13px; letter-spacing: .04em; }
h1 { margin: 2px 0 14px; font-size: 28px; line-height: 1.25; font-weight: 650;
  letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { margin: 0; padding: 16px 20px 10px; font-size: 15px; font-weight: 600; }
.headline { display: block; padding: 12px 16px; border-radius: 6px; font-size: 17px;
  background: color-mix(in srgb, var(--tone) 9%, var(--paper));
  border-left: 4px solid var(--tone); overflow-wrap: anywhere; }
.error { --tone: var(--error); } .warning { --tone: var(--warning); }
.info, .none { --tone: var(--info); }
dl { display: flex; flex-wrap: wrap; gap: 8px 36px; margin: 18px 0 0; }
dt { color: var(--muted); font-size: 12px; }
dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
section, figure { margin: 24px 0 0; background: var(--paper); border: 1px solid var(--grid);
  border-radius: 8px; overflow: hidden; }
figure { padding: 0; }
table { width: 100%; border-collapse: collapse; font-size: 14px; }
th { text-align: left; font-weight: 500; font-size: 12px; color: var(--muted); }
th, td { padding: 10px 12px; vertical-align: top; border-top: 1px solid var(--grid); }
thead th { border-top: 0; padding: 4px 12px; }
th:first-child, td:first-child { padding-left: 20px; }
td { overflow-wrap: anywhere; } td.rule { white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.badge { display: inline-block; padding: 1px 8px; border-radius: 4px; font-size: 12px;
  white-space: nowrap; color: var(--tone);
  background: color-mix(in srgb, var(--tone) 14%, transparent); }
.tensor { font: 12.5px/1.6 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  color: var(--muted); }
.remedy { color: var(--muted); }
.more { padding: 10px 20px 14px; color: var(--muted); }
@media (max-width: 640px) { main { padding: 20px 12px 40px; } td.rule { white-space: normal; } }
@media print {
  main { max-width: none; padding: 0; }
  figure, tr { break-inside: avoid; }
  .modebar { display: none; }
  body { background: none; font-size: 11pt;
    print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""

#: What only a page needs: the ground under its cards, and marks that are read as text.
_GROUND = {"light": "#f6f7f9", "dark": "#0e1116"}
_DARK_MARKS = {"error": "#f2707f", "warning": "#e8a33d", "info": "#9aa4b1"}
_LIGHT_MARKS = {**SEVERITY_COLORS, "warning": "#9a5b00"}


def page_style() -> str:
    """Return the style sheet: light, dark where the reader prefers it, light on paper."""
    return (
        f":root {{ --font: {FONT}; {_variables('light')} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_variables('dark')} }} }}\n"
        f"{_STYLE}"
    )


def _variables(scheme: Scheme) -> str:
    marks = _DARK_MARKS if scheme == "dark" else _LIGHT_MARKS
    colors = {**INK[scheme], **marks, "ground": _GROUND[scheme]}
    return " ".join(f"--{name}: {color};" for name, color in colors.items())
