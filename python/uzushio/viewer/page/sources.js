/** Controls of derived fields: the section `sources`. */

import { fillChoice, frame, rebuild, row, updateAll } from "./controls.js";
import { button, byId, make } from "./dom.js";

/** Show the derived fields, and a form for a new one. */
export function makeSourcesPanel(store) {
  const root = byId("sources");
  const list = make("div");
  const name = make("input", { type: "text", id: "source-name", autocomplete: "off", spellcheck: false });
  const kind = make("select", { id: "source-kind" });
  const of = make("input", { type: "text", id: "source-of", autocomplete: "off", spellcheck: false });
  const label = make("label", { htmlFor: "source-of" });
  const hint = make("p", { className: "hint" });
  const problem = make("p", { className: "error", hidden: true });
  const showKind = () => {
    label.textContent = kind.value ? "Of" : "Expression";
    of.placeholder = kind.value ? "u, v, w" : "u**2 + v**2";
    const fields = (store.description?.fields ?? []).map((field) => field.name).join(", ");
    hint.textContent = fields ? `Fields of the stream: ${fields}` : "";
  };
  const add = () => {
    const wanted = name.value.trim();
    const inputs = of.value.split(",").map((one) => one.trim()).filter(Boolean);
    problem.hidden = Boolean(/^[A-Za-z_]\w*$/.test(wanted) && inputs.length);
    problem.textContent = "Write a name of letters and digits, and the fields or the expression.";
    if (!problem.hidden) return;
    store.set(["sources", wanted], kind.value
      ? { kind: kind.value, of: inputs.length > 1 ? inputs : inputs[0] }
      : { expression: of.value.trim() });
  };
  kind.addEventListener("change", showKind);
  const form = make("fieldset", { className: "new" }, make("legend", {}, "New field"),
    row("Name", name.id, name), row("Kind", kind.id, kind),
    make("div", { className: "row" }, label, of), hint, problem,
    make("div", { className: "row" }, make("span", { className: "label" }), button("Add the field", add, { id: "source-add" })));
  // Errors about `sources` as a whole appear at the form.
  root.append(list, frame(store, ["sources"], () => {}, form));

  const entry = (source) => {
    const path = ["sources", source];
    const what = make("span", { className: "what" });
    const update = () => {
      const { expression, kind, of } = store.get(path, {});
      what.textContent = expression ?? `${kind?.replace("_", " ")} of ${[of].flat().join(", ")}`;
    };
    const remove = button("Remove", () => store.set(path, null), {
      className: "quiet", "aria-label": `Remove the field ${source}` });
    return frame(store, path, update, make("div", { className: "source" }, make("b", {}, source), what, remove));
  };
  let shape = "";
  store.on("view", () => {
    const names = Object.keys(store.sources);
    if (shape !== names.join()) rebuild(list, ...names.map(entry));
    shape = names.join();
    updateAll(root);
  });
  store.on("description", showKind);
  fillChoice(store, kind, ["SourceSettings", "kind"], make("option", { value: "" }, "expression"));
  showKind();
}
