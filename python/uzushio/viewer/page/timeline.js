/** Step and time: live or paused, and a slider over the stored steps or those of the rewind buffer. */

import { button, byId, make } from "./dom.js";
import { show } from "./controls.js";
import { clamp, short } from "./numbers.js";

/** Minimum time between two steps that the slider requests, milliseconds. */
const INTERVAL = 60;

/** Timeline. */
export class Timeline {
  #store;
  #send;
  #frames;
  #wanted = null; // step that the slider or a button has requested, until the view shows it
  #timer = 0;
  #live = button("", () => this.toggle(), { id: "live", className: "main" });
  #before = button("‹", () => this.move(-1), { "aria-label": "Step before" });
  #after = button("›", () => this.move(1), { "aria-label": "Step after" });
  #slider = make("input", { type: "range", id: "step-slider", step: 1, "aria-label": "Step" });
  #step = make("input", { type: "number", id: "step", step: 1, "aria-label": "Number of the step" });
  #time = make("output", { id: "time" });

  constructor(store, frames, send) {
    this.#store = store;
    this.#frames = frames;
    this.#send = send;
    byId("timeline").append(this.#live, this.#before, this.#slider, this.#after,
      make("label", { className: "inline" }, "Step ", this.#step), this.#time);
    this.#slider.addEventListener("input", () => this.#seek(this.#steps[this.#slider.value]));
    this.#step.addEventListener("change", () => this.#seek(nearest(this.#steps, this.#step.value)));
    store.on("view", () => {
      if (store.view.step === this.#wanted) this.#wanted = null;
    });
    store.on("view status description hello", () => this.update());
    this.update();
  }

  /** Pause, or follow the newest step. */
  toggle() {
    this.#send({ type: this.#paused ? "live" : "pause" });
    this.#wanted = null;
  }

  /** Show the step before or after. */
  move(by) {
    const steps = this.#steps;
    const place = steps.indexOf(nearest(steps, this.#wanted ?? this.#frames.shown?.step));
    if (place >= 0) this.#seek(steps[clamp(place + by, 0, steps.length - 1)]);
  }

  /** Show the present state. */
  update() {
    const { description, status, view } = this.#store;
    const steps = this.#steps;
    const shown = this.#frames.shown;
    const running = description?.live && status?.state !== "ended";
    this.#live.textContent = running ? (this.#paused ? "Go live" : "Pause") : this.#paused ? "Newest" : "Pause";
    this.#live.hidden = !running && !this.#paused;
    this.#live.disabled = !view;
    const step = this.#wanted ?? view?.step ?? shown?.step;
    this.#slider.max = Math.max(0, steps.length - 1);
    this.#slider.value = steps.indexOf(nearest(steps, step));
    this.#slider.disabled = this.#before.disabled = this.#after.disabled = steps.length < 2;
    this.#step.disabled = !steps.length;
    show(this.#step, step);
    const unit = description?.time_unit ? ` ${description.time_unit}` : "";
    this.#time.textContent = shown ? `t = ${short(shown.time, 6)}${unit}` : "";
    this.#slider.setAttribute("aria-valuetext", shown ? `step ${step}, ${this.#time.textContent}` : "no step");
  }

  get #paused() {
    return this.#wanted !== null || (this.#store.view?.step ?? null) !== null;
  }

  /** Steps that can be shown, increasing. */
  get #steps() {
    const { description, status } = this.#store;
    if (description?.steps.length) return description.steps;
    const kept = status?.kept ?? [];
    const newest = status?.step;
    return newest === null || newest === undefined || kept.includes(newest) ? kept : [...kept, newest];
  }

  #seek(step) {
    if (step === undefined) return;
    this.#wanted = step;
    this.update();
    this.#timer ||= setTimeout(() => {
      this.#timer = 0;
      if (this.#wanted !== null) this.#send({ type: "seek", step: this.#wanted });
    }, INTERVAL);
  }
}

/** Return the number of a list that is nearest to a value. */
function nearest(numbers, value) {
  let best;
  for (const one of numbers) {
    if (best === undefined || Math.abs(one - value) < Math.abs(best - value)) best = one;
  }
  return best;
}
