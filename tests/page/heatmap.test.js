// Where a value has its colour.

import assert from "node:assert/strict";
import { test } from "node:test";

import { scaleOf, shareOf } from "../../src/stepwatch/dashboard/static/heatmap.js";

const matrix = (...cells) => ({ rows: cells.map(String), first: [0], last: [0], cells: cells.map((cell) => [cell]) });

test("no update at all is below what is healthy, also where all others are healthy", () => {
  const scale = scaleOf(matrix(0, 0.002, 0.003), true, [1e-4, 1e-2]);
  const [none, healthy] = [0, 0.002].map((value) => shareOf(value, scale));
  assert.ok(none === 0 && healthy > 0.4 && healthy < 0.6);
});

test("what is healthy lies in the middle, what is below and above it on its sides", () => {
  const scale = scaleOf(matrix(1e-6, 1e-3, 1), true, [1e-4, 1e-2]);
  const [below, within, above] = [1e-6, 1e-3, 1].map((value) => shareOf(value, scale));
  assert.ok(below < 0.4 && within > 0.4 && within < 0.6 && above > 0.6);
});
