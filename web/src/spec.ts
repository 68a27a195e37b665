import type { Cells } from "./dom";

// A chart, said in values: chart.ts draws it.
export interface Line {
  name: string;
  colour: number; // a place in the palette
  ys: (number | null)[]; // beside Spec.xs
  lows?: (number | null)[]; // of 95% intervals
  highs?: (number | null)[];
  draw: "points" | "line" | "dashed" | "both" | "bars";
  told?: (index: number) => string | null; // in the tooltip; nothing is told of it without one
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
    from?: number; // 0 unless said
    to?: number;
    log?: boolean;
    ticks?: (from: number, to: number) => number[];
  };
  lines: Line[];
  rules?: Rule[];
  numbers: Cells; // the same for those who do not see it
}
