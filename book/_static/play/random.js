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
