// Puts load on Badger, an embedded key-value store, and records what each client saw, as a trace that Boomslang checks.
//
//	go run . range trace     # look whether a prefix is empty, and put a key of one's own into it if it is
//	go run . point trace     # the same with one key that all would put
//	boomslang check trace --level ser,si
//
// Badger promises serializable snapshot isolation. It remembers the keys that a transaction read and refuses a commit
// when one of them was written since. An iterator that returns nothing has read no key, so `range` is never refused.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	badger "github.com/dgraph-io/badger/v4"
)

const (
	clients      = 6
	transactions = 700 // of each client
	pause        = 100 * time.Microsecond
)

// A client's file of the trace: one JSON object a line, each written before the next operation begins.
type recorder struct {
	file *os.File
	next int
}

var started = time.Now() // read by its monotonic part: one clock for all clients

type line map[string]any

func (r *recorder) write(fields line) {
	text, err := json.Marshal(fields)
	if err == nil {
		_, err = r.file.Write(append(text, '\n'))
	}
	if err != nil {
		log.Fatal("the trace cannot be written: ", err)
	}
}

// timed runs an operation between two looks at the clock and writes it down with what it returned.
func (r *recorder) timed(fields line, operation func()) {
	fields["invoke"] = time.Since(started).Nanoseconds()
	operation()
	fields["return"] = time.Since(started).Nanoseconds()
	r.write(fields)
}

// A transaction is recorded as committed only if Badger said so, as aborted if it refused, and is left open, which means
// unknown, after any other error.
func (r *recorder) transaction(db *badger.DB, body func(*badger.Txn)) {
	var txn *badger.Txn
	begin := line{"op": "begin", "txn": r.next}
	r.next++
	r.timed(begin, func() { txn = db.NewTransaction(true) })
	defer txn.Discard()
	body(txn)
	var err error
	end := line{"op": "commit"}
	r.timed(end, func() {
		if err = txn.Commit(); err != nil {
			end["op"] = "abort"
		}
	})
	if err != nil && !errors.Is(err, badger.ErrConflict) {
		log.Fatal("commit: ", err)
	}
}

func (r *recorder) put(txn *badger.Txn, key, value string) {
	r.timed(line{"op": "put", "key": key, "value": value}, func() { must(txn.Set([]byte(key), []byte(value))) })
}

func (r *recorder) get(txn *badger.Txn, key string) bool {
	fields := line{"op": "get", "key": key}
	found := false
	r.timed(fields, func() {
		item, err := txn.Get([]byte(key))
		if errors.Is(err, badger.ErrKeyNotFound) {
			fields["absent"] = true
			return
		}
		must(err)
		fields["value"], found = text(item), true
	})
	return found
}

// scan reads all keys that begin with the prefix, which ends with a slash: '0' is the character after it.
func (r *recorder) scan(txn *badger.Txn, prefix string) int {
	items := [][2]string{}
	fields := line{"op": "scan", "from": prefix, "to": prefix[:len(prefix)-1] + "0"}
	r.timed(fields, func() {
		rows := txn.NewIterator(badger.IteratorOptions{Prefix: []byte(prefix)})
		defer rows.Close()
		for rows.Rewind(); rows.Valid(); rows.Next() {
			items = append(items, [2]string{string(rows.Item().Key()), text(rows.Item())})
		}
		fields["items"] = items
	})
	return len(items)
}

func text(item *badger.Item) string {
	value, err := item.ValueCopy(nil)
	must(err)
	return string(value)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	if len(os.Args) != 3 || (os.Args[1] != "range" && os.Args[1] != "point") {
		log.Fatal("usage: badger range|point FOLDER")
	}
	ranges, folder := os.Args[1] == "range", os.Args[2]
	must(os.Mkdir(folder, 0o755))
	data, err := os.MkdirTemp("", "badger-")
	must(err)
	defer os.RemoveAll(data)
	db, err := badger.Open(badger.DefaultOptions(data).WithLoggingLevel(badger.ERROR))
	must(err)
	defer db.Close()
	var all sync.WaitGroup
	for client := 0; client < clients; client++ {
		file, err := os.Create(filepath.Join(folder, fmt.Sprintf("c%d.jsonl", client)))
		must(err)
		r := &recorder{file: file}
		r.write(line{"boomslang": 1, "initial": "empty", "unit": "ns"})
		all.Add(1)
		go func() {
			defer all.Done()
			defer file.Close()
			for number := 0; number < transactions; number++ {
				prefix := fmt.Sprintf("r%05d/", number/2*2)
				r.transaction(db, func(txn *badger.Txn) {
					if ranges && r.scan(txn, prefix) > 0 || !ranges && r.get(txn, prefix) {
						return
					}
					time.Sleep(pause) // as an application would take some time
					key := prefix
					if ranges {
						key += fmt.Sprint(client)
					}
					r.put(txn, key, fmt.Sprintf("%d.%d", client, number))
				})
			}
		}()
	}
	all.Wait()
}
