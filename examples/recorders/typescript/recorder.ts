// One session of a Boomslang trace: a line for each operation, in one write, when it has returned.
import { closeSync, openSync, writeSync } from "node:fs";

export const ABSENT: unique symbol = Symbol("absent");
export type Scalar = string | number | bigint | boolean | null | Uint8Array;

export class Recorder {
  private readonly file: number;
  private readonly clock: () => bigint;
  private transaction = 0;
  private invoked = 0n;

  /** `clock`: nanoseconds of a monotonic clock, process.hrtime.bigint; `clockName`: whose it is, such as the host. */
  constructor(path: string, clockName: string, clock: () => bigint = process.hrtime.bigint) {
    this.file = openSync(path, "a");
    this.clock = clock;
    this.write(`{"boomslang":1,"clock":${json(clockName)},"unit":"ns"}`);
  }

  /** Before each call of the database. */
  before(): void { this.invoked = this.clock(); }

  begin(): void { this.line("begin", `,"txn":${++this.transaction}`); }
  commit(): void { this.line("commit", ""); }
  abort(): void { this.line("abort", ""); }
  put(key: Scalar, value: Scalar): void { this.line("put", pair(key, value)); }
  get(key: Scalar, value: Scalar | typeof ABSENT): void { this.line("get", pair(key, value)); }

  /** `found`: whether there was something to delete; undefined: the database did not say. */
  delete(key: Scalar, found?: boolean): void {
    this.line("delete", `,"key":${json(key)}${found === undefined ? "" : `,"found":${found}`}`);
  }

  /** All keys from lo up to but not including hi (null: no bound). What is not among the items was absent. */
  scan(lo: Scalar, hi: Scalar, items: [Scalar, Scalar][]): void {
    const bounds = (lo === null ? "" : `,"from":${json(lo)}`) + (hi === null ? "" : `,"to":${json(hi)}`);
    this.line("scan", `${bounds},"items":[${items.map(([k, v]) => `[${json(k)},${json(v)}]`).join()}]`);
  }

  /** It failed and did nothing; of a commit: nobody knows. `key` is null where the operation has none. */
  failed(op: string, key: Scalar, value: Scalar, error: string): void {
    const rest = key === null ? "" : value === null ? `,"key":${json(key)}` : pair(key, value);
    this.line(op, rest, `,"error":${json(error)}`);
  }

  close(): void { closeSync(this.file); }

  private line(op: string, rest: string, error = ""): void {
    this.write(`{"op":"${op}"${rest},"invoke":${this.invoked},"return":${this.clock()}${error}}`);
  }

  private write(line: string): void { writeSync(this.file, line + "\n"); }
}

function pair(key: Scalar, value: Scalar | typeof ABSENT): string {
  return `,"key":${json(key)}${value === ABSENT ? `,"absent":true` : `,"value":${json(value)}`}`;
}

/** A key or value as JSON. Integers beyond 2^53 are bigints, or they are no longer what the database said. */
function json(x: Scalar): string {
  if (x instanceof Uint8Array) return `{"bytes":"${Buffer.from(x).toString("hex")}"}`;
  if (typeof x === "number" && !(Number.isInteger(x) ? Number.isSafeInteger(x) : Number.isFinite(x)))
    throw new RangeError(`a number that a trace cannot say: ${x}`);
  return typeof x === "bigint" ? x.toString() : JSON.stringify(x);
}
