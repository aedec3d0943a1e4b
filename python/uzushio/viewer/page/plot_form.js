/** Form for a new plot of the document: a series, a profile or a spectrum. */

import { fillChoice, frame, row } from "./controls.js";
import { button, make } from "./dom.js";
import { scalars } from "./mesh.js";

const KINDS = { series: "numbers over time", profile: "profile along an axis", spectrum: "spectrum along an axis" };

/** Fill the form's element. */
export function makePlotForm(store, root) {
  const options = (values, texts = values) => values.map((value, place) => make("option", { value }, texts[place]));
  const kind = make("select", { id: "plot-kind" }, ...options(Object.keys(KINDS), Object.values(KINDS)));
  const fields = make("input", { type: "text", id: "plot-fields", autocomplete: "off", spellcheck: false });
  const along = make("select", { id: "plot-along" }, ...options(["x", "y", "z"]));
  const reduce = make("select", { id: "plot-reduce" });
  const alongRow = row("Along", along.id, along);
  const reduceRow = row("Reduction", reduce.id, reduce);
  const hint = make("p", { className: "hint" });
  const problem = make("p", { className: "error", hidden: true });

  const showKind = () => {
    alongRow.hidden = kind.value === "series";
    reduceRow.hidden = kind.value === "spectrum";
  };
  const showFields = () => {
    const names = scalars(store.description, store.sources);
    fields.placeholder = names.slice(0, 2).join(", ");
    hint.textContent = names.length ? `Fields: ${names.join(", ")}` : "";
  };
  const add = () => {
    const names = fields.value.split(",").map((one) => one.trim()).filter(Boolean);
    problem.hidden = names.length > 0;
    problem.textContent = "Write the names of one or more fields, with commas between them.";
    if (!names.length) return;
    const settings = { fields: names };
    if (kind.value !== "series") settings.along = along.value;
    if (kind.value !== "spectrum" && reduce.value !== "mean") settings.reduce = reduce.value;
    const name = freeName(store, [kind.value, ...names].join("-"));
    const title = `${kind.value === "series" ? reduce.value : kind.value} of ${names.join(", ")}`;
    store.set(["actions", store.actions.length], { name, plot: { [kind.value]: settings, title } });
    fields.value = "";
  };

  kind.addEventListener("change", showKind);
  fields.addEventListener("keydown", (event) => {
    if (event.key === "Enter") add();
  });
  const form = make("div", { className: "plot-controls" },
    row("Kind", kind.id, kind), row("Fields", fields.id, fields), alongRow, reduceRow, hint, problem,
    make("div", { className: "row" }, make("span", { className: "label" }), button("Add the plot", add, { id: "plot-add" })));
  root.append(frame(store, ["actions"], () => {}, form));
  store.on("description view", showFields);
  fillChoice(store, reduce, ["ProfileSettings", "reduce"]);
  showKind();
}

/** Return a name for a file that no plot has, of letters, digits, hyphens and full stops. */
function freeName(store, wanted) {
  const plain = wanted.replace(/[^\w.-]/g, "_").slice(0, 56);
  const taken = new Set(store.actions.map(({ name }) => name));
  let name = plain;
  for (let number = 2; taken.has(name); ++number) name = `${plain}-${number}`;
  return name;
}
