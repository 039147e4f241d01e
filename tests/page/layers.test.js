// The table of layers: what stands in a row, and of which step it is.

import assert from "node:assert/strict";
import { test } from "node:test";

import { lastStep, layerRows } from "../../src/stepwatch/dashboard/static/layers.js";

const one = (name, last, at, spark) => ({ name, leaf: true, last, at, spark, bad: false });

test("a curve is of the gradient, and a row without one has none", () => {
  const rows = layerRows({ gradients: [one("gradient/a.weight", 0, 9, [0, 0])], outputs: [one("output/a", 0.5, 9, [0.1, 0.9])], weights: [one("b", 1, 9, [1, 2])] }, ["a"]);
  const sparks = Object.fromEntries(rows.map((row) => [row.name, row.spark]));
  assert.deepEqual(sparks, { a: [], "a.weight": [0, 0], b: [] });
});

test("a number has the step that it is of, and a column the last of them", () => {
  const rows = layerRows({ weights: [one("a", 1, 9, []), one("b", 1, 4, [])] }, []);
  assert.deepEqual([rows.map((row) => row.at.weight), lastStep(rows, "weight"), lastStep(rows, "gradient")], [[9, 4], 9, -1]);
});
