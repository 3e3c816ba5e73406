// Plays a program of test vectors: node vectors.ts PROGRAM OUT. The clock counts 1, 2, 3, ...
import { readFileSync } from "node:fs";
import { ABSENT, Recorder, type Scalar } from "./recorder.ts";

let now = 0n;
const to = new Recorder(process.argv[3], "test", () => ++now);
for (const line of readFileSync(process.argv[2], "utf8").trimEnd().split("\n")) play(line.split("\t"));
to.close();

function play(w: string[]): void {
  to.before();
  switch (w[0]) {
    case "begin": return to.begin();
    case "commit": return to.commit();
    case "abort": return to.abort();
    case "put": return to.put(value(w[1]), value(w[2]));
    case "get": return to.get(value(w[1]), w[2] === "absent" ? ABSENT : value(w[2]));
    case "delete": return to.delete(value(w[1]), w[2] === "-" ? undefined : w[2] === "found");
    case "scan": {
      const items: [Scalar, Scalar][] = [];
      for (let n = 3; n + 1 < w.length; n += 2) items.push([value(w[n]), value(w[n + 1])]);
      return to.scan(value(w[1]), value(w[2]), items);
    }
    case "failed": return to.failed(w[1], value(w[2]), value(w[3]), value(w[4]) as string);
  }
  throw new Error(w[0]);
}

function value(word: string): Scalar {
  const rest = word.slice(2);
  switch (word[0]) {
    case "s": return decodeURIComponent(rest);
    case "i": return BigInt(rest);
    case "f": return Number(rest);
    case "b": return rest === "true";
    case "x": return Uint8Array.from(Buffer.from(rest, "hex"));
  }
  return null;
}
