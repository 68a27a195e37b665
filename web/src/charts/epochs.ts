import type { Data, EpochPoint, Interval } from "../data";
import { count, percent, seconds } from "../format";
import type { Line, Spec } from "../spec";
import { batchAxis, lineOver, unionOf, withWidth } from "./common";

type Read = (point: EpochPoint) => Interval | null;

// One line per number of epochs, over the batch.
function linesBy(data: Data, read: Read, told: (value: Interval) => string): {
  xs: number[]; lines: Line[];
} {
  const xs = unionOf(...data.series.map((s) => s.epochs.filter(read).map((e) => e.batch)));
  const lines = data.series.flatMap((series) => unionOf(series.epochs.map((e) => e.epoch))
    .map((epoch, colour) => {
      const known = new Map(series.epochs.filter((e) => e.epoch === epoch && read(e))
        .map((e) => [e.batch, read(e)!]));
      return lineOver(xs, known, {
        name: [series.name, `${epoch} epoch${epoch === 1 ? "" : "s"}`].filter(Boolean).join(", "),
        colour, draw: "both", told: (i) => told(known.get(xs[i]!)!) });
    }));
  return { xs, lines };
}

function numbers(data: Data): Spec["numbers"] {
  return {
    head: ["series", "batch", "epochs", "seeds", "test accuracy", "training time"],
    rows: data.series.flatMap((s) => s.epochs.map((e) => [
      s.name || "all", count(e.batch), count(e.epoch), count(e.seeds),
      percent(e.test_accuracy?.mean), withWidth(e.train_seconds, seconds)])),
  };
}

export function accuracy(data: Data): Spec | null {
  const { xs, lines } = linesBy(data, (e) => e.test_accuracy, (v) =>
    v.low === v.high ? percent(v.mean) : `${percent(v.mean)} (${percent(v.low)} to ${percent(v.high)})`);
  if (!xs.length) return null;
  const values = lines.flatMap((l) => [...l.ys, ...l.lows!, ...l.highs!]).filter((v) => v != null);
  const low = Math.min(...values), high = Math.max(...values);
  const room = Math.max((high - low) * 0.08, 0.002);
  return {
    title: "Accuracy",
    hint: "On the test set after each epoch; intervals over the seeds. The axis does not begin at 0.",
    xs, x: batchAxis(data), y: { label: "test accuracy", words: percent, from: low - room,
      to: Math.min(1, high + room) },
    lines, numbers: numbers(data),
  };
}

export function trainingTime(data: Data): Spec | null {
  const { xs, lines } = linesBy(data, (e) => e.train_seconds, (v) => withWidth(v, seconds));
  if (!xs.length) return null;
  return {
    title: "Training time",
    hint: "Until the end of each epoch, evaluation apart.",
    xs, x: batchAxis(data), y: { label: "training time", words: seconds }, lines, numbers: numbers(data),
  };
}
