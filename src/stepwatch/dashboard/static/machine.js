// What the machine did: every device over time, the phases of steps, and what ran around one.

import { draw, place, say } from "./chart.js";
import { address, el } from "./dom.js";
import { ask } from "./net.js";

export async function show({ content, query, signal, state }) {
  const { run, step } = query;
  const phases = place(340);
  const devices = place(420);
  const near = place(260);
  const field = el("input", { type: "number", min: 0, value: step ?? "", placeholder: "step", "aria-label": "step" });
  field.addEventListener("change", () => {
    location.hash = address("machine", { run, step: field.value });
  });
  const around = el("div", { className: "line" }, el("h2", {}, "Around a step"), field);
  content.append(el("h1", {}, "Machine"), phases.figure, around, near.figure, devices.figure);

  const update = async () => {
    const about = await ask("run", { run }, signal);
    state(about.state);
    if (!about.profiled) {
      for (const part of [around, near.figure, devices.figure]) part.hidden = true;
      say(phases, "nothing of the machine was recorded in this run");
      return;
    }
    const get = (figure, more = {}) => ask("figure", { run, figure, ...more }, signal);
    await Promise.all([
      get("phases").then((it) => draw(phases, it, (point) => {
        location.hash = address("machine", { run, step: Math.round(point.x) });
      })),
      step === undefined
        ? say(near, "click on a step above, or write its number")
        : get("timeline", { step }).then((it) => draw(near, it), (error) => say(near, error.message)),
      get("system", { step }).then((it) => draw(devices, it)),
    ]);
  };
  await update();
  return update;
}
