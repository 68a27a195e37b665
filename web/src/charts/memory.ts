import { sizeOf, type Data, type Point, type Series } from "../data";
import { bytes, count, percent, words } from "../format";
import type { Line, Rule, Spec } from "../spec";
import { batchAxis, byteTicks, shownSeries, unionOf } from "./common";

// A limit far above would flatten everything else: it is stated instead.
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
    xs, x: batchAxis(data), y: { label: "memory", words: bytes, ticks: byteTicks }, lines, rules: limit.rules,
    numbers: numbers(all),
  };
}

type Uses = Record<string, number | null | undefined>;

// The measured memory of each batch: of several trials, the largest.
function measuredUses(data: Data): Map<number, Uses> {
  const most = new Map<number, { total: number; uses: Uses }>();
  for (const { setting, memory_bytes } of data.trials) {
    const { measured, by_use } = memory_bytes;
    if (measured == null || by_use == null || Object.values(by_use).every((b) => b == null)) continue;
    const size = sizeOf(setting, data);
    if (measured > (most.get(size)?.total ?? -1))
      most.set(size, { total: measured, uses: by_use });
  }
  return new Map([...most].map(([batch, { uses }]) => [batch, uses]));
}

// Stacked: each use on top of the previous ones, drawn from the tallest down, with a dot at the top
// of the measured stack. Batches far beyond any tried one would flatten the others.
export function memoryByUse(data: Data): Spec | null {
  const tried = Math.max(...data.trials.map((t) => sizeOf(t.setting, data)), 0);
  const predicted = new Map(data.memory_by_use.filter((row) => row.batch < 2 * tried)
    .map((row) => [row.batch, Object.fromEntries(Object.entries(row)
      .filter(([key]) => key.endsWith("_bytes"))
      .map(([key, value]) => [key.replace(/_bytes$/, ""), value])) as Uses]));
  const measured = measuredUses(data);
  const batches = unionOf([...predicted.keys()], [...measured.keys()]);
  const rows = [...predicted.values(), ...measured.values()];
  const uses = [...new Set(rows.flatMap((row) => Object.keys(row)))]
    .filter((use) => rows.some((row) => row[use]));
  if (!uses.length) return null;
  const upTo = (row: Uses | undefined, last: number) =>
    row ? uses.slice(0, last + 1).reduce((sum, use) => sum + (row[use] ?? 0), 0) : null;
  const stacks = (rows: Map<number, Uses>, at: number) => batches.map((b) => upTo(rows.get(b), at));
  const during = (batch: number, use: string) =>
    measured.has(batch) ? `measured ${bytes(measured.get(batch)![use])}` : "";
  const dotColour = 6; // grey
  const bars = uses.map((use, at): Line => ({
    name: words(use), colour: at, draw: "bars", ys: stacks(predicted, at),
    told: (i) => [bytes(predicted.get(batches[i]!)![use]), during(batches[i]!, use)]
      .filter(Boolean).join(", "),
  })).reverse();
  const dots = uses.map((use, at): Line => ({
    name: "", colour: dotColour, draw: "points", ys: stacks(measured, at),
    told: (i) => predicted.has(batches[i]!) ? null : `${words(use)}: ${during(batches[i]!, use)}`,
  }));
  const named: Line = { name: "measured", colour: dotColour, draw: "points", ys: dots.at(-1)!.ys };
  const lines = measured.size ? [...bars, named, ...dots] : bars;
  const limit = limitOf(data, Math.max(...lines.flatMap((line) => line.ys.map((y) => y ?? 0))));
  const rowsOf = (rows: Map<number, Uses>, kind: string) => [...rows].map(([batch, row]) =>
    [count(batch), kind, ...uses.map((use) => bytes(row[use]))]);
  return {
    title: "Memory by use",
    hint: "What a trial holds, predicted to the byte before anything ran"
      + `${measured.size ? "; dots: what it held when it ran, at the setting that held the most" : ""}.${limit.said}`,
    xs: batches.map((_, i) => i),
    x: { ...batchAxis(data), scale: "places", words: (i) => count(batches[i]) },
    y: { label: "memory", words: bytes, ticks: byteTicks }, lines, rules: limit.rules,
    numbers: {
      head: ["batch", "", ...uses.map(words)],
      rows: [...rowsOf(predicted, "predicted"), ...rowsOf(measured, "measured")],
    },
  };
}
