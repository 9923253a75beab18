/** What a column holds, as `macal.survey.tables` sees it: texts count as what they write. */

const MISSING = new Set(
  "|#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NULL|NaN|n/a|nan|null".split("|"),
); // what pandas takes for it, but for words
const WORDS = ["None", "NA"]; // of gaps, that can be values
const TRUTH = new Map(["False", "FALSE", "false", "True", "TRUE", "true"].map((text, k) => [text, Number(k > 2)]));
const NUMBER = /^[\t-\r ]*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?[\t-\r ]*$|^[-+]?inf(inity)?$/i;
const CANONICAL = /^(0|-?[1-9]\d{0,17})$/; // a whole number as it is written, within 64 bits
const DIGITS = /^\+?\d+$/,
  LED = /^(0\d+|\d{19,}|\+\d{7,})$/; // digits that are no number
const PLAIN = "[-+]?(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][-+]?[0-9]+)?",
  DATE = ["(?:0?[1-9]|[12][0-9]|3[01])", "(?:0?[1-9]|1[0-2])"];
const iso = (year, month, day) => `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`;
/** Ways in which people write numbers and dates: a pattern, what a text is then, and how the page says it. */
const WAYS = [
  {
    mark: "comma",
    pattern: /^[-+]?(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})+|[0-9]+)(?:,[0-9]+)?$/,
    plain: (text) => text.replaceAll(".", "").replace(",", "."),
    shown: "decimal commas",
  },
  {
    mark: "point",
    pattern: new RegExp(
      `^(?:[-+]?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3})(?:\\.[0-9]*)?|${PLAIN})$`,
    ),
    plain: (text) => text.replaceAll(",", ""),
    shown: "thousands with commas",
  },
  {
    isGrouped: true, // commas and dots are for certain
    pattern: /^[-+\u2212]?(?:[0-9]+|[1-9][0-9]{0,2}(?:['\u2019\u00a0\u2009\u202f][0-9]{3})+)(?:[.,](?:[0-9]{1,2}|[0-9]{4,}))?$/,
    plain: (text) => text.replace(/['\u2019\u00a0\u2009\u202f]/g, "").replace("\u2212", "-").replace(",", "."),
    shown: "blanks, apostrophes or other minus signs",
  },
  {
    pattern: /^[-+]?[0-9]+(?:\.[0-9]+|,[0-9]{1,2})? ?%$/,
    plain: (text) => text.replace(/[% ]+$/, "").replace(",", "."),
    divisor: 100,
    shown: "per cent",
  },
  {
    pattern: new RegExp(`^${DATE[0]}([-./])${DATE[1]}\\1[1-9][0-9]{3}$`),
    date: (text) => iso(...text.split(/[-./]/).reverse()),
    shown: "the day first",
  },
  {
    pattern: new RegExp(`^${DATE[1]}([-/])${DATE[0]}\\1[1-9][0-9]{3}$`),
    date: (text) => iso(...((parts) => [parts[2], parts[0], parts[1]])(text.split(/[-/]/))),
    shown: "the month first",
  },
];
const WORDS_OF_MONEY =
  "US[$] C[$] A[$] NZ[$] S[$] HK[$] NT[$] R[$] kr[.]? Rs[.]? Rp K[Ss]h TSh USh Tk F?CFA TL z\u0142 K\u010d Ft RMB EUR USD GBP CHF SEK NOK DKK ISK JPY CNY INR BRL ZAR KES NGN GHS UGX TZS RWF ETB XOF XAF PLN CZK HUF TRY RUB UAH KRW THB VND IDR PHP MXN AUD CAD NZD SGD HKD ILS EGP PKR BDT LKR NPR AED SAR MYR TWD";
const SIGN = "[\\-+\u2212\u2013]",
  MONEY = `[$\u00a2-\u00a5\u20a0-\u20c0]|${WORDS_OF_MONEY.replaceAll(" ", "|")}`,
  UNIT = `[%+]|[\\/,.]-|${MONEY}|k|million|mio|lakhs?|lac|crores?|kg|mg|g|lb|cm|mm|km|m|ml|l|h|min|(?:year|month|week|day|hour)s?`,
  GROUPS = "\\p{Nd}{1,3}([,.'\u2019 \u00a0\u2009\u202f]\\p{Nd}{3})+|\\p{Nd}{1,2}(,\\p{Nd}{2})+,\\p{Nd}{3}";
const NUMBER_TEXT = new RegExp(
  `^\\s*\\(?${SIGN}?(?:${MONEY})?\\s*${SIGN}?(${GROUPS}|\\p{Nd}+\\/(?=\\p{Nd})|\\p{Nd}+)?([.,]?\\p{Nd}*)([eE][\\-+]?\\p{Nd}+)?\\s*(${UNIT})?\\)?\\s*$`,
  "u",
);
const DATE_TEXT = new RegExp(
  "^(\\p{Nd}{1,4}([-/.])\\p{Nd}{1,2}\\2\\p{Nd}{1,4}([ T][^\\n]*)?|\\p{Nd}{1,2}\\.? [A-Za-z]{3,9}\\.? \\p{Nd}{2,4}" +
    "|[A-Za-z]{3,9}\\.? \\p{Nd}{1,2},? \\p{Nd}{4}|\\p{Nd}{1,2}:\\p{Nd}{2}(:\\p{Nd}{2})?[^\\n]*)$",
  "u",
);
const TELEPHONE = /^\+\p{Nd}[\p{Nd} ()/-]{6,}$/u;
const SPACE = /[^\S\ufeff]|[\x1c-\x1f\x85]/; // white space as Python has it
const DAY = /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)(?:[T ](?<rest>.+))?$/s;
const HOURS =
  /(?<hour>\d\d|\d(?=:))(?:(?<colon>:?)(?<minute>\d\d?)(?:\k<colon>(?<second>\d\d?)(?:\.(?<part>\d{0,18}))?)?)?/;
const ZONE = /(?:[\t-\r ]*(?:Z|(?<sign>[-+])(?<far>\d\d|\d(?=:|$))(?:$|:?(?<further>\d\d?))))?[\t-\r ]*/;
const TIME = new RegExp(`^${HOURS.source}${ZONE.source}$`);
export const FEW = 20, // values of a text that are categories however few the rows
  MANY = 100; // and at most

export const isMissing = (text) => MISSING.has(text);
export const isWord = (text) => WORDS.includes(text);
export const isNumber = (text) => NUMBER.test(text);

/** Whether a text looks like a number or a date, in whatever way. */
export const isLike = (text) => /\p{Nd}/u.test(text) && !TELEPHONE.test(text) && (NUMBER_TEXT.test(text) || DATE_TEXT.test(text));

/** Texts of a column, empty where None or NA is no value: None is one among few other words, NA among codes of two capitals. */
export function withoutWords(values, name) {
  const others = [...new Set(values)].filter((v) => !isMissing(v) && ![...WORDS, name].includes(v)),
    isWord = others.length && others.length <= FEW && !others.some((v) => TRUTH.has(v) || isLike(v)),
    isCode = others.length && others.every((v) => /^[A-Z]{2}$/.test(v));
  return values.map((v) => ((v === "None" && !isWord) || (v === "NA" && !isCode) ? "" : v));
}

/** The number that a text writes. */
function number(text) {
  return /i/i.test(text) ? (text[0] === "-" ? -Infinity : Infinity) : Number(text);
}

/**
 * The time that a text writes: the day, nanoseconds from its beginning, and whether it counts more than microseconds.
 *
 * @returns {[number, number, boolean] | null} null where it writes none
 */
function time(text) {
  const { year, month, day, rest } = DAY.exec(text)?.groups ?? {};
  const clock = rest === undefined ? { hour: 0 } : TIME.exec(rest)?.groups;
  if (!year || !clock) return null;
  const { hour, colon, minute = "00", second = "00", part = "", sign, far = 0, further = 0 } = clock;
  const start = new Date(0);
  start.setUTCFullYear(year, month - 1, day);
  if (start.getUTCMonth() !== month - 1 || start.getUTCDate() !== Number(day)) return null;
  if (hour > 23 || minute > 59 || second > 59 || far > 23 || further > 59) return null;
  if (!colon && minute.length + second.length < 4) return null;
  if (part.length > 6 && !(year > 1677 && year < 2262)) return null; // nanoseconds reach no further
  const minutes = 60 * hour + Number(minute) - (60 * far + Number(further)) * (sign === "-" ? -1 : 1);
  const nanoseconds = (60 * minutes + Number(second)) * 1e9 + Number(part.slice(0, 9).padEnd(9, "0"));
  return [start.getTime() / 864e5, nanoseconds, part.length > 6];
}

const KNOWN = new WeakMap();

/** Say of each column what a comma and a dot are in the numbers of some others: "comma", "point", "both" or nothing. */
export function mark(columns, deciding) {
  const marks = new Set(deciding.map((column) => held(column, "").mark).filter(Boolean)),
    found = marks.size > 1 ? "both" : ([...marks][0] ?? "");
  for (const column of columns) column.mark = found;
}

/**
 * What a column holds.
 *
 * @param {{name: string, values: string[]}} column
 * @returns {{gaps: number, family: string, different: number, constant: boolean, canonical: boolean, code: boolean,
 *     spaced: boolean, cells: (number | string | null)[]}} missing cells; "nothing", "truth", "integer", "number",
 *     "date" or "text"; different texts, missing ones as one; whether all are whole numbers as they are written, or
 *     digits that are no number; whether a text has white space; cells as what they write, null where missing; how
 *     numbers and dates are written (shown), which words are values that may be gaps (words), or what is to be asked of them (question), where one of both is to be said;
 *     what the texts decide of commas and dots (mark)
 */
export function held(column, mark = column.mark ?? "") {
  if (!KNOWN.has(column)) KNOWN.set(column, {});
  return (KNOWN.get(column)[mark] ??= summarised(column.values, mark));
}

/** What a column holds as a covariate: digits that begin with a zero are text. */
export function asCovariate(column) {
  const found = held(column);
  if (!found.code) return found;
  const cells = column.values.map((v) => (isMissing(v) ? null : v));
  return { ...found, family: "text", constant: found.different === 1, cells };
}

function summarised(values, mark) {
  const texts = [...new Set(values)].filter((v) => !isMissing(v)),
    gaps = values.filter(isMissing).length,
    every = (pattern) => texts.every((v) => pattern.test(v));
  const about = { gaps, different: texts.length + (gaps > 0), canonical: false, code: false, spaced: false };
  const as = (family, meaning, more) => {
    const cells = values.map((v) => (isMissing(v) ? null : meaning(v)));
    return { ...about, family, constant: about.different === 1, cells, ...more };
  };
  const itself = (v) => v;
  if (!texts.length) return as("nothing", itself);
  const words = WORDS.filter((word) => texts.includes(word)),
    told = words.length ? { words: `${words.join(" and ")} ${words.length > 1 ? "are values" : "is a value"}, not a gap` } : {};
  if (texts.every((v) => TRUTH.has(v))) return as("truth", gaps ? itself : (v) => TRUTH.get(v));
  const ways = WAYS.filter(({ pattern, date }) => every(pattern) && !(date && texts.some((v) => !time(date(v)))));
  const able = ways.filter((way) => way.mark);
  about.mark = able.length === 1 ? able[0].mark : "";
  if (every(NUMBER)) {
    const numbers = texts.map(number),
      constant = !gaps && numbers.every((v) => v === numbers[0]);
    const more = { constant, canonical: every(CANONICAL), code: every(DIGITS) && texts.some((v) => LED.test(v)) };
    const [open] = constant || more.canonical || more.code ? [] : able.filter((way) => way.mark === "comma");
    if (open && mark === "comma") return as("number", (v) => Number(open.plain(v)), { shown: open.shown });
    if (open && mark === "both") return as("text", itself, { question: "can be read in more than one way" });
    return as(numbers.every(Number.isInteger) ? "integer" : "number", number, more);
  }
  if (texts.every(time)) return as("date", itself);
  const spaced = texts.some((v) => SPACE.test(v));
  const grouped = ways.filter((way) => way.isGrouped),
    others = ways.filter((way) => !way.isGrouped),
    certain = others.length === 1 ? others : grouped;
  const [{ plain, date, divisor = 1, shown } = {}] = certain.length ? certain : able.filter((way) => way.mark === mark);
  if (date) return as("date", date, { shown });
  if (plain) return as("number", (v) => Number(plain(v)) / divisor, { shown });
  return as("text", itself, { spaced, ...told, ...doubt(values, texts, ways) });
}

/** What is to be asked of texts most of which look like numbers or dates, and that are not read. */
function doubt(values, texts, ways) {
  if (texts.length + values.some(isMissing) === 1) return {};
  const counted = texts.length + values.some(isMissing) > MANY ? values.filter((v) => !isMissing(v)) : texts;
  if (2 * counted.filter(isLike).length <= counted.length) return {};
  const odd = texts.filter((v) => !isLike(v)).sort(byCodePoints)[0];
  if (odd !== undefined) return { question: `holds numbers or dates, but also "${odd}"` };
  const unread = texts.filter((v) => !NUMBER.test(v)).sort(byCodePoints)[0],
    shown = ways.map((way) => way.shown).join(", ");
  return {
    question: `holds numbers or dates as text, such as "${unread}"${shown && `, which can be read in more than one way (${shown})`}`,
  };
}

/** Strings by code points, as Python sorts them. */
export function byCodePoints(a, b) {
  const [p, q] = [a, b].map((s) => [...s].map((c) => c.codePointAt(0)));
  const k = p.findIndex((c, j) => c !== q[j]);
  return k < 0 ? p.length - q.length : p[k] - (q[k] ?? -1);
}

const NUMERIC = ["integer", "number"];
export const isNumeric = (column) => NUMERIC.includes(held(column).family);

/** Whether a number lost digits as a float, as whole numbers beyond 2^53 may. */
export function losesDigits(column) {
  const { canonical, gaps } = held(column);
  return canonical && !gaps && column.values.some((v) => v.length > 15 && BigInt(v.replace("-", "")) > 2n ** 53n);
}

/** Whether two columns hold the same, cell by cell. */
export function areAlike(one, other) {
  const [a, b] = [asCovariate(one), asCovariate(other)];
  if (a.family !== b.family) return false;
  const written = a.canonical && b.canonical && !a.gaps && !b.gaps; // whole numbers, to the last digit
  const [p, q] = written ? [one.values, other.values] : [a.cells, b.cells];
  return p.every((v, k) => v === q[k]);
}

/** Dates without a gap as days since the first one. */
export function days(column) {
  const times = held(column).cells.map(time),
    second = times.some(([, , fine]) => fine) ? 1e9 : 1e6; // pandas counts in microseconds where they do
  const since = (one, other) => (one[0] - other[0]) * 86400 * second + (one[1] - other[1]) / (1e9 / second);
  const first = times.reduce((least, one) => (since(one, least) < 0 ? one : least));
  return Float64Array.from(times, (one) => since(one, first) / (86400 * second));
}

/** "number", "category" or "date" of what may be a covariate; else why it may not. */
export function kind(column) {
  const { family, constant, different, question } = asCovariate(column),
    n = column.values.length;
  if (question) return question;
  if (constant) return "constant";
  if (family === "truth") return "category";
  if (NUMERIC.includes(family)) return "number";
  if (family === "date") return "date";
  if ((different <= FEW && n > FEW) || (different <= MANY && different <= n / 5)) return "category";
  return `free text (${different > MANY ? `more than ${MANY}` : different} different values)`;
}
