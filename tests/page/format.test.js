// Numbers and times, as the page writes them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { clock, count, moment, number, plural, sentence, timeOfDay } from "../../src/stepwatch/dashboard/static/format.js";

test("counts are whole and have their thousands apart", () => {
  assert.deepEqual([count(1234567), count(0), count(null), count(undefined)], ["1,234,567", "0", "", ""]);
  assert.deepEqual([plural(1, "step"), plural(1200, "step"), plural(0, "step")], ["1 step", "1,200 steps", "0 steps"]);
});

test("a number has four digits, and a power of ten where it is far from 1", () => {
  assert.deepEqual([0, 0.123456, 12.3456, 12345.6, 123456.7, 0.00012345, -0.00012345].map(number), ["0", "0.1235", "12.35", "12350", "1.23e+5", "1.23e-4", "-1.23e-4"]);
  assert.deepEqual([number(1000), number(2.5e7), number(null), number("inf")], ["1000", "2.50e+7", "", "inf"]);
});

test("a time is in seconds, minutes or hours", () => {
  assert.deepEqual([3.14159, 119, 300, 9000].map(clock), ["3.14 s", "119 s", "5 min", "2.5 h"]);
});

test("a moment that is not known is left out", () => {
  assert.equal(moment(0), "");
  assert.match(moment(1_700_000_000_000_000_000), /^2023-11-1[45] \d\d:\d\d$/);
  assert.equal(timeOfDay(new Date(2026, 0, 2, 3, 4, 5)), "03:04:05");
});

test("a sentence begins with a capital letter", () => {
  assert.deepEqual([sentence("loss is NaN"), sentence("")], ["Loss is NaN", ""]);
});
