/** Pictures of an H.264 stream, decoded by WebCodecs where the browser offers it. */

/** Maximum milliseconds of a frame in the decoder, and by which it may be slower than JPEG on average. */
const MAX_TIME = 1000;
const MAX_LAG = 100;
/** Weight of earlier frames in the average. */
const DECAY = 0.8;

/** Key frame of one colour, and its size. */
const TEST_SIZE = [64, 64];
const TEST_FRAME = "AAAAAWdCwAraEJpqAgICgAAAAwCAAAA8R4kTUAAAAAFozgTyAAAAAWWIhDomKAMnJyddddddddddddeA";

/** Decoder of the stream; after an error, or when it is late, it is given up. */
export class VideoPictures {
  givenUp = false;
  #works = null;
  #decoder = null;
  #settle = null; // of the frame in the decoder
  #frames = 0;
  #averages = new Map([[true, 0]]); // of H.264 (true) and of JPEG

  /** Return whether this browser decodes such streams; at first a test frame is decoded. */
  works() {
    return (this.#works ??= this.#test().catch(() => (this.close(), false)));
  }

  /** Use the decoder no longer. */
  giveUp() {
    this.givenUp = true;
    this.#works = Promise.resolve(false);
    this.close();
  }

  /** Forget the stream; the next frame is a key frame. A frame in the decoder has no picture. */
  close() {
    if (this.#decoder && this.#decoder.state !== "closed") this.#decoder.close();
    this.#decoder = null;
    this.#settle?.({ picture: null });
  }

  /**
   * Return the picture of the next frame, as `VideoFrame`; null after `close`.
   *
   * @throws Error the frame cannot be decoded, or not in time.
   */
  async decode({ data, key }) {
    if (key) this.#begin(data);
    if (!this.#decoder) throw new Error("the stream does not begin with a key frame");
    const { picture, error } = await new Promise((resolve) => {
      const timer = setTimeout(() => this.#settle({ error: new Error("decoding takes too long") }), MAX_TIME);
      this.#settle = (outcome) => {
        clearTimeout(timer);
        this.#settle = null;
        resolve(outcome);
      };
      const type = key ? "key" : "delta";
      this.#decoder.decode(new EncodedVideoChunk({ type, timestamp: this.#frames++, data }));
    });
    if (error) throw error;
    return picture;
  }

  /** Note the milliseconds of a frame from its reception to its picture; throws if decoding lags. */
  note(isVideo, milliseconds) {
    const bounded = Math.min(milliseconds, 3 * MAX_LAG); // one frame alone is no lag
    const average = DECAY * (this.#averages.get(isVideo) ?? bounded) + (1 - DECAY) * bounded;
    this.#averages.set(isVideo, average);
    if (isVideo && average > (this.#averages.get(false) ?? 0) + MAX_LAG) throw new Error("decoding lags");
  }

  #begin(data) {
    this.close();
    const decoder = new VideoDecoder({
      output: (picture) => (this.#settle && decoder === this.#decoder ? this.#settle({ picture }) : picture.close()),
      error: (error) => decoder === this.#decoder && this.#settle?.({ error }),
    });
    decoder.configure(configuration(data));
    this.#decoder = decoder;
  }

  async #test() {
    if (!globalThis.VideoDecoder) return false;
    const data = Uint8Array.from(atob(TEST_FRAME), (character) => character.charCodeAt(0));
    const { supported } = await VideoDecoder.isConfigSupported(configuration(data));
    if (!supported) return false;
    const picture = await this.decode({ data, key: true });
    const fits = picture.displayWidth === TEST_SIZE[0] && picture.displayHeight === TEST_SIZE[1];
    picture.close();
    this.close();
    return fits;
  }
}

/** Return the decoder's configuration for a stream: profile and level are in its parameter set. */
function configuration(data) {
  const place = data.findIndex((one, at) =>
    one === 1 && data[at - 1] === 0 && data[at - 2] === 0 && (data[at + 1] & 31) === 7);
  const numbers = [...data.subarray(place + 2, place + 5)];
  const codec = `avc1.${numbers.map((one) => one.toString(16).padStart(2, "0")).join("")}`;
  return { codec, optimizeForLatency: true };
}
