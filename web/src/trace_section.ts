import { Chart } from "./chart";
import { traces } from "./charts/trial";
import { chosenBatch, sizeOf, sizeWord, type Data } from "./data";
import { element } from "./dom";
import { count } from "./format";

// Utilisation, power and memory over the time of one trial, chosen by the reader.
export class TraceSection {
  private readonly choice = element("select", { id: "trace-choice" });
  private readonly section = element("div", { id: "traces", hidden: true },
    element("h3", {}, "Readings during a trial"),
    element("label", { for: "trace-choice" }, "Trial "), this.choice);
  private readonly row = element("div");
  private readonly charts: Chart[];
  private data: Data | null = null;

  constructor(parent: HTMLElement) {
    this.section.append(this.row);
    parent.append(this.section);
    this.charts = [0, 1, 2].map((i) => new Chart(this.row, `trace-${i}`, 200));
    this.choice.addEventListener("change", () => this.draw());
  }

  show(data: Data): void {
    this.data = data;
    const places = data.trials.flatMap((trial, place) => (trial.trace ? [place] : []));
    this.section.hidden = !places.length;
    const chosen = this.choice.value ||
      String(places.find((p) => sizeOf(data.trials[p]!.setting, data) === chosenBatch(data)) ?? places[0]);
    this.choice.replaceChildren(...places.map((place) => element("option",
      { value: String(place), selected: String(place) === chosen },
      `${place + 1}: ${sizeWord(data)} ${count(sizeOf(data.trials[place]!.setting, data))}`)));
    this.draw();
  }

  redraw(): void {
    this.charts.forEach((chart) => chart.draw(true));
  }

  private draw(): void {
    const trial = this.data?.trials[Number(this.choice.value)];
    const specs = trial && this.choice.value !== "" ? traces(trial) : [];
    this.charts.forEach((chart, i) => chart.show(specs[i] ?? null));
  }
}
