import type { Data, Point, Series } from "../data";
import { bytes, count, percent, words } from "../format";
import type { Line, Rule, Spec } from "../spec";
import { batchAxis, shownSeries, unionOf } from "./common";

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

function numbers(all: Series[], uses: string[]): Spec["numbers"] {
  return {
    head: ["series", "batch", "predicted", "measured", ...uses.map(words)],
    rows: all.flatMap((s) => s.points.filter(has).map((p) => [
      s.name || "all", count(p.batch), bytes(p.memory_predicted_bytes),
      bytes(p.memory_measured_bytes), ...uses.map((use) => bytes(p.memory_by_use?.[use])),
    ])),
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
    xs, x: batchAxis, y: { label: "memory", words: bytes }, lines, rules: limit.rules,
    numbers: numbers(all, []),
  };
}

// Stacked: each use on top of those before it, drawn from the tallest down.
export function memoryByUse(data: Data): Spec | null {
  const series = data.series.find((s) => s.points.some((p) => p.memory_by_use));
  if (!series) return null;
  const points = series.points.filter((p) => p.memory_by_use);
  const uses = Object.keys(points[0]!.memory_by_use!);
  const xs = points.map((_, i) => i);
  const below = (p: Point, last: number) =>
    uses.slice(0, last + 1).reduce((sum, use) => sum + (p.memory_by_use![use] ?? 0), 0);
  const lines = uses.map((use, at): Line => ({
    name: words(use), colour: at, draw: "bars",
    ys: points.map((p) => below(p, at)),
    told: (i) => bytes(points[i]!.memory_by_use![use]),
  })).reverse();
  const most = Math.max(...points.map((p) => below(p, uses.length - 1)));
  const limit = limitOf(data, most);
  return {
    title: "Memory by use",
    hint: `What the memory of each batch holds${series.name ? ` (${series.name})` : ""}.${limit.said}`,
    xs, x: { ...batchAxis, scale: "places", words: (i) => count(points[i]?.batch) },
    y: { label: "memory", words: bytes }, lines, rules: limit.rules,
    numbers: numbers([series], uses),
  };
}
