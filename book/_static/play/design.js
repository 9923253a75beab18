/**
 * ALC under a Gaussian process that no answer moves, as `alc-fixed` of the package plans: the person whose label lowers
 * the variance of the effect most, mean over at most 1,000 people of Cov(f_t(x), f_t(z))^2 / (Var f_t(x) + noise).
 *
 * Surfaces of the two arms are independent, of variance 1, with a squared exponential kernel whose length scale is the
 * median distance. Of gains that are equal within rounding the lowest unit wins.
 */

const TARGETS = 1000,
  NOISE = 0.1,
  ROUNDING = 1e-9,
  WORD = (1n << 64n) - 1n;

/** The finaliser of SplitMix64. */
function mixed(bits) {
  let z = (bits + 0x9e3779b97f4a7c15n) & WORD;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & WORD;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & WORD;
  return z ^ (z >> 31n);
}

/** At most TARGETS people, ascending, drawn by a hash of their covariates: the same in any order of the rows. */
function drawn({ x, t, d }) {
  const n = t.length;
  if (n <= TARGETS) return [...t.keys()];
  const bits = new BigUint64Array(Float64Array.from(x, (v) => v + 0).buffer), // 0 for -0
    hashes = Array.from({ length: n }, (_, i) => bits.subarray(i * d, i * d + d).reduce((h, b) => mixed(h ^ b), 0n));
  const before = new Map(), // people with the same hash so far
    time = hashes.map((hash) => {
      const number = before.get(hash) ?? 0n;
      before.set(hash, number + 1n);
      return -Math.log((Number(mixed(hash ^ number) >> 12n) + 0.5) / 2 ** 52);
    });
  const order = [...t.keys()].sort((i, j) => time[i] - time[j]);
  return order.slice(0, TARGETS).sort((i, j) => i - j);
}

/** Median of the distances above 0 between people; 1 where there is none. */
function medianDistance(pool, people) {
  const apart = new Float64Array((people.length * (people.length - 1)) / 2);
  let k = 0;
  for (let a = 0; a < people.length; a++)
    for (let b = 0; b < a; b++) {
      const distance = pool.distance(people[a], people[b]);
      if (distance > 0) apart[k++] = distance;
    }
  const sorted = apart.subarray(0, k).sort();
  return k ? (sorted[(k - 1) >> 1] + sorted[k >> 1]) / 2 : 1;
}

/** What labels say about the people of a pool and about the targets, while more labels come in. */
export class Design {
  constructor(pool) {
    const n = pool.t.length;
    Object.assign(this, { pool, targets: drawn(pool), variance: new Float64Array(n).fill(1) });
    this.scale = 2 * medianDistance(pool, this.targets) ** 2;
    this.cross = Array(n); // of each unit with the targets, (targets,), given the labels
    this.squares = new Float64Array(n); // sum over targets of what is in there, squared
    this.told = [[], []]; // by arm, for each label its covariance with everybody by its s.d.
  }

  kernel(i, j) {
    return Math.exp(-(this.pool.distance(i, j) ** 2) / this.scale);
  }

  /** Begin, with the labels that the pool has; yields after each unit. */
  *begin() {
    for (const i of this.pool.t.keys()) {
      this.cross[i] = Float64Array.from(this.targets, (z) => this.kernel(i, z));
      this.squares[i] = this.cross[i].reduce((sum, c) => sum + c * c, 0);
      yield;
    }
    for (const i of this.pool.t.keys())
      if (!this.pool.free[i]) {
        this.learn(i);
        yield;
      }
  }

  gain(i) {
    return this.squares[i] / this.targets.length / (Math.max(this.variance[i], 0) + NOISE);
  }

  /** The unit to label next. */
  best() {
    const free = [...this.pool.t.keys()].filter((i) => this.pool.free[i]),
      gains = free.map((i) => this.gain(i)),
      top = gains.reduce((a, b) => Math.max(a, b)),
      least = top - ROUNDING * Math.abs(top);
    return free[gains.findIndex((gain) => gain >= least)];
  }

  /** Count a unit as labelled: covariances of its arm change by rank one. */
  learn(unit) {
    const arm = this.pool.t[unit],
      told = this.told[arm],
      deviation = Math.sqrt(Math.max(this.variance[unit], 0) + NOISE);
    const atTargets = this.cross[unit].map((c) => c / deviation),
      row = new Float64Array(this.pool.t.length);
    for (const i of this.pool.units[arm]) {
      const known = told.reduce((sum, other) => sum + other[i] * other[unit], 0);
      row[i] = (this.kernel(i, unit) - known) / deviation;
    }
    for (const i of this.pool.units[arm]) {
      const cross = this.cross[i],
        by = row[i];
      let sum = 0;
      for (let z = 0; z < cross.length; z++) {
        cross[z] -= by * atTargets[z];
        sum += cross[z] * cross[z];
      }
      this.squares[i] = sum;
      this.variance[i] -= by * by;
    }
    told.push(row);
  }
}
