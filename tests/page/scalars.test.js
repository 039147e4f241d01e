// Which figure each line is in.

import assert from "node:assert/strict";
import { test } from "node:test";

import { figuresOf, isEvidence, isMarked, rankOf } from "../../src/stepwatch/dashboard/static/scalars.js";
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

test("what names a loss is marked at that loss only, anything else beside every loss", () => {
  const [mse, bce, norm] = [[line("loss/mse")], [line("loss/bce")], [line("gradient norm", { group: "gradients" })]];
  const where = (mark) => [mse, bce, norm].map((own) => isMarked(own, mark));
  assert.deepEqual(where({ figures: ["loss/mse"], view: "losses" }), [true, false, false]);
  assert.deepEqual(where({ figures: [], view: "gradients" }), [true, true, true]);
  assert.deepEqual(where({ figures: [], view: "losses" }), [true, true, false]);
});

test("figures that findings name come first, and those of the headline are outlined", () => {
  const [a, b, c] = ["loss/a", "loss/b", "loss/c"].map((name) => [line(name)]);
  assert.deepEqual([a, b, c].map((own) => isEvidence(own, "losses", ["loss/c"])), [false, false, true]);
  assert.deepEqual([a, b, c].map((own) => isEvidence(own, "losses", [])), [true, true, true]);
  assert.equal(isEvidence(a, "", []), false);
  const order = [[a, false], [b, false], [c, true]].sort(([x, first], [y, second]) => rankOf(x, first, ["loss/c", "loss/b"]) - rankOf(y, second, ["loss/c", "loss/b"]));
  assert.deepEqual(order.map(([own]) => own[0].name), ["loss/c", "loss/b", "loss/a"]);
});
