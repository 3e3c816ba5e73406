// Runs a program of statements with node's `pg`: node node_pg.js ADDRESS PROGRAM.json [named]
// `named`: each statement is prepared under a name; else without one.
const fs = require("fs");
const { Client } = require("pg");

async function main() {
  const [address, file, how] = process.argv.slice(2);
  const client = new Client({ connectionString: address });
  await client.connect();
  let number = 0;
  for (const { sql, args, fails } of JSON.parse(fs.readFileSync(file, "utf8"))) {
    const query = { text: sql, values: args };
    if (how === "named" && args.length) query.name = `s${number++}`;
    let failed = false;
    try {
      await client.query(query);
    } catch (error) {
      failed = true;
    }
    if (failed !== fails) throw new Error(`${sql}: failed ${failed}, expected ${fails}`);
  }
  await client.end();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
