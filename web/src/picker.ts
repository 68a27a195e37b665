import type { Data } from "./data";
import { element } from "./dom";

interface Study {
  study: string;
  name: string | null;
  goal: string | null;
  workload: string;
  state: string;
}

const words = ({ study, name, goal, workload, state }: Study): string =>
  [`${study}${name ? ` “${name}”` : ""}`, goal, workload, state].filter(Boolean).join(" · ");

// A menu of the store's studies next to the title. Returns the function to call when the study has
// changed: another may have begun.
export function offerStudies({ live }: Data): () => void {
  const list = live?.studies;
  if (!list) return () => {};
  const select = element("select", { id: "picker", "aria-label": "Study" });
  document.querySelector("header h1")?.after(select);
  const chosen = new URLSearchParams(location.search).get("study") ?? "";
  const fill = async () => {
    const response = await fetch(list).catch(() => null);
    if (!response?.ok) return; // the page itself reports that it is disconnected
    const { studies } = (await response.json()) as { studies: Study[] };
    select.replaceChildren(element("option", { value: "" }, "The newest study"),
      ...studies.map((s) => element("option", { value: s.study }, words(s))));
    select.value = chosen;
  };
  select.addEventListener("focus", () => void fill());
  select.addEventListener("change", () => {
    const query = new URLSearchParams(location.search);
    if (select.value) query.set("study", select.value);
    else query.delete("study");
    location.search = query.toString();
  });
  void fill();
  return () => void (document.activeElement === select || fill()); // not while the user chooses
}
