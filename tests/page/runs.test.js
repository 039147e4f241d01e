// The table of runs: which come first, and which a filter leaves.

import assert from "node:assert/strict";
import { test } from "node:test";

import { inOrder, matches } from "../../src/stepwatch/dashboard/static/runs.js";

const notes = { get: () => ({}) };
const run = (name, mark, state, started_ns = 0) => ({ name, state, started_ns, health: mark && { mark, tone: "" } });
const names = (runs, sort = "health", up = true) => inOrder(runs, sort, up, notes).map((one) => one.name);

test("what is wrong comes first, then what is not known, and what is healthy last", () => {
  assert.deepEqual(names([run("well", "✓", "finished"), run("unknown", "–", "finished"), run("warned", "!", "finished"), run("wrong", "✕", "finished")]), ["wrong", "warned", "unknown", "well"]);
});

test("of one health what failed comes before what goes on, and that before what is over; then the newest", () => {
  assert.deepEqual(
    names([run("old", "✕", "finished", 1), run("new", "✕", "finished", 2), run("going", "✕", "running"), run("raised", "✕", "failed")]),
    ["raised", "going", "new", "old"],
  );
});

test("a run that cannot be read is wrong, and one that was not read yet is not known", () => {
  assert.deepEqual(names([run("unread", null, ""), run("well", "✓", "finished"), run("damaged", null, "unreadable")]), ["damaged", "unread", "well"]);
});

test("of runs that are alike in a column what is wrong comes first, whichever way it is sorted", () => {
  const runs = [run("b", "✓", "finished"), run("a", "✕", "finished")].map((one) => ({ ...one, steps: 7 }));
  assert.deepEqual([names(runs, "steps", false), names(runs, "steps", true)], [["a", "b"], ["a", "b"]]);
});

test("a filter goes by name, state and headline", () => {
  const one = { ...run("first", "✕", "failed"), health: { mark: "✕", text: "Failed after step 3" } };
  assert.deepEqual(["fir", "failed step", "second"].map((text) => matches(one, text, notes)), [true, true, false]);
});
