import type { Data, Interval, Series } from "../data";
import { count, percent } from "../format";
import type { Line, Spec } from "../spec";
import { batchAxis, chosenRule, lineOver, shownSeries, unionOf, withWidth } from "./common";

function measured(series: Series): Map<number, Interval> {
  return new Map(series.points.flatMap((p) =>
    p.samples_per_second ? [[p.batch, p.samples_per_second] as const] : []));
}
const fitted = (series: Series): Map<number, Interval> =>
  new Map(series.fitted.map((f) => [f.batch, f.samples_per_second]));

export function throughput(data: Data): Spec | null {
  const all = shownSeries(data);
  const xs = unionOf(...all.flatMap((s) => [[...measured(s).keys()], [...fitted(s).keys()]]));
  if (!xs.length) return null;
  const alone = all.length === 1;
  const lines: Line[] = all.flatMap((series, colour) => {
    const points = measured(series), fit = fitted(series);
    const made: Line[] = [lineOver(xs, points, {
      name: alone ? "measured, with 95% intervals" : series.name, colour,
      draw: fit.size ? "points" : "both",
      told: (i) => `${withWidth(points.get(xs[i]!)!, count)} samples/s`,
    })];
    if (fit.size)
      made.unshift(lineOver(xs, fit, {
        name: alone ? "fitted model" : "", colour, draw: "dashed", band: true }));
    return made;
  });
  return {
    title: "Throughput",
    hint: `Samples trained per second. The knee is the smallest batch within ${
      percent(data.limits.tolerance_share)} of the best.`,
    xs, x: batchAxis, y: { label: "samples per second", words: count },
    lines, rules: chosenRule(data),
    numbers: {
      head: ["series", "batch", "trials", "samples/s", "low", "high"],
      rows: all.flatMap((series) => series.points.filter((p) => p.samples_per_second).map((p) => [
        series.name || "all", count(p.batch), count(p.trials),
        count(p.samples_per_second!.mean), count(p.samples_per_second!.low),
        count(p.samples_per_second!.high)])),
    },
  };
}
