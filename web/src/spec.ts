import type { Cells } from "./dom";

// A chart as plain values: chart.ts draws it.
export interface Line {
  name: string;
  colour: number; // an index in the palette
  ys: (number | null)[]; // parallel to Spec.xs
  lows?: (number | null)[]; // of 95% intervals
  highs?: (number | null)[];
  draw: "points" | "line" | "dashed" | "both" | "bars";
  told?: (index: number) => string | null; // in the tooltip; omitted without one
}

export interface Rule {
  at: number;
  label: string;
  vertical?: boolean;
}

export interface Spec {
  title: string;
  hint: string; // what to see, in a sentence
  xs: number[]; // ascending
  x: { label: string; scale: "log" | "linear" | "places"; words: (x: number) => string };
  y: {
    label: string;
    words: (y: number) => string;
    from?: number; // 0 by default
    to?: number;
    log?: boolean;
    ticks?: (from: number, to: number) => number[];
  };
  lines: Line[];
  rules?: Rule[];
  numbers: Cells; // the same for screen readers
}
