// Runs the statements of a file with go-sql-driver/mysql: client text|prepared WORK HOST PORT USER PASSWORD DATABASE
package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"
)

func main() {
	how, work := os.Args[1], os.Args[2]
	host, port, user, password, database := os.Args[3], os.Args[4], os.Args[5], os.Args[6], os.Args[7]
	address := fmt.Sprintf("%s:%s@tcp(%s:%s)/%s?interpolateParams=%t", user, password, host, port, database, how == "text")
	pool, err := sql.Open("mysql", address)
	must(err)
	defer pool.Close()
	ctx := context.Background()
	connection, err := pool.Conn(ctx)
	must(err)
	defer connection.Close()
	file, err := os.ReadFile(work)
	must(err)
	decoder := json.NewDecoder(bytes.NewReader(file))
	decoder.UseNumber()
	var statements [][]any
	must(decoder.Decode(&statements))
	for _, statement := range statements {
		text := statement[0].(string)
		var given []any
		for _, value := range statement[1].([]any) {
			given = append(given, plain(value))
		}
		var wrong *mysql.MySQLError
		if err := run(ctx, connection, text, given); err != nil && !errors.As(err, &wrong) {
			log.Fatal(err)
		}
	}
}

func run(ctx context.Context, connection *sql.Conn, text string, given []any) error {
	if !strings.HasPrefix(text, "SELECT") {
		_, err := connection.ExecContext(ctx, text, given...)
		return err
	}
	rows, err := connection.QueryContext(ctx, text, given...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

func plain(value any) any {
	number, is := value.(json.Number)
	if !is {
		return value
	}
	if whole, err := number.Int64(); err == nil {
		return whole
	}
	fraction, err := number.Float64()
	must(err)
	return fraction
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
