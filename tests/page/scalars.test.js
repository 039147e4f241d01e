// Which figure each line is in.

import assert from "node:assert/strict";
import { test } from "node:test";

import { figuresOf } from "../../src/stepwatch/dashboard/static/scalars.js";
import { gapsOf, keyOf, logTicks } from "../../src/stepwatch/dashboard/static/numbers.js";

const line = (name, more = {}) => ({ name, group: "losses", mode: "TRAIN", worker: "", x: [], y: [], width: 1, whole: true, ...more });

test("training and evaluations of one name share a figure, and rates another", () => {
  const found = figuresOf([line("loss/a"), line("loss/a", { mode: "EVAL" }), line("loss/a", { mode: "EVAL 2" }), line("rate/0", { group: "learning_rates" }), line("rate/1", { group: "learning_rates" })]);
  assert.deepEqual([...found].map(([title, lines]) => [title, lines.length]), [["loss/a", 3], ["learning rate", 2]]);
});

test("each evaluation at a step and each worker is a line of its own", () => {
  const lines = [line("a"), line("a", { mode: "EVAL" }), line("a", { mode: "EVAL 2" }), line("a", { worker: "worker_1" })];
  assert.equal(new Set(lines.map(keyOf)).size, 4);
});

test("between points that lie far apart is a gap, and not between neighbours", () => {
  assert.deepEqual(gapsOf(line("a", { x: [0, 1, 3, 9], width: 1 })), [6]);
  assert.deepEqual(gapsOf(line("a", { x: [0, 8, 24], width: 8 })), []);
});

test("logarithmic axes are labelled at decades, and within few of them at 2 and 5", () => {
  assert.deepEqual(logTicks(1.5, 30), [2, 5, 10, 20]);
  assert.deepEqual(logTicks(1e-6, 1), [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1]);
});
