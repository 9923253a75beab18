/** Numbers from a seed: a counter, whose words a 32-bit hash mixes (constants of C. Wellons' "hash prospector"). */
export class Generator {
  /** @param {number} seed an integer, 0 to 2^32 - 1 */
  constructor(seed) {
    this.count = seed;
  }

  /** Uniform on [0, 1). */
  uniform() {
    this.count = (this.count + 0x9e3779b9) | 0;
    let word = this.count ^ (this.count >>> 16);
    word = Math.imul(word, 0x21f0aaad);
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
    return ((word ^ (word >>> 15)) >>> 0) / 2 ** 32;
  }

  /** Uniform over 0, ..., last. */
  upTo(last) {
    return Math.floor(this.uniform() * (last + 1));
  }

  /** A list of `size` distinct integers below n, in random order. */
  choice(n, size) {
    const values = Array.from({ length: n }, (_, k) => k);
    for (let k = 0; k < size; k++) {
      const j = k + this.upTo(n - 1 - k);
      [values[k], values[j]] = [values[j], values[k]];
    }
    return values.slice(0, size);
  }
}

const WORDS = 0xffffffffn,
  LONG = (1n << 64n) - 1n,
  STATE = (1n << 128n) - 1n;

/** Words of 32 bits from numbers below 2^32, as `numpy.random.SeedSequence` makes them. */
function seeded(entropy) {
  let constant = 0x43b0d7e5;
  const hashed = (value, factor) => {
    value ^= constant;
    constant = Math.imul(constant, factor);
    value = Math.imul(value, constant);
    return value ^ (value >>> 16);
  };
  const mixed = (x, y) => {
    const word = Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y);
    return word ^ (word >>> 16);
  };
  const pool = [0, 1, 2, 3].map((k) => hashed(entropy[k] ?? 0, 0x931e8875));
  for (let from = 0; from < 4; from++)
    for (let to = 0; to < 4; to++) if (to !== from) pool[to] = mixed(pool[to], hashed(pool[from], 0x931e8875));
  constant = 0x8b51f9dd;
  return Array.from({ length: 8 }, (_, k) => BigInt(hashed(pool[k % 4], 0x58f38ded) >>> 0));
}

/** The numbers of `numpy.random.default_rng` (PCG64): with the same chances the package draws the same people. */
export class Numpy {
  /** @param {...number} entropy up to four integers, 0 to 2^32 - 1 */
  constructor(...entropy) {
    const w = seeded(entropy),
      long = (k) => (w[k] | (w[k + 1] << 32n)) << 64n | w[k + 2] | (w[k + 3] << 32n);
    this.increment = ((long(4) << 1n) | 1n) & STATE;
    this.state = (this.increment + long(0)) & STATE;
    this.half = null;
    this.step();
  }

  step() {
    this.state = (this.state * 0x2360ed051fc65da44385df649fccf645n + this.increment) & STATE;
  }

  /** The next 64 bits. */
  next() {
    this.step();
    const word = (this.state >> 64n) ^ (this.state & LONG),
      turn = this.state >> 122n;
    return ((word >> turn) | (word << (64n - turn))) & LONG;
  }

  /** The next 32 bits: of 64, first the lower half. */
  word() {
    const long = this.half === null ? this.next() : null,
      found = long === null ? this.half : long & WORDS;
    this.half = long === null ? null : long >> 32n;
    return found;
  }

  uniform() {
    return Number(this.next() >> 11n) / 2 ** 53;
  }

  /** Uniform over 0, ..., last: the first word that fits, of as many bits as there need be. */
  upTo(last) {
    for (const mask = 2 ** (32 - Math.clz32(last)) - 1; ; ) {
      const found = Number(this.word() & BigInt(mask));
      if (found <= last) return found;
    }
  }

  /** The values in random order. */
  shuffled(values) {
    const order = [...values];
    for (let i = order.length - 1; i > 0; i--) {
      const j = this.upTo(i);
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order;
  }
}
