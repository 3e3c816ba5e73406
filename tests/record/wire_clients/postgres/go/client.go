// Runs the statements of a file with jackc/pgx: client cache|exec|simple ADDRESS PROGRAM.json
// How: each text is prepared under a name and kept; parsed without a name each time; or sent with its values in it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
)

type step struct {
	SQL   string `json:"sql"`
	Args  []any  `json:"args"`
	Fails bool   `json:"fails"`
}

func main() {
	modes := map[string]pgx.QueryExecMode{
		"cache":  pgx.QueryExecModeCacheStatement,
		"exec":   pgx.QueryExecModeExec,
		"simple": pgx.QueryExecModeSimpleProtocol,
	}
	config, err := pgx.ParseConfig(os.Args[2])
	must(err)
	config.DefaultQueryExecMode = modes[os.Args[1]]
	ctx := context.Background()
	connection, err := pgx.ConnectConfig(ctx, config)
	must(err)
	file, err := os.ReadFile(os.Args[3])
	must(err)
	decoder := json.NewDecoder(bytes.NewReader(file))
	decoder.UseNumber()
	var program []step
	must(decoder.Decode(&program))
	for _, one := range program {
		var given []any
		for _, value := range one.Args {
			if number, is := value.(json.Number); is {
				whole, err := number.Int64()
				must(err)
				value = int32(whole)
			}
			given = append(given, value)
		}
		rows, err := connection.Query(ctx, one.SQL, given...)
		if err == nil {
			for rows.Next() {
			}
			rows.Close()
			err = rows.Err()
		}
		if (err != nil) != one.Fails {
			log.Fatalf("%s: %v", one.SQL, err)
		}
	}
	must(connection.Close(ctx))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
