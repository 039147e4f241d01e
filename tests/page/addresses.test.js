// Addresses, layers and heat maps: what is pure of them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { mergedMatrix, rowOrder, scaleOf, shareOf } from "../../src/stepwatch/dashboard/static/heatmap.js";
import { layerRows, sortedRows } from "../../src/stepwatch/dashboard/static/layers.js";
import { matches, tagsOf } from "../../src/stepwatch/dashboard/static/runs.js";
import { address, parseAddress, parseList, parseRange, writeList } from "../../src/stepwatch/dashboard/static/url.js";

test("an address holds what was chosen, and lists", () => {
  const query = { run: ["a/b", "c d"], x: "1:2", none: "" };
  assert.deepEqual(parseAddress(address("compare", query)), { page: "compare", query: { run: ["a/b", "c d"], x: "1:2" } });
  assert.deepEqual(parseAddress(""), { page: "", query: {} });
});

test("a range is two numbers that ascend", () => {
  assert.deepEqual([parseRange("3:9"), parseRange("9:3"), parseRange("a:b"), parseRange(undefined)], [[3, 9], null, null, null]);
});

test("a list may hold commas", () => {
  assert.deepEqual(parseList(writeList(["a,b", "c"])), ["a,b", "c"]);
});

const one = (name, last, more = {}) => ({ name, last, spark: [], bad: false, leaf: true, ...more });

test("parameters stand beneath their modules, in the order of the model", () => {
  const layers = {
    weights: [one("stem.weight", 1), one("blocks.0.fc.weight", 2), one("blocks.0.fc.bias", 3)],
    gradients: [one("gradient/stem.weight", 0.1, { bad: true })],
    outputs: [one("output/stem", 0.5), one("output/blocks.0.fc", 0)],
  };
  const rows = layerRows(layers, ["stem", "blocks.0.fc"]);
  assert.deepEqual(rows.map((row) => `${" ".repeat(row.depth)}${row.label}`), ["stem", " weight", "blocks", " 0", "  fc", "   weight", "   bias"]);
  assert.deepEqual([rows[1].weight, rows[1].gradient, rows[1].bad, rows[0].zeros], [1, 0.1, true, 0.5]);
  assert.equal(rows[1].tensor, "gradient/stem.weight");
  assert.deepEqual(sortedRows(rows, "weight", false).map((row) => row.weight), [3, 2, 1]);
});

test("rows with a finding are above the others", () => {
  assert.deepEqual(rowOrder({ rows: ["a", "b", "c"], first: [], last: [], cells: [], marks: [{ row: 1 }] }), { order: [1, 0, 2], above: 1 });
  assert.equal(rowOrder({ rows: ["a"], first: [], last: [], cells: [], marks: [{ row: 0 }] }).above, 0);
});

test("colours go by factors only where nothing is negative", () => {
  const matrix = (cells) => ({ rows: ["a"], first: [0, 1], last: [0, 1], cells: [cells] });
  assert.deepEqual(scaleOf(matrix([0, 0.01, 10]), true), { low: 0.01, high: 10, log: true, signed: false, zero: true, band: null });
  assert.deepEqual(scaleOf(matrix([-1, 3]), true), { low: -3, high: 3, log: false, signed: true, zero: false, band: null });
  assert.deepEqual(scaleOf(matrix([null, null]), true), { low: 0, high: 1, log: false, signed: false, zero: false, band: null });
});

test("new columns of a heat map stand behind the old ones", () => {
  const old = { first: [0, 1, 2], last: [0, 1, 2], cells: [[1, 2, 3]], unfit: [[1, 2]], whole: true };
  const fresh = { first: [2, 3], last: [2, 3], cells: [[9, 4]], unfit: [[1]], whole: false };
  const both = mergedMatrix(old, fresh, 2);
  assert.deepEqual([both.first, both.cells, both.unfit], [[0, 1, 2, 3], [[1, 2, 9, 4]], [[1, 3]]]);
});

test("what is healthy has the middle of the colors, what is not the ends", () => {
  const scale = scaleOf({ rows: ["a"], first: [0], last: [0], cells: [[1e-8, 1e-3, 10]] }, true, [1e-4, 1e-2]);
  assert.deepEqual(scale.band, [1e-4, 1e-2]);
  assert.equal(shareOf(1e-8, scale), 0);
  assert.ok(Math.abs(shareOf(1e-3, scale) - 0.5) < 1e-9);
  assert.equal(shareOf(10, scale), 1);
});

test("rows of what was found first are on top, however many they are", () => {
  const matrix = { rows: ["a", "b", "c"], first: [], last: [], cells: [], above: [2, 0], marks: [{ row: 1 }] };
  assert.deepEqual(rowOrder(matrix), { order: [2, 0, 1], above: 2 });
});

test("runs are found by the tags, note and configuration that they were started with", () => {
  const run = { name: "a", state: "finished", tags: ["base"], note: "first try", project: "vision", settings: { "model.layers": "2" } };
  const notes = { get: () => ({ tags: ["base", "mine"] }) };
  assert.deepEqual(tagsOf(run, notes), ["base", "mine"]);
  for (const text of ["#base", "#mine", "first", "vision", "model.layers=2"]) assert.ok(matches(run, text, notes), text);
  assert.ok(!matches(run, "#other", notes));
});
