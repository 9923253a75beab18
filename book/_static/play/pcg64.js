/**
 * NumPy's `default_rng(seed)`, as far as drawing without replacement needs it, to the bit.
 *
 * M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number
 * Generation", Harvey Mudd College, 2014 (XSL-RR 128/64). D. Lemire, "Fast Random Integer Generation in an Interval",
 * ACM Transactions on Modeling and Computer Simulation 29(1), 2019. J. Bentley and R. W. Floyd, "A Sample of
 * Brilliance", Communications of the ACM 30(9), 1987.
 */

const WORD = (1n << 64n) - 1n;
const STATE = (1n << 128n) - 1n;
const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;
const POOL = 4; // 32-bit words that NumPy's SeedSequence keeps

/** A hash of 32-bit words whose constant moves on with every word. */
function hasher(constant, multiplier) {
  return (word) => {
    word ^= constant;
    constant = Math.imul(constant, multiplier);
    word = Math.imul(word, constant);
    return word ^ (word >>> 16);
  };
}

function mix(a, b) {
  const word = Math.imul(a, 0xca01f9dd) - Math.imul(b, 0x4973f715);
  return word ^ (word >>> 16);
}

/** `SeedSequence(seed).generate_state(4, uint64)` for a seed below 2^32. */
function seedWords(seed) {
  const hash = hasher(0x43b0d7e5, 0x931e8875);
  const pool = Array.from({ length: POOL }, (_, k) => hash(k ? 0 : seed));
  for (let from = 0; from < POOL; from++)
    for (let to = 0; to < POOL; to++) if (from !== to) pool[to] = mix(pool[to], hash(pool[from]));
  const spread = hasher(0x8b51f9dd, 0x58f38ded);
  const words = Array.from({ length: 8 }, (_, k) => BigInt(spread(pool[k % POOL]) >>> 0));
  return [0, 2, 4, 6].map((k) => words[k] | (words[k + 1] << 32n));
}

export class Generator {
  /** @param {number} seed an integer, 0 to 2^32 - 1 */
  constructor(seed) {
    const [a, b, c, d] = seedWords(seed);
    this.increment = ((((c << 64n) | d) << 1n) | 1n) & STATE;
    this.state = 0n;
    this.step();
    this.state = (this.state + ((a << 64n) | b)) & STATE;
    this.step();
    this.spare = null; // the upper half of the last 64 bits
  }

  step() {
    this.state = (this.state * MULTIPLIER + this.increment) & STATE;
  }

  word() {
    this.step();
    const folded = (this.state >> 64n) ^ (this.state & WORD);
    const turn = this.state >> 122n;
    return ((folded >> turn) | (folded << (64n - turn))) & WORD;
  }

  half() {
    if (this.spare !== null) {
      const spare = this.spare;
      this.spare = null;
      return spare;
    }
    const word = this.word();
    this.spare = word >> 32n;
    return word & 0xffffffffn;
  }

  /** Uniform over 0, ..., last; last below 2^32 - 1. */
  upTo(last) {
    if (last === 0) return 0;
    const range = BigInt(last) + 1n;
    const least = 0x100000000n % range; // below it, some values would be drawn more often than others
    let product;
    do product = this.half() * range;
    while ((product & 0xffffffffn) < least);
    return Number(product >> 32n);
  }

  /** Shuffle values[first - 1], ..., the last one down. */
  shuffle(values, first) {
    for (let k = values.length - 1; k >= first; k--) {
      const j = this.upTo(k);
      [values[k], values[j]] = [values[j], values[k]];
    }
  }

  /** `choice(n, size, replace=False)`: a list of distinct integers below n. */
  choice(n, size) {
    if (n > 10000 && size > Math.floor(n / 50)) {
      const all = Array.from({ length: n }, (_, k) => k);
      this.shuffle(all, Math.max(n - size, 1));
      return all.slice(n - size);
    }
    const drawn = new Set();
    for (let k = n - size; k < n; k++) {
      const value = this.upTo(k);
      drawn.add(drawn.has(value) ? k : value);
    }
    const values = [...drawn];
    this.shuffle(values, 1);
    return values;
  }
}
