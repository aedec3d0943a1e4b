/** Step and time: live or paused, play, and a slider over the stored steps or those of the rewind buffer. */

import { button, byId, make } from "./dom.js";
import { onEnter, show } from "./controls.js";
import { clamp, short } from "./numbers.js";
import { showSymbols } from "./symbols.js";
import { DEFAULT_RATE, MAX_RATE, MIN_RATE, Player } from "./player.js";

/** Minimum time between two steps that the slider requests, milliseconds. */
const INTERVAL = 60;

/** Timeline. */
export class Timeline {
  #store;
  #send;
  #frames;
  #wanted = null; // step that the slider or a button has requested, until the view shows it
  #timer = 0;
  #viewStep; // of the newest message on the view
  #player = new Player({
    steps: () => this.#steps,
    shown: () => this.#frames.shown?.step,
    request: (step) => this.#request(step),
    ended: () => (this.#running ? this.#send({ type: "live" }) : this.update()),
  });
  #live = button("", () => this.toggle(), { id: "live", className: "main" });
  #before = button("‹", () => this.move(-1), { "aria-label": "Step before" });
  #after = button("›", () => this.move(1), { "aria-label": "Step after" });
  #slider = make("input", { type: "range", id: "step-slider", step: 1, "aria-label": "Step" });
  #step = make("input", { type: "number", id: "step", step: 1, "aria-label": "Number of the step" });
  #time = make("output", { id: "time" });
  #play = button("Play", () => this.play(), { id: "play" });
  #rate = make("input", {
    type: "number", id: "rate", step: "any", min: MIN_RATE, max: MAX_RATE, value: DEFAULT_RATE,
    title: "Maximum; slower where drawing or the link takes longer",
  });
  #loop = make("input", { type: "checkbox", id: "loop" });

  constructor(store, frames, send) {
    this.#store = store;
    this.#frames = frames;
    this.#send = send;
    byId("timeline").append(this.#live, this.#play, this.#before, this.#slider, this.#after,
      make("label", { className: "inline" }, "Step ", this.#step), this.#time,
      make("label", { className: "inline play" }, this.#rate, " steps/s"),
      make("label", { className: "inline play" }, this.#loop, " Loop"));
    this.#slider.addEventListener("input", () => this.#seek(this.#steps[this.#slider.value]));
    onEnter(this.#step, (text) => (text ? this.#seek(nearest(this.#steps, text)) : this.update()));
    this.#rate.addEventListener("change", () => {
      this.#player.rate = clamp(Number(this.#rate.value) || DEFAULT_RATE, MIN_RATE, MAX_RATE);
      this.#rate.value = this.#player.rate;
    });
    this.#loop.addEventListener("change", () => (this.#player.loop = this.#loop.checked));
    store.on("view", () => this.#viewChanged());
    store.on("error", () => this.#player.fail());
    store.on("hello", () => this.#player.stop()); // the request in flight may be lost
    store.on("status description", () => this.#player.stepsChanged());
    store.on("view status description hello", () => this.update());
    this.update();
  }

  /** Pause, or follow the newest step. */
  toggle() {
    this.#player.stop();
    this.#send({ type: this.#paused ? "live" : "pause" });
    this.#wanted = null;
  }

  /** Pause a running stream; play from a stored or kept step, or end it. */
  play() {
    if (this.#player.playing) this.#player.stop();
    else if (this.#running && !this.#paused) return this.toggle();
    else this.#player.start();
    this.update();
  }

  /** Show the newest step, and each that follows. */
  newest() {
    this.#player.stop();
    this.#wanted = null;
    this.#send({ type: "live" });
  }

  /** A picture is shown. */
  pictureShown() {
    this.#player.advance();
    this.update();
  }

  /** Show the step before or after. */
  move(by) {
    const steps = this.#steps;
    const place = steps.indexOf(nearest(steps, this.#wanted ?? this.#frames.shown?.step));
    if (place >= 0) this.#seek(steps[clamp(place + by, 0, steps.length - 1)]);
  }

  /** Show the present state. */
  update() {
    const { description, view } = this.#store;
    const steps = this.#steps;
    const shown = this.#frames.shown;
    const running = this.#running;
    this.#live.textContent = running ? (this.#paused ? "Go live" : "Pause") : this.#paused ? "Newest" : "Pause";
    this.#live.hidden = !running && !this.#paused;
    this.#live.disabled = !view;
    const step = this.#wanted ?? view?.step ?? shown?.step;
    this.#slider.max = Math.max(0, steps.length - 1);
    this.#slider.value = steps.indexOf(nearest(steps, step));
    this.#slider.disabled = this.#before.disabled = this.#after.disabled = steps.length < 2;
    this.#step.disabled = !steps.length;
    const { playing } = this.#player;
    this.#play.textContent = playing ? "Stop" : "Play";
    this.#play.disabled = !playing && (steps.length < 2 || !shown || (running && !this.#paused));
    show(this.#step, step);
    const unit = description?.time_unit ? ` ${description.time_unit}` : "";
    showSymbols(this.#time, shown ? `t = ${short(shown.time, 6)}${unit}` : "");
    this.#slider.setAttribute("aria-valuetext", shown ? `step ${step}, ${this.#time.textContent}` : "no step");
  }

  get #running() {
    const { description, status } = this.#store;
    return description?.live && status?.state !== "ended";
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

  #viewChanged() {
    const { view, hello } = this.#store;
    const other = view.changed_by !== hello?.page && view.step !== this.#viewStep;
    if (other && !this.#player.requests(view.step)) this.#player.stop(); // another page's choice
    this.#viewStep = view.step;
    if (view.step === this.#wanted) this.#wanted = null;
  }

  /** Request a step now. */
  #request(step) {
    this.#wanted = step;
    this.update();
    return this.#send({ type: "seek", step });
  }

  #seek(step) {
    this.#player.stop();
    if (step === undefined) return;
    this.#wanted = step;
    this.update();
    if (this.#timer) return;
    this.#timer = setTimeout(() => {
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
