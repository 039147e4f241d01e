// Columns of numbers, as the page merges, smooths and looks them up.

import assert from "node:assert/strict";
import { test } from "node:test";

import { seconds } from "../../src/stepwatch/dashboard/static/format.js";
import { commonPrefix, conditions, csv, difference, inRow, interpolate, isWider, keyOf, merged, nearest, ofAll, roundSteps, sinceOf, smoothed, suitsLog, ticks } from "../../src/stepwatch/dashboard/static/numbers.js";

const line = (x, y, more = {}) => ({ name: "loss", group: "losses", mode: "TRAIN", worker: "", x, y, width: 1, whole: false, ...more });

test("new columns stand behind the old ones, and the last bucket is replaced", () => {
  const both = merged(line([0, 1, 2], [5, 4, 9]), line([2, 3], [3, 2]), 2);
  assert.deepEqual([both.x, both.y], [[0, 1, 2, 3], [5, 4, 3, 2]]);
});

test("a line that is sent whole replaces the old one", () => {
  assert.deepEqual(merged(line([0, 1], [5, 4]), line([0, 2], [4.5, 3], { whole: true, width: 2 }), 0).x, [0, 2]);
});

test("only a line that goes on with other buckets than the page has is asked for again", () => {
  const has = new Map([line([0], [5])].map((one) => [keyOf(one), one]));
  const found = [line([2], [3]), line([2], [3], { width: 2 }), line([0], [3], { width: 2, whole: true }), line([2], [3], { name: "other", width: 2 })];
  assert.deepEqual(found.map((one) => isWider(has, one)), [false, true, false, false]);
});

test("a band that begins later has the old values as its edges", () => {
  const both = merged(line([0], [5]), line([1], [4], { low: [3], high: [6] }), 1);
  assert.deepEqual([both.low, both.high], [[5, 3], [5, 6]]);
});

test("where values are not finite is kept without doubling", () => {
  assert.deepEqual(merged(line([0, 1], [1, null], { unfit: [1] }), line([1, 2], [null, null], { unfit: [1, 2] }), 1).unfit, [1, 2]);
});

test("what is asked for again begins with the bucket of the last step", () => {
  assert.deepEqual([sinceOf(10, 1), sinceOf(10, 4), sinceOf(-1, 4)], [10, 8, 0]);
});

test("the nearest of two is found, and none in nothing", () => {
  assert.deepEqual([nearest([0, 10, 20], 14), nearest([0, 10, 20], 16), nearest([0, 10], 99), nearest([], 3)], [1, 2, 1, -1]);
});

test("between knots lies a straight line, and beyond them it goes on", () => {
  assert.equal(interpolate(5, [0, 10], [0, 100]), 50);
  assert.equal(interpolate(12, [0, 10], [0, 100]), 120);
  assert.equal(interpolate(3, [], []), 3);
});

test("smoothing keeps constants, gaps and the first value", () => {
  assert.deepEqual(smoothed([2, 2, null, 2], 0.9), [2, 2, null, 2]);
  assert.equal(smoothed([1, 3], 0.5)[0], 1);
  assert.ok(Math.abs(smoothed([0, 1], 0.5)[1] - 2 / 3) < 1e-12);
});

test("labels are at round numbers", () => {
  assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(3, 3, 5), [3]);
});

test("a common beginning is cut after a separator, and never leaves a name empty", () => {
  assert.equal(commonPrefix(["gradient/a.w", "gradient/a.b"]), "gradient/a.");
  assert.equal(commonPrefix(["gradient/w", "gradient/x"]), "gradient/");
  assert.equal(commonPrefix(["a/", "a/b"]), "");
  assert.equal(commonPrefix(["one"]), "");
});

test("commas and quotes in a name stay in their cell", () => {
  assert.equal(csv([{ ...line([1], [2]), name: 'a,"b"' }]).split("\n")[1], '"a,""b""",TRAIN,,1,2,,');
});

test("a difference has no value where the other line has none near", () => {
  assert.deepEqual(difference(line([0, 1, 9], [5, 4, 1]), line([0, 1], [1, 1])).y, [4, 3, null]);
});

test("a time is written in the unit that suits it", () => {
  const times = [0, 0.00062, 0.0081234, 4.2, 250, 9000];
  assert.deepEqual(times.map(seconds), ["0 s", "0.62 ms", "8.12 ms", "4.2 s", "4.17 min", "2.5 h"]);
});

test("each condition is marked once, where it began first, with the worst of its severities", () => {
  const mark = (x, title, severity) => ({ x, title, severity, number: 1, since: `step ${x}` });
  const found = conditions([mark(2, "still", "warning"), mark(4, "spike", "warning"), mark(9, "spike", "error"), mark(50, "later", "info")], [0, 20]);
  assert.deepEqual(found.map((one) => [one.x, one.title, one.severity]), [[2, "still", "warning"], [4, "spike", "error"]]);
});

test("conditions are numbered in the order in which causes are listed, wherever they began", () => {
  const found = conditions([["eval mode", 9], ["logits", 3], ["inputs", 0]].map(([title, x]) => ({ x, title, severity: "warning", number: 1, since: "" })), [0, 20]);
  assert.deepEqual(found.map((one) => one.title), ["eval mode", "logits", "inputs"]);
});

test("numbers in a row do not overlap, and none is cut", () => {
  assert.deepEqual(inRow([0, 1, 50, 100, 101], 10, 0, 100), [0, 10, 50, 90, 100]);
  assert.deepEqual(inRow([50, 0, 51, 0], 10, 0, 100), [50, 0, 60, 10]);
});

test("a logarithmic axis suits where the largest is far from the median or from the smallest", () => {
  assert.deepEqual([[1, 2, 3], [1, 2, 20], [1, 1, 1e35, 1e35], [0, 1, 20]].map(suitsLog), [false, true, true, false]);
});

test("a box over several shows whether all of them are so, or some", () => {
  const shown = [[true, true], [true, false], [false], []].map((states) => Object.values(ofAll(states)));
  assert.deepEqual(shown, [[true, false], [false, true], [false, false], [false, false]]);
});

test("round places are found however large numbers are", () => {
  assert.deepEqual(ticks(0, 2.4e35, 4), [0, 1e35, 2e35]);
});

test("round steps ascend from a hundredth of a span to more than it", () => {
  for (const span of [0.003, 1, 2.4e35]) {
    const steps = roundSteps(span);
    assert.ok(steps[0] <= span / 20 && steps.at(-1) > span && steps.every((one, at) => !at || one > steps[at - 1]));
  }
});
