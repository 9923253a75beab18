/**
 * Plans in the browser, equal to those of `macal.plan` and `macal.acquisition.plan_batches`: pick by pick, ties included.
 *
 * Distances are sums of squares added in the package's order, in float64, so that equal scores are equal to the last
 * bit. Of equal scores the lowest treated unit wins, then the lowest control. Gains of a design are equal within rounding.
 */

import { Design } from "./design.js";
import { Generator } from "./random.js";

export const CRITERIA = { "alc-fixed": "ALC, fixed", macal: "MACAL", qhte: "QHTE", random: "Random" };
export const DESIGNED = 50_000; // people among whom the package plans a design; of more it takes a sample

/** A pool under way: who is free, and how far each unit is from the labels of its arm. */
export class Pool {
  /**
   * @param {Float64Array} x covariates, n rows of d, one after the other
   * @param {Uint8Array} t arms, (n,), 0 control and 1 treated
   * @param {number[]} labelled units that have a label
   */
  constructor(x, t, labelled = []) {
    this.x = x;
    this.t = t;
    this.d = x.length / t.length;
    this.units = [0, 1].map((arm) => [...t.keys()].filter((i) => t[i] === arm));
    this.free = new Uint8Array(t.length).fill(1);
    this.nearest = new Float64Array(t.length).fill(Infinity);
    this.labels = [0, 0];
    this.squares = new Float64Array(this.d);
    labelled.forEach((i) => this.label(i));
  }

  left(arm) {
    return this.units[arm].length - this.labels[arm];
  }

  /** Euclidean distance of two units. */
  distance(i, j) {
    const { x, d, squares } = this;
    for (let k = 0, a = i * d, b = j * d; k < d; k++, a++, b++) squares[k] = (x[a] - x[b]) * (x[a] - x[b]);
    // the upper half is added to the lower one until one number is left
    for (let width = d, half; width > 1; width -= half) {
      half = width >> 1;
      for (let k = 0; k < half; k++) squares[k] += squares[width - half + k];
    }
    return Math.sqrt(squares[0]);
  }

  /** False only where the distance is more than `reach`; a plain sum that stops early spares most exact ones. */
  mayBeWithin(i, j, reach) {
    const { x, d } = this,
      limit = reach * reach * (1 + 1e-9);
    let sum = 0;
    for (let a = i * d, b = j * d, end = a + d; a < end && sum <= limit; a++, b++) sum += (x[a] - x[b]) * (x[a] - x[b]);
    return sum <= limit;
  }

  label(unit) {
    const arm = this.t[unit];
    this.free[unit] = 0;
    this.labels[arm]++;
    for (const i of this.units[arm])
      if (this.free[i] && this.mayBeWithin(i, unit, this.nearest[i]))
        this.nearest[i] = Math.min(this.nearest[i], this.distance(i, unit));
    return unit;
  }

  /** The free unit that is farthest from the labels of its own arm: of one arm, or of both. */
  farthest(arms) {
    let best = -1;
    for (const arm of arms)
      for (const i of this.units[arm])
        if (
          this.free[i] &&
          (best < 0 || this.nearest[i] > this.nearest[best] || (this.nearest[i] === this.nearest[best] && i < best))
        )
          best = i;
    return best;
  }
}

/**
 * Pairs by m1[i] + m0[j] - alpha d(i, j). Labels only lower m, so the score of a treated unit's best pair never rises,
 * and the last one computed bounds it: a unit is looked through only when its bound is the highest and out of date.
 */
class Pairs {
  constructor(pool, alpha) {
    const n = pool.t.length;
    Object.assign(this, { pool, alpha, partner: new Int32Array(n), gap: new Float64Array(n) });
    this.bound = new Float64Array(n).fill(Infinity);
  }

  /** Yields after each unit that is looked through; returns the pair. */
  *next() {
    const { pool } = this;
    const blank = !pool.labels[0] || !pool.labels[1];
    const pair = this.alpha ? yield* this.best() : [pool.farthest([1]), pool.farthest([0])];
    pair.forEach((unit) => pool.label(unit));
    if (blank) this.bound.fill(Infinity); // an arm without labels counts as 0, and rises with its first one
    return pair;
  }

  *best() {
    for (;;) {
      let top = -1;
      for (const i of this.pool.units[1])
        if (this.pool.free[i] && (top < 0 || this.bound[i] > this.bound[top])) top = i;
      const j = this.partner[top];
      if (this.pool.free[j] && this.novelty(top, j) - this.alpha * this.gap[top] === this.bound[top]) return [top, j];
      this.lookThrough(top);
      yield;
    }
  }

  /** m1[i] + m0[j], an arm without labels left out. */
  novelty(i, j) {
    const { labels, nearest } = this.pool;
    return (labels[1] ? nearest[i] : 0) + (labels[0] ? nearest[j] : 0);
  }

  /** Exact score of a treated unit's best pair. */
  lookThrough(i) {
    const { pool, alpha } = this;
    let best = -Infinity;
    for (const j of pool.units[0]) {
      if (!pool.free[j]) continue;
      const novelty = this.novelty(i, j);
      if (novelty <= best || !pool.mayBeWithin(i, j, (novelty - best) / alpha)) continue;
      const gap = pool.distance(i, j),
        score = novelty - alpha * gap;
      if (score > best) [best, this.partner[i], this.gap[i]] = [score, j, gap];
    }
    this.bound[i] = best;
  }
}

/** One unit at a time: the farthest from the labels of its own arm. */
class FarthestFirst {
  constructor(pool) {
    this.pool = pool;
  }

  *next() {
    return [this.pool.label(this.pool.farthest([0, 1]))];
  }
}

/**
 * Plan a campaign. Yields the number of labels so far, often, so that a caller can pause or stop.
 *
 * @param {Pool} pool it is used up
 * @param {{name: string, alpha?: number, seed?: number}} criterion one of CRITERIA, with its parameters
 * @param {number[]} sizes labels of each batch
 * @returns {Generator<number, number[][], void>} batches in pick order, fewer where the pool is exhausted
 */
export function* plan(pool, { name, alpha = 2.5, seed = 0 }, sizes) {
  const steps = { random: () => draws(pool, seed), "alc-fixed": () => designed(pool), macal: () => chosen(pool, alpha) };
  const step = (steps[name] ?? (() => chosen(pool, null)))();
  const batches = [];
  let done = 0;
  for (const size of sizes) {
    const batch = [];
    for (const some of step(Math.min(size, pool.left(0) + pool.left(1)))) {
      batch.push(...some);
      yield done + batch.length;
    }
    if (!batch.length) break;
    done += batch.length;
    batches.push(batch);
  }
  return batches;
}

/** Pairs, and single units for the odd last one and once an arm is exhausted; single units only where alpha is null. */
function chosen(pool, alpha) {
  const [pairs, singles] = [new Pairs(pool, alpha), new FarthestFirst(pool)];
  return function* (size) {
    for (let got = 0; got < size;) {
      const paired = alpha !== null && size - got > 1 && pool.left(0) && pool.left(1);
      const search = (paired ? pairs : singles).next();
      let found = search.next();
      for (; !found.done; found = search.next()) yield [];
      got += found.value.length;
      yield found.value;
    }
  };
}

/** The unit whose label says most about the effects, one at a time. */
function designed(pool) {
  const design = new Design(pool);
  let begun = false;
  return function* (size) {
    if (!begun) for (const _ of design.begin()) yield [];
    begun = true;
    for (let got = 0; got < size; got++) {
      const unit = design.best();
      pool.label(unit);
      design.learn(unit);
      yield [unit];
    }
  };
}

function draws(pool, seed) {
  const generator = new Generator(seed);
  return function* (size) {
    const free = [...pool.t.keys()].filter((i) => pool.free[i]);
    const batch = generator.choice(free.length, size).map((k) => free[k]);
    batch.forEach((unit) => pool.label(unit));
    yield batch;
  };
}

/**
 * Run a generator to its end in slices, between which the page lives.
 *
 * @param {Generator} work what it yields goes to `told`
 * @param {(value: any) => void} told called between slices
 * @param {() => boolean} stopped asked between slices
 * @returns {Promise<any>} what the generator returns; undefined if stopped
 */
export async function inSlices(work, told = () => {}, stopped = () => false) {
  for (;;) {
    const end = performance.now() + 30;
    let found;
    do found = work.next();
    while (!found.done && performance.now() < end);
    if (found.done) return found.value;
    told(found.value);
    await new Promise((resume) => setTimeout(resume));
    if (stopped()) return undefined;
  }
}
