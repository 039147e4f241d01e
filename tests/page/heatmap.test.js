// Where a value has its colour.

import assert from "node:assert/strict";
import { test } from "node:test";

import { gapsOfRows, pointerOf, rowLabels, scaleOf, shareOf } from "../../src/stepwatch/dashboard/static/heatmap.js";

const matrix = (...cells) => ({ rows: cells.map(String), first: [0], last: [0], cells: cells.map((cell) => [cell]) });

test("zero has a colour of its own where colours go by factors, and no other number changes by it", () => {
  const [without, scale] = [scaleOf(matrix(0.002, 0.003), true), scaleOf(matrix(0, 0.002, 0.003), true)];
  assert.deepEqual({ ...without, zero: true }, scale);
  assert.equal(shareOf(0.002, scale), 0);
  assert.ok(scaleOf(matrix(0, 0.002), true, [1e-4, 1e-2]).band, "also where one other number is there");
  assert.ok(scaleOf(matrix(1, 1), true, [1e-4, 1e-2]).band, "also where all are alike: far above what is usual");
  assert.ok(!scaleOf(matrix(0, 0.5, 1), false).zero, "on a linear scale it has its place");
});

test("of nothing but zeros zero has its colour, too", () => {
  assert.ok(scaleOf(matrix(0, 0), true).zero);
});

test("a row has nothing only where others were measured", () => {
  const cells = [[1, null, null, null], [1, 2, null, 3], [null, null, null, null]];
  const rows = gapsOfRows({ rows: ["trained at first", "always", "never"], first: [0, 1, 2, 3], last: [0, 1, 2, 3], cells, unfit: [[], [], []] });
  assert.deepEqual(rows, [[[1, 3]], [], [[0, 3]]]);
});

test("what is not finite is not nothing", () => {
  const rows = gapsOfRows({ rows: ["nan", "a"], first: [0, 1], last: [0, 1], cells: [[null, null], [1, 1]], unfit: [[0, 1], []] });
  assert.deepEqual(rows, [[], []]);
});

test("what is healthy lies in the middle, what is below and above it on its sides", () => {
  const scale = scaleOf(matrix(1e-6, 1e-3, 1), true, [1e-4, 1e-2]);
  const [below, within, above] = [1e-6, 1e-3, 1].map((value) => shareOf(value, scale));
  assert.ok(below < 0.4 && within > 0.4 && within < 0.6 && above > 0.6);
});

test("a mark stands in its cell, and beside one that is too narrow for it", () => {
  const [wide, narrow, first] = [pointerOf(100, 130, 5, 60), pointerOf(100, 102, 5, 60), pointerOf(60, 62, 5, 60)];
  assert.ok(wide.base >= 100 && wide.tip <= 130 && wide.base < wide.tip);
  assert.ok(narrow.base < narrow.tip && narrow.tip <= 100);
  assert.ok(first.tip >= 62 && first.base > first.tip, "before the first there is no room");
});

test("rows are called by their whole names where there is room", () => {
  const names = ["features.0.weight", "features.7.bias"];
  assert.deepEqual(rowLabels(names, () => true), names);
  assert.deepEqual(rowLabels(names, (label) => label.length < 10), ["…0.weight", "…7.bias"]);
});
