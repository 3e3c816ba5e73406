// Package recorder writes one session of a Boomslang trace: a line for each operation, in one write, when it has returned.
package recorder

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
)

// Absent is what a Get returns where there is no such key.
var Absent = struct{ absent bool }{true}

// Recorder is for one goroutine. Clock: nanoseconds of a monotonic clock.
type Recorder struct {
	Clock       func() int64
	file        *os.File
	transaction int64
	invoked     int64
}

// Open begins a session's file. clockName says whose clock it is, such as the host's.
func Open(path, clockName string, clock func() int64) (*Recorder, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	r := &Recorder{Clock: clock, file: file}
	return r, r.write(fmt.Sprintf(`{"boomslang":1,"clock":%s,"unit":"ns"}`, text(clockName)))
}

// Before is called before each call of the database.
func (r *Recorder) Before() { r.invoked = r.Clock() }

func (r *Recorder) Begin() error {
	r.transaction++
	return r.line("begin", fmt.Sprintf(`,"txn":%d`, r.transaction), "")
}
func (r *Recorder) Commit() error            { return r.line("commit", "", "") }
func (r *Recorder) Abort() error             { return r.line("abort", "", "") }
func (r *Recorder) Put(key, value any) error { return r.line("put", pair(key, value), "") }
func (r *Recorder) Get(key, value any) error { return r.line("get", pair(key, value), "") }

// Delete: found is whether there was something to delete; nil: the database did not say.
func (r *Recorder) Delete(key any, found *bool) error {
	rest := `,"key":` + text(key)
	if found != nil {
		rest += fmt.Sprintf(`,"found":%t`, *found)
	}
	return r.line("delete", rest, "")
}

// Scan is of all keys from lo up to but not including hi (nil: no bound). What is not among the items was absent.
func (r *Recorder) Scan(lo, hi any, items [][2]any) error {
	rest := bound("from", lo) + bound("to", hi) + `,"items":[`
	for n, item := range items {
		if n > 0 {
			rest += ","
		}
		rest += "[" + text(item[0]) + "," + text(item[1]) + "]"
	}
	return r.line("scan", rest+"]", "")
}

// Failed and did nothing; of a commit: nobody knows. key is nil where the operation has none.
func (r *Recorder) Failed(op string, key, value any, why string) error {
	rest := ""
	if key != nil && value == nil {
		rest = `,"key":` + text(key)
	} else if key != nil {
		rest = pair(key, value)
	}
	return r.line(op, rest, why)
}

func (r *Recorder) Close() error { return r.file.Close() }

func bound(name string, key any) string {
	if key == nil {
		return ""
	}
	return fmt.Sprintf(`,"%s":%s`, name, text(key))
}

func pair(key, value any) string {
	if value == Absent {
		return `,"key":` + text(key) + `,"absent":true`
	}
	return `,"key":` + text(key) + `,"value":` + text(value)
}

func (r *Recorder) line(op, rest, why string) error {
	if why != "" {
		why = `,"error":` + text(why)
	}
	return r.write(fmt.Sprintf(`{"op":"%s"%s,"invoke":%d,"return":%d%s}`, op, rest, r.invoked, r.Clock(), why))
}

func (r *Recorder) write(line string) error {
	_, err := r.file.WriteString(line + "\n")
	return err
}

// text is a key or value as JSON. What a trace cannot say (NaN, a struct) is a mistake of the program.
func text(x any) string {
	if b, ok := x.([]byte); ok {
		return `{"bytes":"` + hex.EncodeToString(b) + `"}`
	}
	var made bytes.Buffer
	encoder := json.NewEncoder(&made)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(x); err != nil {
		panic(err)
	}
	return string(bytes.TrimSpace(made.Bytes()))
}
