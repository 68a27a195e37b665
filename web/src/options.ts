import uPlot from "uplot";
import type { Line, Spec } from "./spec";
import { colour, seriesColour } from "./theme";

const font = "12px system-ui, sans-serif";

const finite = (values: (number | null | undefined)[]): number[] =>
  values.filter((v): v is number => v != null && Number.isFinite(v));

function xRange(spec: Spec): [number, number] {
  const marks = (spec.rules ?? []).filter((r) => r.vertical).map((r) => r.at);
  const all = finite([...spec.xs, ...marks]);
  const low = Math.min(...all), high = Math.max(...all);
  if (spec.x.scale === "log") return [low / 1.2, high * 1.2];
  if (spec.x.scale === "places") return [-0.6, Math.max(0, spec.xs.length - 1) + 0.6];
  const room = (high - low || 1) * 0.02;
  return [low - room, high + room];
}

function yRange(spec: Spec): [number, number] {
  if (spec.y.log) {
    const above = finite(spec.lines.flatMap((l) => [...l.ys, ...(l.lows ?? []), ...(l.highs ?? [])]))
      .filter((v) => v > 0);
    return above.length ? [Math.min(...above) / 1.3, Math.max(...above) * 1.3] : [1, 10];
  }
  const all = finite([
    ...spec.lines.flatMap((l) => [...l.ys, ...(l.highs ?? [])]),
    ...(spec.rules ?? []).filter((r) => !r.vertical).map((r) => r.at),
  ]);
  const top = all.reduce((a, b) => Math.max(a, b), 0) || 1;
  return [spec.y.from ?? 0, spec.y.to ?? top * 1.06];
}

// Powers of two, as few as fit.
function logTicks([from, to]: [number, number], most: number): number[] {
  for (let factor = 2; ; factor *= 2) {
    const ticks: number[] = [];
    const first = Math.ceil(Math.log(from) / Math.log(factor) - 1e-9);
    for (let tick = factor ** first; tick <= to; tick *= factor) ticks.push(tick);
    if (ticks.length <= most) return ticks.length ? ticks : [from];
  }
}

// 1, 2 and 5 of each power of ten, or only the powers if there are many.
function decadeTicks(from: number, to: number): number[] {
  const ticks = (factors: number[]) => {
    const list: number[] = [];
    for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); ++power)
      list.push(...factors.map((factor) => Number(`${factor}e${power}`)));
    return list.filter((tick) => tick >= from && tick <= to);
  };
  const fine = ticks([1, 2, 5]);
  return fine.length <= 7 ? fine : ticks([1]);
}

function placeTicks(count: number, most: number): number[] {
  const step = Math.max(1, Math.ceil(count / most));
  return Array.from({ length: Math.ceil(count / step) }, (_, i) => i * step);
}

function xAxis(spec: Spec, width: number): uPlot.Axis {
  const most = Math.max(2, Math.floor(width / 70));
  const axis: uPlot.Axis = {
    scale: "x", label: spec.x.label, labelFont: font, font, labelSize: 22, size: 34,
    stroke: colour("ink-soft"), grid: { show: false }, ticks: { stroke: colour("chart-faint") },
    values: (_, splits) => splits.map((v) => (v == null ? "" : spec.x.words(v))),
  };
  if (spec.x.scale === "linear") return axis;
  const splits = spec.x.scale === "log"
    ? logTicks(xRange(spec), most)
    : placeTicks(spec.xs.length, most);
  return { ...axis, splits: () => splits, filter: (_, all) => all };
}

function yAxis(spec: Spec): uPlot.Axis {
  const ticks = spec.y.ticks ?? (spec.y.log ? decadeTicks : null);
  return {
    label: spec.y.label, labelFont: font, font, labelSize: 22, size: 66,
    stroke: colour("ink-soft"), grid: { stroke: colour("chart-faint"), width: 1 },
    ticks: { show: false }, values: (_, splits) => splits.map(spec.y.words),
    ...(ticks ? { splits: () => ticks(...yRange(spec)), filter: (_, all) => all } : {}),
  };
}

function series(line: Line): uPlot.Series {
  const stroke = seriesColour(line.colour);
  if (line.draw === "bars")
    return { stroke, fill: stroke, width: 0, points: { show: false },
      paths: uPlot.paths.bars!({ size: [0.72, 64] }) };
  const points = line.draw === "points" || line.draw === "both";
  return {
    stroke, width: 2, spanGaps: true,
    ...(line.draw === "dashed" ? { dash: [6, 4] } : {}),
    ...(line.draw === "points" ? { paths: () => null } : {}),
    points: { show: points, size: 7, fill: stroke, stroke },
  };
}

function drawIntervals(u: uPlot, spec: Spec): void {
  const { ctx } = u;
  const at = (x: number, y: number) => [u.valToPos(x, "x", true), u.valToPos(y, "y", true)] as const;
  ctx.save();
  ctx.beginPath();
  ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  ctx.clip();
  for (const line of spec.lines) {
    const { lows, highs } = line;
    if (!lows || !highs) continue;
    const indices = spec.xs.map((_, i) => i)
      .filter((i) => Number.isFinite(lows[i] ?? NaN) && Number.isFinite(highs[i] ?? NaN));
    const paint = seriesColour(line.colour);
    ctx.beginPath();
    const cap = 4 * devicePixelRatio;
    for (const i of indices) {
      const [x, top] = at(spec.xs[i]!, highs[i]!), bottom = at(spec.xs[i]!, lows[i]!)[1];
      ctx.moveTo(x, top), ctx.lineTo(x, bottom);
      ctx.moveTo(x - cap, top), ctx.lineTo(x + cap, top);
      ctx.moveTo(x - cap, bottom), ctx.lineTo(x + cap, bottom);
    }
    ctx.strokeStyle = paint;
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.stroke();
  }
  ctx.restore();
}

function drawRules(u: uPlot, spec: Spec): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour("ink-soft");
  ctx.lineWidth = devicePixelRatio;
  ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
  const gap = 6 * devicePixelRatio;
  for (const rule of spec.rules ?? []) {
    const at = u.valToPos(rule.at, rule.vertical ? "x" : "y", true);
    ctx.beginPath();
    if (rule.vertical) {
      ctx.moveTo(at, bbox.top), ctx.lineTo(at, bbox.top + bbox.height);
      const turn = at > bbox.left + bbox.width / 2;
      ctx.textAlign = turn ? "right" : "left";
      ctx.textBaseline = "top";
      ctx.fillText(rule.label, at + (turn ? -gap : gap), bbox.top + gap / 2);
    } else {
      ctx.moveTo(bbox.left, at), ctx.lineTo(bbox.left + bbox.width, at);
      ctx.textAlign = "right";
      ctx.textBaseline = "bottom";
      ctx.fillText(rule.label, bbox.left + bbox.width - gap, at - gap / 2);
    }
    ctx.stroke();
  }
  ctx.restore();
}

export function options(spec: Spec, width: number, height: number,
  onCursor: (u: uPlot) => void): uPlot.Options {
  return {
    width, height,
    padding: [12, 16, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { time: false, range: () => xRange(spec),
        ...(spec.x.scale === "log" ? { distr: 3 as const, log: 2 as const } : {}) },
      y: { range: () => yRange(spec), ...(spec.y.log ? { distr: 3 as const, log: 10 as const } : {}) },
    },
    axes: [
      xAxis(spec, width),
      yAxis(spec),
    ],
    series: [{}, ...spec.lines.map(series)],
    hooks: {
      drawAxes: [(u) => drawRules(u, spec)],
      draw: [(u) => drawIntervals(u, spec)],
      setCursor: [onCursor],
    },
  };
}
