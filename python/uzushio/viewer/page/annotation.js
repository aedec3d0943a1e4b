/** Controls of background, title and annotation, made from the JSON schema of a view. */

import { checkbox, color, number, rebuild, text, updateAll } from "./controls.js";
import { button, byId, make } from "./dom.js";

/** Settings of a view that the schema describes well enough, in their order. */
const KEYS = [
  "title", "time_stamp", "legend", "bodies", "axes", "outline", "orientation", "length_unit", "text_size", "samples",
];
const LABELS = {
  title: "Title", time_stamp: "Time stamp", legend: "Colour bars", bodies: "Bodies", axes: "Axes with ticks",
  outline: "Edges of the domain", orientation: "Arrows of the axes", length_unit: "Unit of lengths",
  text_size: "Size of text", samples: "Samples",
};
const DARK = "#15181c";
const BACKGROUNDS = [["white", "white"], ["dark", DARK], ["grey", ["#5c6773", "#1c232b"]]];

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Return the background of a new view in the colours of the system; null for the default. */
export const schemeBackground = () => (dark.matches ? DARK : null);

/** Change the background with the colours of the system, unless the user has chosen another one. */
export function followScheme(store) {
  dark.addEventListener("change", () => {
    if ([null, DARK].includes(store.get(["background"], null))) store.set(["background"], schemeBackground());
  });
}

/** Show the controls once the schema is known. */
export function makeAnnotationPanel(store) {
  const root = byId("annotation");
  store.on("hello", () => {
    const { properties } = store.hello.document_schema.$defs.View;
    const quick = BACKGROUNDS.map(([name, value]) =>
      button(name, () => store.set(["background"], value)));
    rebuild(
      root,
      color(store, ["background"], { label: "Background", fallback: "white" }),
      make("div", { className: "row" }, make("span", { className: "label" }),
        make("div", { className: "pair", role: "group", "aria-label": "Backgrounds" }, ...quick)),
      ...KEYS.filter((key) => properties[key]).map((key) => control(store, key, properties[key])),
    );
  });
  store.on("view", () => updateAll(root));
}

/** Return the control of a setting by its schema. */
function control(store, key, schema) {
  const options = { label: LABELS[key], fallback: schema.default ?? undefined };
  const kinds = (schema.anyOf ?? [schema]).map((one) => one.type);
  const { minimum: min, maximum: max } = schema.anyOf?.[0] ?? schema;
  const element = kinds.includes("boolean") ? checkbox(store, [key], options)
    : kinds.includes("number") || kinds.includes("integer")
      ? number(store, [key], {
        ...options, min, max, integer: kinds.includes("integer"),
        placeholder: () => (kinds.includes("null") ? "automatic" : ""),
      })
      : text(store, [key], { ...options, fallback: schema.default ?? "" });
  element.title = schema.description ?? "";
  return element;
}
