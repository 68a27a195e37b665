import "uplot/dist/uPlot.min.css";
import "./style.css";
import { fillAnswer, localTime, offerCopy } from "./answer";
import { Chart } from "./chart";
import { energy } from "./charts/energy";
import { accuracy, trainingTime } from "./charts/epochs";
import { memory, memoryByUse } from "./charts/memory";
import { shares } from "./charts/shares";
import { stepTime } from "./charts/step_time";
import { throughput } from "./charts/throughput";
import { readData, type Data } from "./data";
import { byId } from "./dom";
import { keepPlace } from "./keep_place";
import { listen } from "./live";
import { offerStudies } from "./picker";
import type { Spec } from "./spec";
import { TrialTable } from "./table";
import { onThemeChange } from "./theme";
import { TraceSection } from "./trace_section";
import { TrialDialog } from "./trial_dialog";

const kinds: [string, (data: Data) => Spec | null, number?][] = [
  ["throughput", throughput, 380],
  ["step-time", stepTime],
  ["energy", energy],
  ["shares", shares],
  ["memory", memory],
  ["memory-by-use", memoryByUse],
  ["accuracy", accuracy],
  ["training-time", trainingTime],
];

function start(): void {
  const data = readData();
  const section = byId("charts");
  byId("headline").hidden = true; // the same chart, interactive
  const charts = kinds.map(([id, spec, height]) => ({ spec, chart: new Chart(section, id, height) }));
  const dialog = new TrialDialog(data);
  const table = new TrialTable(data, (place) => void dialog.open(place));
  const trace = new TraceSection(section);
  const show = (now: Data) => {
    for (const { spec, chart } of charts) chart.show(spec(now));
    trace.show(now);
  };
  show(data);
  onThemeChange(() => {
    for (const { chart } of charts) chart.draw(true);
    trace.redraw();
    dialog.redraw();
  });
  localTime();
  offerCopy();
  const studiesChanged = offerStudies(data);
  let shown = data;
  listen(data, (now) => keepPlace(() => {
    if (now.study !== shown.study || now.status !== shown.status) studiesChanged();
    shown = now;
    fillAnswer(now);
    show(now);
    table.update(now);
    dialog.update(now);
  }));
}

start();
