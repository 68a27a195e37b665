import type { Data, Point, Series } from "../data";
import { bytes, count, percent, words } from "../format";
import type { Line, Rule, Spec } from "../spec";
import { batchAxis, byteTicks, shownSeries, unionOf } from "./common";

// A limit far above would press all the rest to the floor: it is said instead.
const farAbove = 3;

function limitOf(data: Data, most: number): { rules: Rule[]; said: string } {
  const limit = data.limits.memory_bytes;
  if (limit == null) return { rules: [], said: "" };
  const said = ` ${bytes(limit)} were allowed.`;
  if (limit > farAbove * most) return { rules: [], said };
  return { rules: [{ at: limit, label: `limit ${bytes(limit)}` }], said: "" };
}

const has = (p: Point) => p.memory_measured_bytes != null || p.memory_predicted_bytes != null;

function numbers(all: Series[]): Spec["numbers"] {
  return {
    head: ["series", "batch", "predicted", "measured"],
    rows: all.flatMap((s) => s.points.filter(has).map((p) => [
      s.name || "all", count(p.batch), bytes(p.memory_predicted_bytes),
      bytes(p.memory_measured_bytes)])),
  };
}

function lineOf(series: Series, xs: number[], colour: number, measured: boolean,
  alone: boolean): Line {
  const known = new Map(series.points.map((p) =>
    [p.batch, measured ? p.memory_measured_bytes : p.memory_predicted_bytes]));
  const by = new Map(series.points.map((p) => [p.batch, p]));
  const kind = measured ? "measured" : "predicted";
  return {
    name: alone ? kind : `${series.name}, ${kind}`, colour, draw: measured ? "points" : "dashed",
    ys: xs.map((x) => known.get(x) ?? null),
    told: (i) => {
      const point = by.get(xs[i]!)!;
      const [a, b] = [point.memory_predicted_bytes, point.memory_measured_bytes];
      const off = measured && a && b ? ` (${b >= a ? "+" : "−"}${percent(Math.abs(b / a - 1))})` : "";
      return bytes(known.get(xs[i]!)) + off;
    },
  };
}

export function memory(data: Data): Spec | null {
  const all = shownSeries(data).filter((s) => s.points.some(has));
  const xs = unionOf(...all.map((s) => s.points.filter(has).map((p) => p.batch)));
  if (!xs.length) return null;
  const lines = all.flatMap((s, i) => [
    lineOf(s, xs, i, false, all.length === 1), lineOf(s, xs, i, true, all.length === 1)])
    .filter((line) => line.ys.some((y) => y != null));
  const most = Math.max(...lines.flatMap((line) => line.ys.map((y) => y ?? 0)));
  const limit = limitOf(data, most);
  return {
    title: "Memory",
    hint: `At its peak, predicted before a trial ran and measured while it did.${limit.said}`,
    xs, x: batchAxis, y: { label: "memory", words: bytes, ticks: byteTicks }, lines, rules: limit.rules,
    numbers: numbers(all),
  };
}

// Stacked: each use on top of those before it, drawn from the tallest down. Batches far beyond any
// that was tried would press the others to the floor.
export function memoryByUse(data: Data): Spec | null {
  const tried = Math.max(...data.trials.map((t) => t.setting.batch), 0);
  const rows = data.memory_by_use.filter((row) => row.batch < 2 * tried);
  if (!rows.length) return null;
  const uses = Object.keys(rows[0]!).filter((key) => key.endsWith("_bytes"));
  const upTo = (row: Record<string, number>, last: number) =>
    uses.slice(0, last + 1).reduce((sum, use) => sum + (row[use] ?? 0), 0);
  const name = (use: string) => words(use.replace(/_bytes$/, ""));
  const lines = uses.map((use, at): Line => ({
    name: name(use), colour: at, draw: "bars",
    ys: rows.map((row) => upTo(row, at)),
    told: (i) => bytes(rows[i]![use]),
  })).reverse();
  const limit = limitOf(data, Math.max(...rows.map((row) => upTo(row, uses.length - 1))));
  return {
    title: "Memory by use",
    hint: `What a run holds, predicted to the byte before anything ran.${limit.said}`,
    xs: rows.map((_, i) => i),
    x: { ...batchAxis, scale: "places", words: (i) => count(rows[i]?.batch) },
    y: { label: "memory", words: bytes, ticks: byteTicks }, lines, rules: limit.rules,
    numbers: {
      head: ["batch", ...uses.map(name)],
      rows: rows.map((row) => [count(row.batch), ...uses.map((use) => bytes(row[use]))]),
    },
  };
}
