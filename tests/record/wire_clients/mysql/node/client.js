// Runs the statements of a file with mysql2: node client.js text|prepared WORK HOST PORT USER PASSWORD DATABASE
const fs = require("fs");
const mysql = require("mysql2/promise");

async function main() {
  const [how, work, host, port, user, password, database] = process.argv.slice(2);
  const connection = await mysql.createConnection({ host, port: Number(port), user, password, database });
  for (const [text, parameters, textOnly] of JSON.parse(fs.readFileSync(work, "utf8"))) {
    try {
      if (how === "prepared" && !textOnly) await connection.execute(text, parameters);
      else await connection.query(text, parameters);
    } catch (error) {
      if (!error.errno || error.fatal) throw error;
    }
  }
  await connection.end();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
