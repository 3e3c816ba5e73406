// Plays a program of test vectors: vectors PROGRAM OUT. The clock counts 1, 2, 3, ...
package main

import (
	"encoding/hex"
	"net/url"
	"os"
	"strconv"
	"strings"

	"example.org/recorders/recorder"
)

func main() {
	program, err := os.ReadFile(os.Args[1])
	must(err)
	now := int64(0)
	to, err := recorder.Open(os.Args[2], "test", func() int64 { now++; return now })
	must(err)
	for _, line := range strings.Split(strings.TrimSuffix(string(program), "\n"), "\n") {
		must(play(to, strings.Split(line, "\t")))
	}
	must(to.Close())
}

func play(to *recorder.Recorder, w []string) error {
	to.Before()
	switch w[0] {
	case "begin":
		return to.Begin()
	case "commit":
		return to.Commit()
	case "abort":
		return to.Abort()
	case "put":
		return to.Put(value(w[1]), value(w[2]))
	case "get":
		return to.Get(value(w[1]), value(w[2]))
	case "delete":
		found := w[2] == "found"
		if w[2] == "-" {
			return to.Delete(value(w[1]), nil)
		}
		return to.Delete(value(w[1]), &found)
	case "scan":
		items := [][2]any{}
		for n := 3; n+1 < len(w); n += 2 {
			items = append(items, [2]any{value(w[n]), value(w[n+1])})
		}
		return to.Scan(value(w[1]), value(w[2]), items)
	case "failed":
		return to.Failed(w[1], value(w[2]), value(w[3]), value(w[4]).(string))
	}
	panic(w[0])
}

func value(word string) any {
	rest := ""
	if len(word) > 2 {
		rest = word[2:]
	}
	switch word[0] {
	case 's':
		made, err := url.PathUnescape(rest)
		must(err)
		return made
	case 'i':
		made, err := strconv.ParseInt(rest, 10, 64)
		must(err)
		return made
	case 'f':
		made, err := strconv.ParseFloat(rest, 64)
		must(err)
		return made
	case 'b':
		return rest == "true"
	case 'x':
		made, err := hex.DecodeString(rest)
		must(err)
		return made
	case 'a':
		return recorder.Absent
	}
	return nil
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
