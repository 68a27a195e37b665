import { chosenBatch, sizeWord, type Data, type Interval, type Series } from "../data";
import { count, percent } from "../format";
import type { Line, Rule, Spec } from "../spec";

export function batchAxis(data: Data): Spec["x"] {
  const label = sizeWord(data) === "batch" ? "batch (samples per weight update)"
    : "micro-batch (samples per pass)";
  return { label, scale: "log", words: count };
}

// More lines than the palette has colours are unreadable.
export const shownSeries = (data: Data): Series[] => data.series.slice(0, 7);

export function unionOf(...lists: number[][]): number[] {
  return [...new Set(lists.flat())].sort((a, b) => a - b);
}

export function chosenRule(data: Data): Rule[] {
  const batch = chosenBatch(data);
  return batch == null ? [] : [{ at: batch, label: `${sizeWord(data)} ${count(batch)}`, vertical: true }];
}

// "9 100 ± 1.2 %"
export function withWidth(value: Interval, words: (v: number | null) => string): string {
  const { mean, low, high } = value;
  if (mean == null || low == null || high == null || high === low) return words(mean);
  return `${words(mean)} ± ${percent((high - low) / 2 / Math.abs(mean))}`;
}

// A line over xs from the values known at some of them.
export function lineOver(xs: number[], known: Map<number, Interval>,
  more: Omit<Line, "ys" | "lows" | "highs">): Line {
  const at = (part: keyof Interval) => xs.map((x) => known.get(x)?.[part] ?? null);
  return { ...more, ys: at("mean"), lows: at("low"), highs: at("high") };
}

// Whole numbers of a binary unit.
export function byteTicks(from: number, to: number): number[] {
  let step = 1;
  while ((to - from) / step > 6) step *= 2;
  return Array.from({ length: Math.floor(to / step) + 1 }, (_, i) => i * step)
    .filter((tick) => tick >= from);
}
