// Notes of a page of the live view, made before its scripts run: times in milliseconds of its clock.
// moves: of the pointer while dragging; patches and answers of the gateway with the revision;
// frames: header and arrival by sequence number; shown: pictures on the canvas, and decoding.
globalThis.noted = {
  moves: [], patches: [], frames: new Map(), shown: [], errors: [], view: null, next: null,
};

const decoding = new WeakMap();
let drawn = null;

const decode = globalThis.createImageBitmap;
globalThis.createImageBitmap = async (...given) => {
  const begin = performance.now();
  const bitmap = await decode.apply(globalThis, given);
  decoding.set(bitmap, performance.now() - begin);
  return bitmap;
};

const paint = CanvasRenderingContext2D.prototype.drawImage;
CanvasRenderingContext2D.prototype.drawImage = function (image, ...given) {
  paint.call(this, image, ...given);
  if (this.canvas.id === "picture") {
    drawn = { time: performance.now(), decode: decoding.get(image) ?? null }; // null: a VideoFrame
  }
};

addEventListener("pointermove", (event) => {
  if (event.buttons) noted.moves.push(event.timeStamp);
}, true);

const header = (buffer) => {
  const view = new DataView(buffer);
  return {
    arrival: performance.now(),
    bytes: buffer.byteLength,
    codec: view.getUint8(4),
    full: (view.getUint8(5) & 2) > 0,
    sequence: Number(view.getBigUint64(8, true)),
    revision: Number(view.getBigUint64(16, true)),
    width: view.getUint16(40, true),
    seconds: [44, 48, 52, 56].map((place) => view.getFloat32(place, true)),
  };
};

const Socket = globalThis.WebSocket;
globalThis.WebSocket = class extends Socket {
  constructor(...given) {
    super(...given);
    noted.socket = this;
    this.addEventListener("message", ({ data }) => {
      if (data instanceof ArrayBuffer) {
        const frame = header(data);
        noted.frames.set(frame.sequence, frame);
        return;
      }
      const message = JSON.parse(data);
      if (message.type === "error") noted.errors.push(message.message);
      if (message.type !== "view") return;
      noted.view = message;
      const patch = noted.patches.find((one) => one.revision === undefined);
      if (patch) Object.assign(patch, { revision: message.revision, answered: performance.now() });
      noted.next?.();
    });
  }

  send(text) {
    const message = JSON.parse(text);
    if (message.type === "patch") {
      noted.patches.push({ sent: performance.now(), moves: noted.moves.length });
    }
    if (message.type === "ack" && drawn) {
      // The page acknowledges a picture in the same task in which it draws it.
      noted.shown.push({ ...noted.frames.get(message.sequence), ...drawn });
      drawn = null;
    }
    super.send(text);
  }
};

/** Forget all but the connection. */
noted.clear = () => Object.assign(noted, { moves: [], patches: [], shown: [], errors: [] });

/** Rotate the camera without a drag, so that pictures have the full size and quality. */
noted.turn = () => {
  let azimuth = 0;
  noted.next = () => requestAnimationFrame(() => {
    if (!noted.next) return;
    const { view, revision } = noted.view;
    const changes = [{ path: ["views", view, "camera", "azimuth"], value: (azimuth += 2) % 360 }];
    noted.socket.send(JSON.stringify({ type: "patch", base: revision, changes }));
  });
  noted.next();
};
