import { chosenBatch, sizeOf, sizeWord, type Data, type Key } from "./data";
import { byId, element } from "./dom";

// The trials, sortable by each column. The rows that the program wrote are kept and moved; when the
// study continues they are rebuilt, keeping the reader's sorting and focus.
export class TrialTable {
  private readonly table = byId<HTMLTableElement>("trials");
  private readonly body = this.table.tBodies[0]!;
  private rows: HTMLTableRowElement[];
  private sorted: { column: number; down: boolean } | null = null;

  constructor(private data: Data, private readonly open: (place: number) => void) {
    this.rows = Array.from(this.body.rows);
    this.rows.forEach((row, place) => this.addButton(row, place));
    this.fillHead();
    this.body.addEventListener("click", (event) => {
      const button = (event.target as Element).closest("button");
      if (button) this.open(Number(button.dataset.place));
    });
  }

  update(data: Data): void {
    const focused = (document.activeElement as HTMLElement | null)?.dataset;
    const trial = focused?.trial, column = focused?.column;
    const columns = (d: Data) => d.table.columns.map((c) => c.title).join();
    const same = columns(data) === columns(this.data);
    this.data = data;
    if (!same) this.sorted = null;
    this.rows = data.table.rows.map((row, place) => {
      const made = element("tr", {}, ...row.cells.map((text, i) =>
        element("td", { class: data.table.columns[i]!.left ? "left" : undefined }, text)));
      this.addButton(made, place);
      return made;
    });
    if (!same || !this.table.tHead!.querySelector("button")) this.fillHead();
    this.arrange();
    const again = trial ? `[data-trial="${trial}"]` : column ? `[data-column="${column}"]` : null;
    if (again) this.table.querySelector<HTMLElement>(again)?.focus({ preventScroll: true });
  }

  private addButton(row: HTMLTableRowElement, place: number): void {
    const trial = this.data.trials[place]!;
    row.toggleAttribute("data-chosen", sizeOf(trial.setting, this.data) === chosenBatch(this.data));
    row.append(element("td", { class: "more" }, element("button", {
      type: "button", "data-place": String(place), "data-trial": String(trial.id || place + 1),
      "aria-label": `Step times and readings of trial ${place + 1}, ${sizeWord(this.data)} ${sizeOf(trial.setting, this.data)}`,
    }, "steps")));
  }

  private fillHead(): void {
    const heads = this.data.table.columns.map(({ title, left }, column) => {
      const button = element("button", { type: "button", "data-column": String(column) }, title);
      button.addEventListener("click", () => this.sortBy(column));
      return element("th", { scope: "col", class: left ? "left" : undefined }, button);
    });
    const more = element("th", { scope: "col", class: "more" },
      element("span", { class: "unseen" }, "step times"));
    this.table.tHead!.rows[0]!.replaceChildren(...heads, more);
  }

  private sortBy(column: number): void {
    const again = this.sorted?.column === column;
    this.sorted = { column, down: again ? !this.sorted!.down : false };
    this.arrange();
  }

  private arrange(): void {
    const order = this.rows.map((_, place) => place);
    if (this.sorted) {
      const { column, down } = this.sorted;
      const key = (place: number) => this.data.table.rows[place]!.keys[column]!;
      order.sort((a, b) => compare(key(a), key(b), down) || a - b);
    }
    this.body.replaceChildren(...order.map((place) => this.rows[place]!));
    Array.from(this.table.tHead!.rows[0]!.cells).forEach((cell, column) => {
      if (this.sorted?.column === column)
        cell.setAttribute("aria-sort", this.sorted.down ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
  }
}

// Unknown values are last in either direction.
function compare(a: Key, b: Key, down: boolean): number {
  if (a == null || b == null) return Number(a == null) - Number(b == null);
  const order = typeof a === "number" && typeof b === "number"
    ? a - b : String(a).localeCompare(String(b));
  return down ? -order : order;
}
