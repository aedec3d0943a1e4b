/** Play of steps: one is requested when the picture of the one before is shown and its time is up. */

/** Steps a second: the default, and the limits. */
export const DEFAULT_RATE = 10;
export const MIN_RATE = 0.1;
export const MAX_RATE = 60;

/** Player. A slow drawing side or link makes it slower; no step is left out. */
export class Player {
  playing = false;
  loop = false;
  /** Maximum steps a second. */
  rate = DEFAULT_RATE;
  #steps;
  #shown;
  #request;
  #ended;
  #requested;
  #due = 0; // time of the next request, milliseconds
  #timer = 0;
  #failed = false;

  /**
   * @param source functions `steps`, which returns the steps that can be shown, increasing; `shown`,
   *   the step of the picture on the screen; `request`, which requests a step and returns whether it
   *   was sent; `ended`, which is called after the last step.
   */
  constructor({ steps, shown, request, ended }) {
    this.#steps = steps;
    this.#shown = shown;
    this.#request = request;
    this.#ended = ended;
  }

  /** Play from the step that is shown; from the first one if that is the last. */
  start() {
    const steps = this.#steps();
    this.#requested = this.#shown();
    if (steps.length < 2 || this.#requested === undefined) return;
    if (this.#requested >= steps.at(-1)) this.#requested = -Infinity;
    this.playing = true;
    this.#due = performance.now();
    this.advance();
  }

  stop() {
    this.playing = false;
    clearTimeout(this.#timer);
  }

  /** Request the next step if it is time: call it after each picture. */
  advance() {
    if (!this.playing || this.#waits()) return;
    clearTimeout(this.#timer);
    const now = performance.now();
    if (now < this.#due) {
      this.#timer = setTimeout(() => this.advance(), this.#due - now);
      return;
    }
    const steps = this.#steps();
    const next = steps.find((step) => step > this.#requested) ?? (this.loop ? steps[0] : undefined);
    if (next === undefined) {
      this.stop();
      return this.#ended();
    }
    this.#due = Math.max(this.#due + 1000 / this.rate, now);
    this.#requested = next;
    this.#failed = false;
    if (!this.#request(next)) this.stop();
  }

  /** Take the steps that can be shown now: one that was dropped is passed over. */
  stepsChanged() {
    if (this.#failed && this.#waits()) this.stop();
    this.advance();
  }

  /** Note an error: play ends if the step that it waits for is still there. */
  fail() {
    this.#failed = true;
  }

  /** Return whether a step is that of the request in flight. */
  requests(step) {
    return step === this.#requested;
  }

  #waits() {
    return this.#requested !== this.#shown() && this.#steps().includes(this.#requested);
  }
}
