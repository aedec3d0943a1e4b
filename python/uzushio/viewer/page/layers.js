/** Controls of the layers: slices, isosurfaces, volumes, meshes. */

import { colorControls, limitsOf } from "./colors.js";
import { checkbox, color, number, rebuild, segments, select, updateAll } from "./controls.js";
import { button, byId, make } from "./dom.js";
import { boundsOf, rangeOf, scalars } from "./mesh.js";
import { rounded } from "./numbers.js";
import { planeControls, shapeOfPlane } from "./plane.js";
import { transferFunction } from "./transfer.js";

const NAMES = { slice: "Slice", isosurface: "Isosurface", volume: "Volume", mesh: "Mesh" };
/** Kinds of layers that have one colour if none is given; the others have colours by value. */
const SURFACES = ["isosurface", "mesh"];
/** Colour of an isosurface for which none is given. */
const SURFACE = "#d8a35c";

/** List of the layers with their controls. */
export class Layers {
  #store;
  #list = make("div", { className: "layers" });
  #empty = make("p", { className: "hint" }, "There are no layers. Add one to see the flow.");
  #shape = "";
  #folded = new Set(); // places of the layers whose settings are hidden
  #waiting = null; // isosurface whose field has no known range yet

  constructor(store) {
    this.#store = store;
    const add = make("div", { className: "row add" }, make("span", { className: "label" }, "Add"),
      make("div", { className: "pair" },
        ...["slice", "isosurface", "volume"].map((kind) =>
          button(NAMES[kind], () => this.#add(kind), { className: `add-${kind}` }))));
    byId("layers").append(this.#empty, this.#list, add);
    store.on("view description", () => this.#update());
    store.on("description", () => this.#setWaiting());
  }

  #update() {
    const { layers } = this.#store.settings;
    // The controls are made again when a layer has others.
    const shape = JSON.stringify([
      this.#store.view?.view,
      layers.map((layer) => [
        layer.kind, typeof (layer.color ?? (SURFACES.includes(layer.kind) ? "" : {})), layer.values?.length, shapeOfPlane(layer),
      ]),
      Boolean(this.#store.get(["clip"], []).length),
    ]);
    this.#empty.hidden = layers.length > 0 || !this.#store.view;
    if (shape === this.#shape) return updateAll(this.#list);
    this.#shape = shape;
    rebuild(this.#list, ...layers.map((_, place) => this.#layer(place)));
  }

  #add(kind) {
    const { description, sources, settings } = this.#store;
    const names = scalars(description, sources);
    const field = settings.layers.at(-1)?.field ?? names[0];
    if (!field) return;
    const layer = { kind, field };
    if (kind === "isosurface") layer.values = this.#middle(field, settings.layers.length);
    this.#setLayers([...settings.layers, layer]);
    byId(`layer-${settings.layers.length}`)?.querySelector("select, input")?.focus();
  }

  /**
   * Return the value in the middle of a field's range, for a new isosurface.
   *
   * The range of a derived field is known when it was drawn: the value is then set again.
   */
  #middle(field, place) {
    const range = rangeOf(this.#store.description, field);
    this.#waiting = range ? null : { field, place };
    if (!range) return [0];
    const [low, high] = range;
    return [rounded((low + high) / 2, 4)];
  }

  /** Set the value of an isosurface whose range was not known, unless it has another one since. */
  #setWaiting() {
    if (!this.#waiting) return;
    const { field, place } = this.#waiting;
    const layer = this.#store.get(["layers", place]);
    if (layer?.field !== field || String(layer.values) !== "0") this.#waiting = null;
    else if (rangeOf(this.#store.description, field)) {
      this.#store.set(["layers", place, "values"], this.#middle(field, place));
    }
  }

  #setLayers(layers) {
    this.#folded.clear(); // their places change
    this.#store.set(["layers"], layers);
  }

  #layer(place) {
    const store = this.#store;
    const { kind } = store.settings.layers[place];
    const remove = button("Remove", () => {
      this.#setLayers(store.settings.layers.filter((_, other) => other !== place));
      byId("layers").querySelector("button")?.focus();
    }, { className: "quiet", "aria-label": `Remove layer ${place + 1}, ${NAMES[kind]}` });
    const folded = this.#folded.has(place);
    const body = make("div", { className: "settings", id: `layer-${place}-settings`, hidden: folded });
    const fold = button(NAMES[kind], () => section.fold(!body.hidden), {
      className: "fold", "aria-expanded": String(!folded), "aria-controls": body.id });
    const parts = { slice: this.#slice, isosurface: this.#isosurface, volume: this.#volume, mesh: this.#mesh };
    body.append(...parts[kind].call(this, place), ...(store.get(["clip"], []).length
      ? [checkbox(store, ["layers", place, "clipped"], { label: "Clipped", fallback: true })] : []));
    const section = make(
      "section",
      { className: "layer", id: `layer-${place}`, "aria-label": `Layer ${place + 1}, ${NAMES[kind]}` },
      make("header", {}, make("h3", {}, fold), remove), body,
    );
    section.fold = (closed) => {
      body.hidden = closed;
      fold.setAttribute("aria-expanded", String(!closed));
      if (closed) this.#folded.add(place);
      else this.#folded.delete(place);
    };
    return section;
  }

  #field(path, label, none, write) {
    const store = this.#store;
    return select(store, path, {
      label, write,
      choices: () => [
        ...(none ? [["", none]] : []),
        ...scalars(store.description, store.sources).map((name) => [name, name]),
      ],
    });
  }

  #opacity(path) {
    return number(this.#store, [...path, "opacity"], { label: "Opacity", fallback: 1, range: () => [0, 1], min: 0, max: 1 });
  }

  #slice(place) {
    const store = this.#store;
    const path = ["layers", place];
    const layer = () => store.get(path);
    const bounds = () => boundsOf(store.description, layer().field);
    return [
      this.#field([...path, "field"], "Field"),
      ...planeControls(store, path, bounds),
      ...colorControls(store, place),
      this.#opacity(path),
    ];
  }

  #isosurface(place) {
    const store = this.#store;
    const path = ["layers", place];
    const values = () => store.get([...path, "values"], []);
    const setValue = (which, value) => {
      const next = [...values()];
      next[which] = value ?? next[which];
      store.set([...path, "values"], next);
    };
    const range = () => this.#range(store.get([...path, "field"]), place);
    const rows = values().map((_, which) => {
      const control = number(store, [...path, "values", which], {
        label: values().length > 1 ? `Value ${which + 1}` : "Value", range,
        read: () => values()[which], write: (value) => setValue(which, value),
      });
      if (values().length > 1) {
        control.querySelector(".row").append(button("×", () =>
          store.set([...path, "values"], values().filter((_, other) => other !== which)),
        { className: "quiet", "aria-label": `Remove value ${which + 1}` }));
      }
      return control;
    });
    const more = make("div", { className: "row" }, make("span", { className: "label" }),
      button("Add a value", () => {
        const [low, high] = range();
        const next = (low + 2 * high) / 3;
        store.set([...path, "values"], [...values(), rounded(values().includes(next) ? high : next, 4)]);
      }));
    const chooseField = (field) =>
      store.set(path, { ...store.get(path), field, values: this.#middle(field, place) });
    return [this.#field([...path, "field"], "Field", null, chooseField), ...rows, more,
      ...this.#surfaceColors(place, SURFACE), this.#opacity(path),
      checkbox(store, [...path, "lighting"], { label: "Lighting", fallback: true })];
  }

  #volume(place) {
    const store = this.#store;
    const path = ["layers", place];
    const [first, ...others] = colorControls(store, place);
    return [
      this.#field([...path, "field"], "Field"), first, transferFunction(store, place), ...others,
      select(store, [...path, "places"], {
        label: "Places", fallback: "limits",
        choices: () => [["limits", "0 to 1 over the range"], ["values", "the field’s values"]],
        write: (value) => this.#setPlaces(place, value),
      }),
      number(store, [...path, "unit_distance"], { label: "Depth", placeholder: () => "1/40 of the diagonal", min: 0 }),
      checkbox(store, [...path, "shading"], { label: "Shading" }),
    ];
  }

  /** Change the units of a volume's places; the points keep their values. */
  #setPlaces(place, places) {
    const layer = this.#store.get(["layers", place]);
    const [low, high] = limitsOf(this.#store, place) ?? this.#range(layer.field, place);
    const points = layer.opacity ?? [[0, 0], [1, 0.4]];
    const convert = (x) => (places === "values" ? low + x * (high - low) : (x - low) / (high - low));
    this.#store.set(["layers", place], {
      ...layer, places, opacity: points.map(([x, y]) => [rounded(convert(x), 5), y]),
    });
  }

  #mesh(place) {
    const store = this.#store;
    const path = ["layers", place];
    return [
      select(store, [...path, "mesh"], {
        label: "Mesh", choices: () => (store.description?.meshes ?? []).map(({ name }) => [name, name]),
      }),
      ...this.#surfaceColors(place, "#c9ced6"),
      checkbox(store, [...path, "edges"], { label: "Lines of the mesh" }),
      checkbox(store, [...path, "lighting"], { label: "Lighting", fallback: true }),
    ];
  }

  /** Return controls for one colour, or colours by the value of a field. */
  #surfaceColors(place, fallback) {
    const store = this.#store;
    const path = ["layers", place, "color"];
    const byField = () => typeof store.get(path) === "object";
    const choice = segments(store, path, {
      label: "Colour", choices: [["one", "one colour"], ["field", "by a field"]],
      read: () => (byField() ? "field" : "one"),
      write: (value) => {
        const field = store.get(["layers", place, "field"]) ?? scalars(store.description, store.sources)[0];
        store.set(path, value === "field" ? { field } : fallback);
      },
    });
    if (!byField()) return [choice, color(store, path, { label: "Surface", fallback })];
    return [choice, this.#field([...path, "field"], "Colour field"), ...colorControls(store, place)];
  }

  /** Return the range of values of a field for sliders. */
  #range(field, place) {
    const known = rangeOf(this.#store.description, field);
    if (known && known[0] < known[1]) return known;
    const limits = place < 0 ? null : limitsOf(this.#store, place);
    if (limits && !this.#store.get(["layers", place, "color", "field"])) return limits;
    const values = this.#store.get(["layers", place, "values"], [0]);
    const size = Math.max(1, ...values.map(Math.abs));
    return [-2 * size, 2 * size];
  }
}
