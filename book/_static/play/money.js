/**
 * Plans under a budget where people cost different sums, as `macal.survey.greedy` of the package makes them when money is
 * all that is demanded: who has the largest gain per cost among those whom the money that is left can buy.
 *
 * One dear person may be worth more than all who are bought so; then she is bought first.
 */

import { Design } from "./design.js";
import { Generator } from "./random.js";
import { plan } from "./planner.js";

const EXACT = 1e-9; // of a sum, what rounding may add

/** What a gain counts for a price; of a gain that is not above 0 the product, so that of equal ones the cheaper is first. */
const perCost = (gain, price) => (gain > 0 ? gain / price : gain * price);

/** The money of a plan, and who may still be bought. */
class Purse {
  constructor(pool, cost, budget) {
    Object.assign(this, { pool, cost, top: budget + EXACT * (1 + budget), spent: 0 });
  }

  get left() {
    return this.top - this.spent;
  }

  canBuy(unit) {
    return this.pool.free[unit] === 1 && this.cost[unit] <= this.left;
  }

  open(units = [...this.pool.t.keys()]) {
    return units.filter((i) => this.canBuy(i));
  }

  buy(units) {
    this.spent += units.reduce((sum, i) => sum + this.cost[i], 0);
    units.forEach((unit) => this.pool.label(unit));
  }
}

/** The open unit of the largest gain per price; of those equal within rounding the cheapest, then the first. */
function bestUnit(open, gain, price, rounding) {
  const value = open.map((i) => perCost(gain(i), price[i])),
    top = value.reduce((a, b) => Math.max(a, b), -Infinity),
    least = Number.isFinite(top) ? top - rounding * Math.abs(top) : top;
  const equal = open.filter((_, k) => value[k] >= least);
  return equal.reduce((best, i) => (price[i] < price[best] ? i : best), equal[0]);
}

/** A criterion that buys one person at a time, by a gain of each. */
class Units {
  constructor(purse, price, gain, rounding = 0, learn = () => {}) {
    Object.assign(this, { purse, price, gain, rounding, learn });
  }

  *buy() {
    const open = this.purse.open();
    if (!open.length) return null;
    const unit = bestUnit(open, this.gain, this.price, this.rounding),
      gain = this.gain(unit);
    this.take([unit]);
    yield;
    return { units: [unit], gain };
  }

  take(units) {
    this.purse.buy(units);
    units.forEach(this.learn);
  }

  ceiling() {
    return this.purse.open().reduce((most, i) => Math.max(most, this.gain(i)), 0);
  }
}

/** MACAL's pairs by score per price, and one person by her distance where the round or the money has no room for two. */
class PricedPairs extends Units {
  constructor(purse, price, alpha) {
    super(purse, price, (i) => purse.pool.nearest[i]);
    const n = price.length;
    Object.assign(this, { alpha, partner: new Int32Array(n).fill(-1), bound: new Float64Array(n).fill(Infinity) });
  }

  *buy(room) {
    if (room > 1) {
      const pair = yield* this.best();
      if (pair) {
        const gain = this.score(...pair);
        this.take(pair);
        return { units: pair, gain };
      }
    }
    return yield* super.buy();
  }

  take(units) {
    const { pool } = this.purse,
      blank = !pool.labels[0] || !pool.labels[1];
    super.take(units);
    if (blank) this.bound.fill(Infinity); // an arm without labels counts as 0, and rises with its first one
  }

  novelty(i, j) {
    const { labels, nearest } = this.purse.pool;
    return (labels[1] ? nearest[i] : 0) + (labels[0] ? nearest[j] : 0);
  }

  score(i, j) {
    return this.novelty(i, j) - this.alpha * this.purse.pool.distance(i, j);
  }

  /** The best pair that the money buys, or null: values never rise, so the last one of a unit bounds it. */
  *best() {
    const { pool } = this.purse;
    const treated = this.purse.open(pool.units[1]),
      controls = this.purse.open(pool.units[0]);
    for (;;) {
      let top = -1;
      for (const i of treated) if (top < 0 || this.bound[i] > this.bound[top]) top = i;
      if (top < 0 || this.bound[top] === -Infinity) return null;
      const j = this.partner[top];
      if (j >= 0 && this.affords(top, j) && this.value(top, j) === this.bound[top]) return [top, j];
      this.lookThrough(top, controls);
      yield;
    }
  }

  affords(i, j) {
    return this.purse.canBuy(j) && this.purse.cost[i] + this.purse.cost[j] <= this.purse.left;
  }

  value(i, j) {
    return perCost(this.score(i, j), this.price[i] + this.price[j]);
  }

  /** Exact value of a treated unit's best pair. */
  lookThrough(i, controls) {
    const { pool } = this.purse;
    let best = -Infinity;
    this.partner[i] = -1;
    for (const j of controls) {
      if (!this.affords(i, j)) continue;
      const novelty = this.novelty(i, j),
        price = this.price[i] + this.price[j];
      if (perCost(novelty, price) <= best) continue;
      const least = best > 0 ? best * price : best / price; // the score that is worth the best so far
      if (this.alpha && !pool.mayBeWithin(i, j, (novelty - least + EXACT * Math.abs(novelty)) / this.alpha)) continue;
      const value = this.value(i, j);
      if (value > best) [best, this.partner[i]] = [value, j];
    }
    this.bound[i] = best;
  }

  ceiling() {
    const { pool } = this.purse;
    const most = (units, gain) => this.purse.open(units).reduce((top, i) => Math.max(top, gain(i)), 0);
    const finite = (i) => (Number.isFinite(pool.nearest[i]) ? pool.nearest[i] : 0);
    return Math.max(most(pool.units[0], finite) + most(pool.units[1], finite), most(undefined, finite));
  }
}

/** Draws: whoever is drawn and may not be bought is passed over. */
class Draws {
  constructor(purse, seed) {
    Object.assign(this, { purse, generator: new Generator(seed), drawn: [] });
  }

  *buy(room) {
    for (let open = this.purse.open(); open.length; open = this.purse.open()) {
      if (!this.drawn.length)
        this.drawn = this.generator.choice(open.length, Math.min(room, open.length)).map((k) => open[k]);
      const unit = this.drawn.shift();
      if (!this.purse.canBuy(unit)) continue;
      this.purse.buy([unit]);
      yield;
      return { units: [unit], gain: 0 };
    }
    return null;
  }

  ceiling() {
    return 0;
  }
}

function* buyer(purse, { name, alpha, seed }, price) {
  if (name === "random") return new Draws(purse, seed);
  if (name === "macal") return new PricedPairs(purse, price, alpha);
  if (name === "qhte") return new Units(purse, price, (i) => purse.pool.nearest[i]);
  const design = new Design(purse.pool);
  for (const _ of design.begin()) yield 0;
  return new Units(purse, price, (i) => design.gain(i), EXACT, (unit) => design.learn(unit));
}

/** The number of people whom money buys at one cost. */
export const affordable = (money, cost) => Math.floor((money / cost) * (1 + EXACT));

/**
 * Plan a campaign under a budget. Yields the share of the money that is spent, often.
 *
 * @param {() => Pool} begin makes the pool anew
 * @param {{name: string, alpha?: number, seed?: number}} criterion as of `plan`
 * @param {{cost: Float64Array, budget: number, size: number}} money cost of each unit, above 0; labels of each batch
 * @returns {Generator<number, number[][], void>} batches in the order of purchase
 */
export function* planMoney(begin, criterion, { cost, budget, size }) {
  const least = cost.reduce((a, b) => Math.min(a, b));
  if (cost.every((c) => c === least)) {
    const pool = begin(),
      labels = Math.min(affordable(budget, least), pool.left(0) + pool.left(1)),
      sizes = Array.from({ length: Math.ceil(labels / size) }, (_, k) => Math.min(size, labels - k * size)),
      work = plan(pool, criterion, sizes);
    let found = work.next();
    for (; !found.done; found = work.next()) yield found.value / labels;
    return found.value;
  }
  const price = cost.map((c) => c / least);

  function* start(prices, first = []) {
    const purse = new Purse(begin(), cost, budget),
      rule = yield* buyer(purse, criterion, prices),
      rounds = [[]];
    const add = (units) => {
      if (rounds.at(-1).length && rounds.at(-1).length + units.length > size) rounds.push([]);
      rounds.at(-1).push(...units);
    };
    for (const unit of first)
      if (purse.canBuy(unit)) {
        rule.take([unit]);
        add([unit]);
      }
    const room = () => size - rounds.at(-1).length || size;
    return { purse, rule, rounds, add, room };
  }

  function* greedy(first) {
    const { purse, rule, rounds, add, room } = yield* start(price, first),
      ceiling = rule.ceiling();
    let value = 0;
    for (;;) {
      const work = rule.buy(room());
      let found = work.next();
      for (; !found.done; found = work.next()) yield Math.min(1, purse.spent / budget);
      if (!found.value) return { rounds: rounds.filter((batch) => batch.length), value, ceiling };
      add(found.value.units);
      value += Math.max(found.value.gain, 0);
    }
  }

  const chosen = yield* greedy([]);
  if (!(chosen.ceiling > chosen.value)) return chosen.rounds;
  const { rule, room } = yield* start(cost.map(() => 1)),
    work = rule.buy(room());
  let found = work.next();
  for (; !found.done; found = work.next()) yield 1;
  const dear = found.value;
  return dear && dear.gain > chosen.value ? (yield* greedy(dear.units)).rounds : chosen.rounds;
}
