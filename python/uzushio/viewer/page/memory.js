/** State of the page in its tab: it survives a reload, a lost connection and a viewer that was started again. */

/** Key in the storage of the tab, and pause after a change before it is stored, milliseconds. */
const KEY = "uzushio-view";
const PAUSE = 300;

/** Own view of the page, stored as it is shown. */
export class Memory {
  #store;
  #send;
  #stored = read();
  #connected = false; // and the state of the view has not come yet
  #timer = 0;

  constructor(store, send) {
    this.#store = store;
    this.#send = send;
    store.on("hello", () => (this.#connected = true));
    store.on("received", (message) => this.#received(message));
    store.on("view", () => {
      if (!this.#connected) this.#timer ||= setTimeout(() => this.#write(), PAUSE);
    });
    addEventListener("pagehide", () => this.#write());
  }

  /** Name of the page's own view; undefined if it never had one. */
  get view() {
    return this.#store.hello?.view ?? this.#stored?.view;
  }

  /** Restore the stored view after a new connection, unless another page has changed it meanwhile. */
  #received(message) {
    if (!this.#connected || message.view !== this.#store.hello.view) return;
    this.#connected = false;
    const [stored, { hello, description }] = [this.#stored, this.#store];
    if (!stored || stored.title !== description?.title) return;
    const others = message.changed_by !== null && message.changed_by !== stored.page;
    const newer = stored.session === hello.session && stored.view === hello.view && others;
    const same = JSON.stringify(without(message.settings)) === JSON.stringify(without(stored.settings));
    if (newer || same) return;
    if (!hello.read_only) {
      for (const [name, source] of Object.entries(stored.sources)) {
        if (!(name in message.sources)) this.#store.set(["sources", name], source);
      }
      if (!message.actions.length && stored.actions.length) this.#store.set(["actions"], stored.actions);
    }
    this.#store.replace(stored.settings);
    if (stored.step !== null && message.step === null && description.steps.includes(stored.step)) {
      this.#send({ type: "seek", step: stored.step });
    }
  }

  #write() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    const { hello, view, description, settings, sources, actions } = this.#store;
    if (!description || view?.view !== hello?.view || this.#connected) return;
    this.#stored = {
      title: description.title, session: hello.session, page: hello.page, view: view.view,
      step: view.step, settings, sources, actions,
    };
    try {
      sessionStorage.setItem(KEY, JSON.stringify(this.#stored));
    } catch {
      // a browser without storage keeps the view until the page is closed
    }
  }
}

/** Return settings without the size, which follows the window. */
function without({ size, ...settings }) {
  return settings;
}

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY));
  } catch {
    return null;
  }
}
