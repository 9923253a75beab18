/** What a plan does: who is asked, how near counterparts are, how far people are from what is known. */

const SAMPLE = 1000; // people whose distances are computed, where there are more

/** Root mean squared distance between two people of the table; 1 where all are equal. */
export function typicalDistance({ x, t }) {
  const n = t.length,
    d = x.length / n;
  let sum = 0;
  for (let k = 0; k < d; k++) {
    let mean = 0,
      square = 0;
    for (let i = k; i < x.length; i += d) mean += x[i] / n;
    for (let i = k; i < x.length; i += d) square += (x[i] - mean) ** 2;
    sum += square / (n - 1);
  }
  return Math.sqrt(2 * sum) || 1;
}

/** At most SAMPLE people, evenly spread over the table. */
export function sample(n) {
  const size = Math.min(n, SAMPLE);
  return Array.from({ length: size }, (_, k) => Math.floor((k * n) / size));
}

/** Distance of each unit to the nearest unit of the other arm, among the same units. */
export function counterparts(pool, units) {
  return units.map((i) =>
    nearest(
      pool,
      i,
      units.filter((j) => pool.t[j] !== pool.t[i]),
    ),
  );
}

const nearest = (pool, i, others) => others.reduce((least, j) => Math.min(least, pool.distance(i, j)), Infinity);

/**
 * Mean distance of the people of each arm to the nearest label of their own arm, before the first batch and after each.
 *
 * @returns {number[][]} [labels bought, mean of the controls, mean of the treated]; Infinity while an arm has no label
 */
export function coverage(pool, people, labelled, batches) {
  const least = people.map(() => Infinity);
  const mean = (arm) => {
    const own = least.filter((_, k) => pool.t[people[k]] === arm);
    return own.reduce((sum, v) => sum + v, 0) / own.length;
  };
  let bought = -labelled.length;
  return [labelled, ...batches].map((batch) => {
    people.forEach((i, k) => {
      const own = batch.filter((j) => pool.t[j] === pool.t[i]);
      least[k] = Math.min(least[k], nearest(pool, i, own));
    });
    return [(bought += batch.length), mean(0), mean(1)];
  });
}

/** Share of values at most as large, as points of a curve. */
export function distribution(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  const step = Math.max(1, Math.floor(sorted.length / 200));
  const kept = [...sorted.keys()].filter((k) => k % step === 0 || k === sorted.length - 1);
  return [[0, 0], ...kept.map((k) => [sorted[k], (k + 1) / values.length])];
}
