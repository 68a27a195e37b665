import type { Data, Interval, Series } from "../data";
import { count, seconds } from "../format";
import type { Line, Spec } from "../spec";
import { batchAxis, lineOver, shownSeries, unionOf, withWidth } from "./common";

// Seconds of a step from samples per second: its interval is inverted.
function stepOf(batch: number, speed: Interval): Interval {
  const over = (value: number | null) => (value ? batch / value : null);
  return { mean: over(speed.mean), low: over(speed.high), high: over(speed.low) };
}
function measured(series: Series): Map<number, Interval> {
  return new Map(series.points.flatMap((p) =>
    p.samples_per_second ? [[p.batch, stepOf(p.batch, p.samples_per_second)] as const] : []));
}

export function stepTime(data: Data): Spec | null {
  const all = shownSeries(data);
  const xs = unionOf(...all.map((s) => [...measured(s).keys()]));
  if (!xs.length) return null;
  const lines: Line[] = all.flatMap((series, colour) => {
    const points = measured(series), cost = series.step_cost;
    const made: Line[] = [lineOver(xs, points, {
      name: series.name || "measured", colour, draw: cost ? "points" : "both",
      told: (i) => `${withWidth(points.get(xs[i]!)!, seconds)} a step`,
    })];
    if (cost)
      made.unshift({
        name: all.length > 1 ? "" : "fixed + per-sample cost", colour, draw: "dashed",
        ys: xs.map((x) => cost.fixed_seconds + cost.per_sample_seconds * x),
        told: (i) => `fitted: ${seconds(cost.fixed_seconds + cost.per_sample_seconds * xs[i]!)}`,
      });
    return made;
  });
  const costs = all.filter((s) => s.step_cost).map((s) => `${s.name ? `${s.name}: ` : ""}${
    seconds(s.step_cost!.fixed_seconds)} for each step and ${
    seconds(s.step_cost!.per_sample_seconds)} for each sample`);
  return {
    title: "Step time",
    hint: costs.length ? `Fitted: ${costs.slice(0, 3).join("; ")}.` : "Time of one weight update.",
    xs, x: batchAxis(data), y: { label: "time of a step", words: seconds, log: true }, lines,
    numbers: {
      head: ["series", "batch", "step", "low", "high"],
      rows: all.flatMap((series) => [...measured(series)].map(([batch, step]) => [
        series.name || "all", count(batch), seconds(step.mean), seconds(step.low),
        seconds(step.high)])),
    },
  };
}
