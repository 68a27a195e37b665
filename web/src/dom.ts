type Attributes = Record<string, string | boolean | undefined>;

// An element with attributes and children. Text is always inserted as text: nothing on this page is
// made from an HTML string.
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (value === true) made.setAttribute(name, "");
    else if (typeof value === "string") made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function byId<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

export interface Cells {
  head: string[];
  rows: string[][];
}
export function plainTable(cells: Cells, caption: string): HTMLTableElement {
  const row = (tag: "th" | "td", texts: string[]) =>
    element("tr", {}, ...texts.map((t) => element(tag, tag === "th" ? { scope: "col" } : {}, t)));
  return element(
    "table",
    {},
    element("caption", {}, caption),
    element("thead", {}, row("th", cells.head)),
    element("tbody", {}, ...cells.rows.map((r) => row("td", r))),
  );
}
