/**
 * A draw for the average effect, as `macal plan` makes it without quotas, clusters and refusals: each person's chance is
 * known, and the people are those that the package draws from the same seed.
 *
 * Probabilities are proportional to 1 / (propensity of the own arm) / root of the cost, a fifth uniform; see
 * `macal.survey.inference.sampling`, `macal.survey.inference.balanced`, `macal.survey.sampling_design` and `macal.survey.forecast`.
 */

import { BadTable } from "./csv.js";
import { treatmentChances } from "./logistic.js";
import { Numpy } from "./random.js";
import { middleOf } from "./table.js";

export const LEAST = 10; // answers of each arm that an interval needs
const FOLDS = 5,
  UNIFORM = 0.2, // share of the draw
  TRIMMED = 0.02, // least chance of an arm that is not rare
  PENALTIES = [1, 10, 100, 1000, 1e9], // of the regression of the treatment
  SPARSE = 0.3, // of the range, least s.d. of a column most of whose values are alike
  EXACT = 1e-9,
  LARGE = 2.33, // s.d. that 2 % of normal residuals exceed
  [MORE, LEARNT] = [0.06, 0.2]; // what models fitted to few answers add to the error

const sum = (values) => values.reduce((total, v) => total + v, 0);
const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
const places = (values, which) => [...values.keys()].filter((i) => which(values[i]));

/** A column of mean 0 and s.d. 1; of one with a value for most people, the s.d. is taken for a share of its range. */
function scaled(column) {
  const mean = sum(column) / column.length,
    middle = middleOf(column),
    spread = Math.sqrt(sum(column.map((v) => (v - mean) ** 2)) / column.length);
  const isSparse = 2 * sum(column.map((v) => Number(v === middle))) > column.length;
  const by = isSparse ? Math.max(spread, SPARSE * (most(column) - least(column))) : spread;
  return column.map((v) => (v - mean) / (by || 1));
}

/**
 * Chance of each person's own arm, by those in other folds: with the weakest penalty whose loss is within a standard error
 * of the least, as `macal.survey.inference.weighted` has it.
 */
function* ownArm({ t, models, arm }, seed) {
  const count = [t.length - sum(t), sum(t)],
    floor = count.map((k) => Math.min(TRIMMED, k / t.length / 5));
  if (least(count) < FOLDS)
    throw new BadTable(`A sample needs ${FOLDS} people in each arm, and "${arm}" has ${least(count)} in one; add people, or choose each person's effect.`);
  const z = models.map(scaled),
    order = new Numpy(seed).shuffled(t.keys()).sort((i, j) => t[i] - t[j]),
    tried = [];
  for (const strength of PENALTIES) {
    const chance = new Float64Array(t.length);
    for (let k = 0; k < FOLDS; k++) {
      const fold = order.filter((_, j) => j % FOLDS === k).sort((i, j) => i - j),
        inside = new Set(fold);
      const found = treatmentChances(z, t, places(t, () => true).filter((i) => !inside.has(i)), fold, strength);
      fold.forEach((i, j) => {
        const treated = Math.min(Math.max(found[j], floor[1]), 1 - floor[0]);
        chance[i] = t[i] ? treated : 1 - treated;
      });
      yield;
    }
    const loss = chance.map((p) => -Math.log(p));
    tried.push({ chance, loss, total: sum(loss) });
    if (tried.length > 1 && tried.at(-1).total > tried.at(-2).total) break;
  }
  const best = tried.reduce((a, b) => (b.total < a.total ? b : a));
  return tried.find(({ loss }) => {
    const more = loss.map((v, i) => v - best.loss[i]),
      mean = sum(more) / more.length;
    return mean <= Math.sqrt(sum(more.map((v) => (v - mean) ** 2))) / more.length;
  }).chance;
}

/** Chances to be among `size`, proportional to the worth but for the uniform share, and at most 1. */
function inclusion(worth, size) {
  const falling = worth.toSorted((a, b) => b - a),
    rest = Float64Array.from(falling);
  for (let k = rest.length - 2; k >= 0; k--) rest[k] += rest[k + 1];
  let certain = 0;
  const factor = () => (size - certain) / rest[certain];
  while (factor() * falling[certain] > 1 + 1e-12) certain++;
  return worth.map((v) => UNIFORM * (size / worth.length) + (1 - UNIFORM) * Math.min(1, factor() * v));
}

/** Chance of each of some people, of these worths and costs, such that no draw exceeds the budget. */
function lottery(worth, cost, budget) {
  const paysAll = sum(cost) <= budget * (1 + EXACT),
    top = budget - (paysAll ? 0 : most(cost) - least(cost)); // a draw may be dearer than its mean by less than that
  const bears = (size) => sum(inclusion(worth, size).map((p, k) => p * cost[k])) <= top + EXACT * (1 + top);
  let [few, many] = [0, cost.length + 1];
  while (many - few > 1) {
    const middle = Math.floor((few + many) / 2);
    [few, many] = bears(middle) ? [middle, many] : [few, middle];
  }
  if (few) return inclusion(worth, few);
  throw new BadTable(
    `A budget of ${budget} is too small for a sample: costs differ by up to ${most(cost) - least(cost)}, which is held back so that the budget suffices for any sample; raise it, or choose each person's effect.`,
  );
}

/** Places drawn with these chances, systematically in random order. */
function systematic(chances, random) {
  const order = random.shuffled(chances.keys()),
    size = Math.round(sum(chances)),
    found = [];
  let end = 0;
  const start = random.uniform();
  order.forEach((i, k) => {
    const before = k ? Math.floor(end + start) : 0;
    end += chances[i];
    if ((k === order.length - 1 ? size : Math.floor(end + start)) > before) found.push(i);
  });
  return random.shuffled(found);
}

/** Places drawn with these chances, by steps that leave the cost as it is until two people are left. */
function balanced(chances, cost, random) {
  const p = Float64Array.from(chances);
  const open = (units) => units.filter((i) => p[i] > EXACT && p[i] < 1 - EXACT);
  const walk = (units, by) => {
    const moving = by.flatMap((d, k) => (d ? [[units[k], d]] : []));
    if (!moving.length) return;
    const room = moving.map(([i, d]) => [(d > 0 ? 1 - p[i] : p[i]) / Math.abs(d), (d > 0 ? p[i] : 1 - p[i]) / Math.abs(d)]),
      [forth, back] = [0, 1].map((k) => least(room.map((r) => r[k])));
    const isForth = random.uniform() < back / (forth + back),
      end = room.findIndex((r) => (isForth ? r[0] === forth : r[1] === back));
    for (const [i, d] of moving) p[i] += d * (isForth ? forth : -back);
    p[moving[end][0]] = Number(moving[end][1] > 0 === isForth);
  };
  let some = [];
  for (const unit of random.shuffled(p.keys())) {
    some = open([...some, unit]);
    while (some.length > 2) {
      const [a, b, c] = some.map((i) => cost[i]);
      walk(some, a !== b || b !== c ? [b - c, c - a, a - b] : [1, -1, 0]);
      some = open(some);
    }
  }
  walk(some, [1, -1].slice(0, some.length));
  return random.shuffled(places(p, (v) => v > 0.5));
}

/**
 * Draw people. Yields the share of the work that is done.
 *
 * @param {object} table as `encode` makes it
 * @param {{budget: number, size: number, seed: number}} plan money for all, people per round
 * @returns {Generator<number, {batches: number[][], chances: Float64Array, own: Float64Array}, void>} who is asked, round
 *     by round; of each person the chance to be, 0 where the outcome is known, and the propensity of the own arm
 */
export function* drawn(table, { budget, size, seed }) {
  const work = ownArm(table, seed),
    known = new Set(table.labelled),
    free = places(table.t, () => true).filter((i) => !known.has(i));
  let found = work.next();
  for (let k = 1; !found.done; k++, found = work.next()) yield k / FOLDS;
  const own = found.value,
    cheapest = least(table.cost),
    cost = free.map((i) => table.cost[i]),
    worth = free.map((i) => 1 / own[i] / Math.sqrt(table.cost[i] / cheapest));
  const chances = lottery(worth, cost, budget),
    random = new Numpy(seed, free.length),
    isOne = cost.every((c) => c === cost[0]),
    units = (isOne ? systematic(chances, random) : balanced(chances, cost, random)).map((k) => free[k]);
  const all = new Float64Array(table.t.length);
  free.forEach((i, k) => (all[i] = chances[k]));
  const batches = Array.from({ length: Math.ceil(units.length / size) }, (_, k) => units.slice(k * size, (k + 1) * size));
  return { batches, chances: all, own };
}

/** Quantile of Student's t at 0.975, by Fisher's series. */
function quantile(df) {
  const z = 1.959963984540054;
  return z + (z ** 3 + z) / (4 * df) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * df ** 2) + (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * df ** 3);
}

/**
 * What a draw is expected to give, in s.d. of the answers that the columns leave open, those of both arms alike.
 *
 * @returns {{width: number, answers: number[], simple: ?{answers: number, money: number}}} of the 95 % interval; answers of
 *     controls and treated; how many a simple random sample needs for that width, and what it costs: null where even
 *     all answers together are too few
 */
export function forecast({ t, cost, labelled, models }, { chances, own }) {
  const n = t.length,
    known = new Set(labelled),
    of = (values, arm) => sum(values.map((v, i) => (t[i] === arm ? v : 0)));
  const found = (ask) => own.map((_, i) => (known.has(i) ? 1 : ask(i)));
  const answers = (p) => [of(p, 0), of(p, 1)];
  const width = (p) => {
    const count = answers(p),
      inverse = own.map((e) => 1 / e / n);
    const left = [0, 1].map((arm) => {
      const exact = of(inverse.map((f, i) => f * f / p[i]), arm) + ((LARGE * of(inverse, arm)) / count[arm]) ** 2;
      return exact * (1 + MORE + (LEARNT * models.length) / (models.length + count[arm])) ** 2;
    });
    return 2 * quantile(Math.max(sum(count) - 1, 1)) * Math.sqrt(left[0] + left[1]);
  };
  const drawn = found((i) => chances[i]),
    wanted = width(drawn);
  const suffices = (share) => {
    const p = found(() => share);
    return least(answers(p)) >= LEAST && width(p) <= wanted;
  };
  const free = n - known.size,
    price = sum(cost.filter((_, i) => !known.has(i))) / free;
  let [few, many] = [0, free];
  while (many - few > 1) {
    const middle = Math.floor((few + many) / 2);
    [few, many] = suffices(middle / free) ? [few, middle] : [middle, many];
  }
  return { width: wanted, answers: answers(drawn), simple: suffices(many / free) ? { answers: many, money: many * price } : null };
}

/** Whether inverse propensity weights of an arm miss the population total. */
export function misfits(t, own) {
  return [0, 1].some((arm) => {
    const score = own.map((e, i) => (t[i] === arm ? 1 / e : 0)),
      mean = sum(score) / t.length,
      error = Math.sqrt(sum(score.map((v) => (v - mean) ** 2)) / (t.length - 1) / t.length);
    return Math.abs(mean - 1) > Math.max(0.3, 3 * error);
  });
}
