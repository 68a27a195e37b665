import { sizeWord, type Data, type Interval, type Series } from "../data";
import { count, percent } from "../format";
import type { Line, Spec } from "../spec";
import { batchAxis, chosenRule, lineOver, shownSeries, unionOf, withWidth } from "./common";

function measured(series: Series): Map<number, Interval> {
  return new Map(series.points.flatMap((p) =>
    p.samples_per_second ? [[p.batch, p.samples_per_second] as const] : []));
}

export function throughput(data: Data): Spec | null {
  const all = shownSeries(data);
  const xs = unionOf(...all.map((s) => [...measured(s).keys()]));
  if (!xs.length) return null;
  const alone = all.length === 1;
  const lines = all.map((series, colour): Line => {
    const points = measured(series);
    return lineOver(xs, points, {
      name: alone ? "with 95% intervals" : series.name, colour, draw: "both",
      told: (i) => `${withWidth(points.get(xs[i]!)!, count)} samples/s`,
    });
  });
  return {
    title: "Throughput",
    hint: `Samples trained per second. The knee is the smallest ${sizeWord(data)} within ${
      percent(data.limits.tolerance_share)} of the best.`,
    xs, x: batchAxis(data), y: { label: "samples per second", words: count },
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
