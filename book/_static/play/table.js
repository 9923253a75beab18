/** From columns to covariates: roles guessed, checked, and encoded as `macal.Planner` does. */

import { FEW, MANY, areAlike, asCovariate, byCodePoints, days, held, isMissing, isNumber, isNumeric, kind, losesDigits, mark } from "./columns.js";
import { BadTable } from "./csv.js";

const NAMED =
  /^(([^\n]*[_ .-])?(id|uuid|person|unit|name|key|index|row|rownames|seqn|seq|sequence|serial|respondent|participant|subject|patient|case|record|obs|observation|number|num|no|nr)|[^\n]*(?<!pa)id|unnamed: 0)$/i;
const PEOPLE =
  /^(([^\n]*[_ .-])?(record|person|participant|respondent|subject|patient|pupil|student|client|member)s?([_ .-]?(id|no|nr|num|number|code|key|name))?|(case|study|subj|pat|pt|p|uu)?[_ .-]?id)$/i;
const WHEN = /^(year|wave|round|visit|month|quarter|period|semester|week)([_ .-]?(id|no|nr|num|number))?$/i;
const VISITS = 20, // rows of a person, on average, up to which a column may name people
  LEAST = 5; // of them
const UNNAMED = /^unnamed: 0$/i; // R and pandas write names or numbers of rows there
const TREATMENT = /treat|^t$|^w$|^arm$|free|expos|interven/i;
const OUTCOME = /^(y|outcome|answer|response)$/i;
const REACH = 5, // median distances from the median within which numbers count as they are
  GAP = 1.5; // times the range of the others, across which a value lies far from them
export const ROLES = ["covariate", "treatment", "identifier", "outcome", "cost", "proxy", "left out"]; // a proxy predicts the outcome, and is no covariate
export const OPEN = "identifier?"; // of two columns that both may be: the reader says which
const PLAN = ["round", "cost", "response", "reserve", "reserve_weight", "weight"]; // its columns
const OWN = { treatment: PLAN, identifier: PLAN, outcome: PLAN }; // what these may not be called

const only = (columns, roles, role) => columns.filter((_, k) => roles[k] === role);

/** 0 and 1 of a treatment; null where it is something else. */
function arms(column) {
  const { family, cells } = held(column);
  return ["truth", "integer"].includes(family) && cells.every((v) => v === 0 || v === 1) ? cells : null;
}

/** Whether a column may name people: no value is there twice, and its name or its content says so. */
function mayName(column) {
  const { gaps, different, family, canonical, code, spaced, question, shown } = held(column, ""),
    n = column.values.length;
  if (gaps || different < n || n < 2) return false;
  const called = NAMED.test(column.name);
  if (shown || question) return called; // numbers or dates, however they are written
  if (["integer", "number"].includes(family)) return code || (called && (family === "integer" || !canonical));
  return family === "text" && (called || !spaced);
}

/** Whether a column is called as if it named people, and most of its values are there once, or a few times. */
function isDoubtful(column) {
  const { name, values } = column,
    { family, different } = held(column, ""),
    given = new Set(values.filter((v) => !isMissing(v))).size;
  if (!isOpen(column) || !NAMED.test(name)) return false;
  const many = different > (family === "integer" ? LEAST : FEW);
  return 2 * given > values.length || (many && PEOPLE.test(name) && VISITS * given >= values.length);
}

const isOpen = (column) => !UNNAMED.test(column.name) && ["integer", "text"].includes(held(column, "").family);

/** Whether people have a row a visit, told by a column of whose values each has one of all numbers and one treatment. */
function isOfVisits(column, columns, treatment) {
  const { different, constant } = held(column),
    n = column.values.length,
    numeric = columns.filter((c) => c !== column && isNumeric(c) && held(c).different > FEW),
    told = (c) => isTold(column, c);
  if (!isOpen(column) || different <= LEAST || WHEN.test(column.name)) return false;
  const isOneEach = (c) => new Set(column.values.map((v, k) => `${v}\n${c.values[k]}`)).size === n;
  if (1.5 * different <= n && columns.some((c) => WHEN.test(c.name) && isOneEach(c))) return true;
  if (constant || 1.5 * different > n || n > VISITS * different) return false;
  const rest = columns.filter((c) => c !== column && !numeric.includes(c) && c !== treatment);
  return numeric.length > 0 && [...numeric, treatment].every(told) && rest.filter((c) => !told(c)).length < 2;
}

/** Whether values of a column tell those of another. */
function isTold(column, other) {
  const first = new Map();
  return column.values.every((v, k) => {
    const own = other.values[k];
    if (!first.has(v) && !isMissing(own)) first.set(v, own);
    return isMissing(own) || first.get(v) === own;
  });
}

/** What each of some columns would be as a covariate: "number", "category" or "date", or why it cannot be one. */
function kinds(asked) {
  const found = new Map();
  for (const column of asked) {
    const original = asked.find((c) => c === column || (isUsed(found.get(c)) && areAlike(c, column)));
    found.set(column, isUsed(kind(column)) && original !== column ? `a copy of ${original.name}` : kind(column));
  }
  return found;
}

const isUsed = (what) => ["number", "category", "date"].includes(what);

/**
 * Guess the role of each column of which nothing is told: one treatment, one outcome and one identifier at most.
 *
 * @param {{name: string, values: string[]}[]} columns
 * @param {string[]} told roles that the reader has chosen, nothing where they are to be guessed
 * @returns {{role: string, what: string}[]} one of ROLES for each, or OPEN where only the reader can tell; and what the
 *     column holds, or why it is left out
 */
export function guess(columns, told = []) {
  const roles = columns.map((_, k) => told[k]),
    open = () => columns.filter((_, k) => !roles[k]);
  const give = (column, role) => column && (roles[columns.indexOf(column)] = role);
  if (!told.includes("treatment")) {
    const binary = open().filter((c) => new Set(arms(c)).size === 2);
    give(binary.find(({ name }) => TREATMENT.test(name)) ?? binary[0], "treatment");
  }
  if (!told.includes("outcome"))
    give(
      open().find(({ name }) => OUTCOME.test(name)),
      "outcome",
    );
  const able = open().filter(mayName),
    named = able.filter(({ name }) => !UNNAMED.test(name));
  const naming = told.includes("identifier") ? [] : named.length ? named : able;
  naming.forEach((c) => give(c, naming.length > 1 ? OPEN : "identifier"));
  if (!named.length && !told.includes("identifier")) {
    const treatment = columns[roles.indexOf("treatment")];
    for (const c of open().filter((c) => isDoubtful(c) || (treatment && isOfVisits(c, columns, treatment)))) give(c, OPEN);
  }
  const spare = new Map(
    open()
      .filter((c) => able.includes(c) || UNNAMED.test(c.name))
      .map((c) => [c, UNNAMED.test(c.name) ? "has no name" : "names the units too"]),
  );
  spare.forEach((_, c) => give(c, "left out"));
  const names = (c, k) => roles[k] === "identifier" || able.includes(c);
  mark(
    columns,
    columns.filter((c, k) => told[k] !== "left out" && !names(c, k)),
  );
  const rest = kinds(columns.filter((_, k) => !roles[k] || roles[k] === "covariate"));
  return columns.map((c, k) => {
    const what = spare.get(c) ?? rest.get(c) ?? kind(c);
    const { words, shown = words, question } = held(c);
    const role = roles[k] ?? (isUsed(what) || question ? "covariate" : "left out"); // what is asked is not left out
    return { role, what: isUsed(what) && shown ? `${what} (${shown})` : what };
  });
}

/** Ask which of the open columns names people. */
export function ask(columns, roles) {
  const [one, other] = only(columns, roles, OPEN);
  if (!other)
    return `"${one.name}" seems to name people, but with gaps or repetitions; keep one row of each person, or choose another role for that column.`;
  return `"${one.name}" and "${other.name}" may both name people; choose the role identifier for one, or another role for the other.`;
}

/** Sum in the order of NumPy's pairwise summation. */
function total(values, from = 0, n = values.length) {
  if (n < 8) {
    let sum = 0;
    for (let k = from; k < from + n; k++) sum += values[k];
    return sum;
  }
  if (n > 128) {
    const half = Math.floor(n / 2) - (Math.floor(n / 2) % 8);
    return total(values, from, half) + total(values, from + half, n - half);
  }
  const r = values.slice(from, from + 8);
  let k = 8;
  for (; k < n - (n % 8); k += 8) for (let j = 0; j < 8; j++) r[j] += values[from + k + j];
  let sum = r[0] + r[1] + (r[2] + r[3]) + (r[4] + r[5] + (r[6] + r[7]));
  for (; k < n; k++) sum += values[from + k];
  return sum;
}

/** The power of two that brings a number between 1/2 and 1, as `frexp` has it. */
function exponent(value) {
  let power = 0;
  for (; value >= 1; value /= 2) power++;
  for (; value < 0.5; value *= 2) power--;
  return power;
}

/** A number times a power of two; in two steps where that power is no number itself. */
const shifted = (value, power) => (power > 1000 ? value * 2 ** 1000 * 2 ** (power - 1000) : value * 2 ** power);

export const middleOf = (values) => {
  const ordered = Float64Array.from(values).sort(),
    k = ordered.length >> 1;
  return ordered.length % 2 ? ordered[k] : (ordered[k - 1] + ordered[k]) / 2;
};

/** Least and largest of the numbers that lie within so many median distances from the median. */
function limits(values) {
  const middle = middleOf(values),
    distances = values.map((v) => Math.abs(v - middle)),
    other = distances.filter((v) => v > 0);
  const reach = other.length ? REACH * middleOf(other) : Infinity,
    inside = values.filter((_, k) => distances[k] <= reach);
  return [inside.reduce((a, b) => Math.min(a, b)), inside.reduce((a, b) => Math.max(a, b))];
}

/** Places of the numbers that lie beyond the limits, and far from all others. */
function farOff(given) {
  const values = shrunk(given),
    [low, high] = limits(values);
  if (low === high) return [];
  const beyond = (numbers, from, to) => {
    const ordered = [to, ...new Set(numbers.filter((v) => v > to).sort())];
    return ordered.find((v, k) => k && v - ordered[k - 1] > GAP * (ordered[k - 1] - from)) ?? Infinity;
  };
  const negated = values.map((v) => -v),
    [above, below] = [beyond(values, low, high), beyond(negated, -high, -low)];
  return [...values.keys()].filter((k) => values[k] >= above || negated[k] >= below);
}

/** Numbers times a power of two that leaves them below 1. */
function shrunk(values) {
  const largest = exponent(values.reduce((most, v) => Math.max(most, Math.abs(v)), 0));
  return values.map((v) => shifted(v, -largest)); // so that no square over- or underflows
}

/** Numbers brought within their limits. */
function winsorised(wide) {
  const [low, high] = limits(wide);
  return wide.map((v) => Math.min(Math.max(v, low), high));
}

/** By how much numbers lie beyond their limits, for models of treatment: log(1 + s.d.s), signed; none where none does. */
function excess(values) {
  const wide = shrunk(values),
    inside = winsorised(wide),
    mean = total(inside) / inside.length,
    spread = Math.sqrt(total(inside.map((v) => (v - mean) * (v - mean))) / inside.length);
  const beyond = wide.map((v, k) => (Math.sign(v - inside[k]) * Math.log1p(Math.abs(v - inside[k]) / spread)));
  return beyond.some((v) => v) ? [beyond] : [];
}

/** What is left of the mean, over the standard deviation, of numbers that are brought within their limits. */
function standardised(values) {
  const scaled = shrunk(winsorised(shrunk(values)));
  const ordered = scaled.toSorted(); // so that sums do not depend on the order of the rows
  const mean = total(ordered) / values.length;
  const centred = ordered.map((v) => v - mean);
  const middle = total(centred) / values.length; // not quite 0; the package takes the s.d. about it
  const spread = Math.sqrt(total(centred.map((v) => (v - middle) * (v - middle))) / values.length);
  return scaled.map((v) => (v - mean) / spread);
}

/** Covariates with missing values: one question about all of them, or nothing where there are none. */
export function incomplete(columns, roles) {
  const gappy = only(columns, roles, "covariate").filter((c) => asCovariate(c).gaps && isUsed(kind(c))),
    lacking = gappy.filter((c) => isLacking(c, only(columns, roles, "treatment")[0])),
    others = gappy.filter((c) => !lacking.includes(c)),
    list = (some) => some.map((c) => `"${c.name}" (${c.values.filter(isMissing).length})`).join(", ");
  if (!gappy.length) return null;
  const told = [
    others.length &&
      `Values are missing in ${list(others)} of ${columns[0].values.length} rows; fill the gaps, drop those rows, or leave ${others.length > 1 ? "these columns" : "the column"} out; if it is a partly known outcome, choose that role.`,
    lacking.length &&
      `One arm alone lacks values of ${list(lacking)}, which reveal the arm; do not fill these gaps, but leave the columns out.`,
  ];
  return Object.assign(new BadTable(told.filter((words) => words).join(" ")), { columns: gappy });
}

/** Whether a column has gaps for one whole arm but not for all. */
function isLacking({ values }, treatment) {
  const gap = values.map(isMissing),
    of = (arm) => gap.filter((_, k) => treatment.values[k] === arm);
  return Boolean(treatment) && gap.includes(false) && [...new Set(treatment.values)].some((arm) => !of(arm).includes(false));
}

const LATER = /(?<![a-z])(death|dead|died|outcome|post(?!al|n[ru]|leitzahl|graduate|[ _.-]?(code|office|secondary)|s(?![a-z]))|follow[ _.-]?up|after)/i;
const YEAR = /(?<!\d)(?:19|20)\d\d(?!\d)/g,
  SERIES = /^([^0-9]{2,})([0-9]+)$/; // as re74 and re78; items of a list begin below 40

/** Covariates that may have been measured after treatment, by their names: of death or outcome, or of a later year. */
export function mayBeLater(columns, roles) {
  const covariates = only(columns, roles, "covariate"),
    parts = covariates.map(({ name }) => SERIES.exec(name)).filter(Boolean),
    series = (stem) => parts.filter((part) => part[1] === stem).map((part) => Number(part[2])),
    isYears = (numbers) => numbers.length > 1 && Math.min(...numbers) >= 40 && Math.max(...numbers) < 100,
    short = (part) => (part && isYears(series(part[1])) ? [1900 + Number(part[2])] : []),
    years = (name) => [...(name.match(YEAR) ?? []).map(Number), ...short(SERIES.exec(name))],
    first = Math.min(...covariates.flatMap(({ name }) => years(name)));
  return covariates.filter(({ name }) => LATER.test(name) || years(name).some((year) => year > first)).map(({ name }) => name);
}

const WEIGHTS =
  /^(([^\n]*[_ .-])?(survey|svy|sampl(e|ing)|design|prob(ability)?|final|calibrat(ed|ion)|rak(ed|ing)|strat\w*|person|per|household|hh|pop(ulation)?|analytic|inverse|base|non[ _.-]?response)[ _.-]?(weight|wgt|wt)s?|[psf]weights?|fnlwgt|wgt|weights)$/i;

/** Covariates that may be weights of a survey, by their names, or, if just called weight, about 1. */
export function mayBeWeights(columns, roles) {
  const mean = (c) => held(c).cells.reduce((sum, v) => sum + v, 0) / c.values.length,
    isOne = (c) => c.name.toLowerCase() === "weight" && mean(c) > 0.5 && mean(c) < 2;
  return only(columns, roles, "covariate").filter((c) => isNumeric(c) && (WEIGHTS.test(c.name) || isOne(c))).map(({ name }) => name);
}

/** Categories that hold spellings of one value, which differ in blanks or capitals alone: of each the name and those. */
export function spelt(columns, roles) {
  const key = (text) => text.trim().split(/\s+/).join(" ").toLowerCase();
  return only(columns, roles, "covariate")
    .filter((c) => kind(c) === "category")
    .map((c) => {
      const texts = [...new Set(c.values.filter((v) => !isMissing(v)))].sort(byCodePoints),
        first = texts.find((text) => texts.some((other) => other !== text && key(other) === key(text)));
      return [c.name, texts.filter((text) => first !== undefined && key(text) === key(first))];
    })
    .filter(([, texts]) => texts.length);
}

/** Encoded columns that all but determine the arm: a bound on them tells the arms apart, nine tenths of either. */
export function determining({ x, t, names }) {
  const heads = [0, 1].map((arm) => t.filter((v) => v === arm).length);
  return names.filter((_, k) => {
    const value = (i) => x[i * names.length + k],
      order = [...t.keys()].sort((i, j) => value(i) - value(j));
    let gap = 0;
    return order.some((i, j) => {
      gap += t[i] ? 1 / heads[1] : -1 / heads[0];
      return Math.abs(gap) > 0.9 && (j + 1 === order.length || value(order[j + 1]) > value(i));
    });
  });
}

/** A covariate as columns of numbers: one of a number or a date, 0/1 columns of a category. */
function covariate(column, what) {
  const { name, values } = column,
    { family, different, cells, question } = asCovariate(column);
  if (question)
    throw new BadTable(`"${name}" ${question}; write them as 1234.5 or 2024-12-31, or leave the column out.`);
  if (what.startsWith("free text"))
    throw new BadTable(
      `"${name}" holds text, such as "${values.find((v) => !isMissing(v) && !isNumber(v))}", with ${different} different values; make it a number, group it into fewer categories (at most a fifth of the rows, and at most ${MANY}), or leave the column out.`,
    );
  if (!isUsed(what)) throw new BadTable(`"${name}" cannot be a covariate: ${what}; leave it out.`);
  if (what === "category") {
    const known = [...new Set(cells)].sort(family === "truth" ? undefined : byCodePoints);
    const shown = known.length === 2 ? known.slice(1) : known; // of two values, one says all
    return shown.map((value) => ({ name: `${name} = ${value}`, values: cells.map((v) => Number(v === value)) }));
  }
  const numbers = what === "date" ? days(column) : Float64Array.from(cells);
  if (!numbers.every(Number.isFinite))
    throw new BadTable(
      `"${name}" holds a number too large; use a larger unit, or leave the column out.`,
    );
  if (losesDigits(column))
    throw new BadTable(
      `"${name}" holds whole numbers beyond 9007199254740992, which lose digits; if they are identifiers, leave the column out.`,
    );
  return [{ name, values: standardised(numbers), plain: true, excess: excess(numbers), far: what === "number" ? farOff(numbers) : [] }];
}

function treatment(columns, roles) {
  const found = only(columns, roles, "treatment");
  if (found.length !== 1)
    throw new BadTable(
      `${found.length || "No"} columns are the treatment; choose one that holds 0 for control and 1 for treated.`,
    );
  const [column] = found,
    { name, values } = column,
    t = arms(column);
  if (!t) {
    const odd = values.findIndex(held(column).gaps ? isMissing : (v) => !["0", "1"].includes(v));
    throw new BadTable(
      `The treatment "${name}" must be 0 or 1, and row ${odd + 1} holds ${isMissing(values[odd]) ? "nothing" : `"${values[odd]}"`}; recode it, or choose another column.`,
    );
  }
  if (new Set(t).size < 2)
    throw new BadTable(
      `All people in "${name}" are ${t[0] ? "treated" : "controls"}; an effect needs both arms, so choose another column or add the other arm.`,
    );
  return Uint8Array.from(t);
}

/** What people are called, and by what: the identifier, or the number of the row. */
function identifiers(columns, roles, n) {
  const found = only(columns, roles, "identifier");
  if (found.length > 1) throw new BadTable(`${found.length} columns are the identifier; choose one.`);
  if (!found.length) {
    const idName = columns.some(({ name }) => name === "row") ? "row number" : "row";
    return { idName, ids: Array.from({ length: n }, (_, k) => String(k + 1)) };
  }
  const { name, values } = found[0],
    seen = new Set();
  const wrong = values.find((v) => isMissing(v) || seen.size === seen.add(v).size);
  if (wrong !== undefined)
    throw new BadTable(
      `The identifier "${name}" must name each person once, but ${isMissing(wrong) ? "a name is missing" : `"${wrong}" is repeated`}; choose another column, or none.`,
    );
  return { idName: name, ids: values };
}

/** Places of people by their names ascending, as the package orders them; those of rows without an identifier. */
function byName(ids, isNamed) {
  const places = [...ids.keys()];
  if (!isNamed) return places;
  if (!ids.every((id) => /^(0|-?[1-9]\d{0,17})$/.test(id))) return places.sort((a, b) => byCodePoints(ids[a], ids[b]));
  const numbers = ids.map(BigInt);
  return places.sort((a, b) => (numbers[a] < numbers[b] ? -1 : 1)); // names are there once
}

/** What each person costs, in the order of the rows: of a column, or one number for all. */
function costs(columns, roles, one, n) {
  const found = only(columns, roles, "cost");
  if (found.length > 1) throw new BadTable(`${found.length} columns are the cost; choose one, or none.`);
  if (!found.length) return new Float64Array(n).fill(one);
  const { name, values } = found[0],
    { cells } = held(found[0]);
  const odd = isNumeric(found[0]) ? cells.findIndex((v) => !(v > 0 && v < Infinity)) : values.findIndex((v) => !isNumber(v));
  if (odd >= 0 || !isNumeric(found[0]))
    throw new BadTable(
      `The cost "${name}" must be a number above 0 for everyone, but row ${Math.max(odd, 0) + 1} holds "${values[Math.max(odd, 0)]}"; correct it, or leave the column out.`,
    );
  return Float64Array.from(cells);
}

/** A number as the package writes it. */
const written = (v) => (Number.isInteger(v) ? v.toFixed(1) : String(v));

/** Those whose outcome is known. */
function known(columns, roles) {
  const found = only(columns, roles, "outcome");
  if (found.length > 1) throw new BadTable(`${found.length} columns are the outcome; choose one, or none.`);
  if (!found.length) return [];
  const { name, values } = found[0],
    { gaps, cells } = held(found[0]);
  if (!gaps)
    throw new BadTable(
      `Every value of the outcome "${name}" is known, so no one is left to survey; empty the values that you do not have, or leave the column out.`,
    );
  const odd = values.find((v, k) => !isMissing(v) && !(isNumeric(found[0]) && Number.isFinite(cells[k])));
  if (odd !== undefined)
    throw new BadTable(`The outcome "${name}" must be numbers, but holds "${odd}"; correct it, or leave the column out.`);
  return [...values.keys()].filter((k) => !isMissing(values[k]));
}

/**
 * Encode a table: numbers standardised, then categories as 0/1 columns.
 *
 * @param {{name: string, values: string[]}[]} columns
 * @param {string[]} roles one of ROLES for each
 * @param {number} each what a person costs where no column says so
 * @returns {{x: Float64Array, t: Uint8Array, arm: string, ids: string[], idName: string, cost: Float64Array, order: number[],
 *     labelled: number[], names: string[], models: Float64Array[], far: Object<string, number[]>}} of people by name: covariates (n rows of d, one
 *     after the other), arms, what the treatment is called, people's names and what these are called, costs, the row of each,
 *     those whose outcome is known, names of the d, the columns that models of treatment have, and by column the people with outlying values
 * @throws {BadTable} a role given twice or not at all, a missing value, free text, an arm that is empty
 */
export function encode(columns, roles, each = 1) {
  if (roles.includes(OPEN)) throw new BadTable(ask(columns, roles));
  const taken = columns.find(({ name }, k) => OWN[roles[k]]?.includes(name));
  if (taken) throw new BadTable(`"${taken.name}" is also a column of the plan; rename it.`);
  const n = columns[0].values.length,
    t = treatment(columns, roles),
    people = identifiers(columns, roles, n),
    labelled = known(columns, roles);
  const gaps = incomplete(columns, roles);
  if (gaps) throw gaps;
  const parts = [...kinds(only(columns, roles, "covariate"))].flatMap(([column, what]) => covariate(column, what));
  if (!parts.length) throw new BadTable("No covariate is left; give at least one column that role.");
  const encoded = [...parts.filter((c) => c.plain), ...parts.filter((c) => !c.plain)],
    models = encoded.flatMap(({ values, excess = [] }) => [values, ...excess]);
  const order = byName(people.ids, roles.includes("identifier")),
    place = new Map(order.map((row, k) => [row, k]));
  const x = Float64Array.from(
    { length: n * encoded.length },
    (_, k) => encoded[k % encoded.length].values[order[Math.floor(k / encoded.length)]],
  );
  const [{ name: arm }] = only(columns, roles, "treatment");
  const places = (rows) => rows.map((row) => place.get(row)).sort((a, b) => a - b);
  const far = Object.fromEntries(parts.filter((c) => c.far?.length).map((c) => [c.name, places(c.far)]));
  return {
    x,
    t: t.map((_, k) => t[order[k]]),
    arm,
    idName: people.idName,
    cost: ((all) => Float64Array.from(order, (row) => all[row]))(costs(columns, roles, each, n)),
    ids: order.map((row) => people.ids[row]),
    order,
    labelled: places(labelled),
    names: encoded.map((c) => c.name),
    models: models.map((values) => Float64Array.from(order, (row) => values[row])),
    far,
  };
}

/** Sentences on outliers. */
export function farTold(columns, { ids, idName, order, far }) {
  const list = (words) => [words.slice(0, -1).join(", "), words.at(-1)].filter((w) => w).join(" and ");
  return Object.entries(far).map(([name, units]) => {
    const { values } = columns.find((c) => c.name === name),
      all = [...new Set(units.map((k) => values[order[k]]))],
      whom = units.slice(0, 3).map((k) => ids[k]);
    const told = list(all.length > 3 ? [...all.slice(0, 3), "more"] : all),
      people = list(units.length > 3 ? [...whom, `${units.length - 3} others`] : whom);
    return `"${name}": ${told} of ${idName} ${people} ${all.length > 1 ? "lie" : "lies"} far from all others, and counts as less in distances. If that is a mistake or a code for a missing value, correct the file.`;
  });
}

/** Rows of plan.csv, the file that `macal plan` writes: name, round, treatment, cost; the weight where chances are known. */
export function planned({ t, arm, ids, idName, cost }, batches, chances = null) {
  const weight = (i) => (chances ? [written(1 / chances[i])] : []),
    row = (i, k) => [ids[i], String(k + 1), String(t[i]), written(cost[i]), ...weight(i)];
  const rows = batches.flatMap((units, k) => units.map((i) => row(i, k)));
  return [[idName, "round", arm, "cost", ...(chances ? ["weight"] : [])], ...rows];
}
