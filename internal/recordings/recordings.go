package recordings

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"io"
	"slices"
	"testing"
)

// A File is one recorded session: exchanges in the order in which they were sent to one host.
type File struct {
	Name      string // such as 11-running-vm-config
	Exchanges []Exchange
}

// An Exchange is one request and the reply of Proxmox.
type Exchange struct {
	Method      string          `json:"m"`
	URL         string          `json:"u"`           // from /api2/json on, with the query
	Token       string          `json:"k,omitempty"` // full, agent, ro, none or ticket, or the text of a token that does not exist
	ContentType string          `json:"c,omitempty"`
	Body        *string         `json:"b,omitempty"` // as sent; nil where there was none
	Status      int             `json:"s"`
	Reason      string          `json:"r"`
	Reply       string          `json:"d"`                  // the body of the reply, byte for byte
	Parallel    bool            `json:"parallel,omitempty"` // sent at the same time as its neighbours
	AtOnce      bool            `json:"at_once,omitempty"`  // sent immediately after the exchange before
	TaskType    string          `json:"task,omitempty"`     // second series: the task that the request started
	TaskExit    string          `json:"exit,omitempty"`     // second series: how that task ended
	ReadsBack   bool            `json:"same,omitempty"`     // second series: the values that were sent read back as sent
	ReadBack    json.RawMessage `json:"readback,omitempty"` // second series: the keys of interest of the configuration afterwards

	// Of the third series alone.
	Section string   `json:"sec,omitempty"`   // a story of the file; several were recorded at the same time
	Via     string   `json:"via,omitempty"`   // the node whose proxy was asked
	At      int      `json:"at,omitempty"`    // when it was sent, in ms from the file's first request
	Until   int      `json:"until,omitempty"` // when the last request with the same answer was sent; 0 if it was the only one
	Took    int      `json:"took,omitempty"`  // until the answer, in ms
	Log     []string `json:"log,omitempty"`   // of the task that the request started
}

// A Roundtrip is one recorded write of one key, and the value of the key afterwards. The order of the rows matters: many rows change the same
// guest.
type Roundtrip struct {
	Key     string `json:"key"`
	Sent    string `json:"sent"`
	Got     string `json:"got,omitempty"`     // as JSON, "" where the key was absent
	Refusal string `json:"refusal,omitempty"` // status line and body, or "task: " and the exit status
	Same    bool   `json:"same,omitempty"`    // the recorder read back what it had sent
}

// A Property is the schema's description of a key or of a part of a property string.
type Property struct {
	Type       string              `json:"type,omitempty"`
	Default    any                 `json:"default,omitempty"` // a string or a float64
	Enum       []string            `json:"enum,omitempty"`
	Minimum    *float64            `json:"minimum,omitempty"`
	Maximum    *float64            `json:"maximum,omitempty"`
	Alias      string              `json:"alias,omitempty"`
	KeyAlias   string              `json:"keyAlias,omitempty"`
	DefaultKey int                 `json:"default_key,omitempty"`
	Optional   int                 `json:"optional,omitempty"`
	Parts      map[string]Property `json:"parts,omitempty"` // of a property string, by name
}

//go:embed data
var data embed.FS

// First returns the 40 files of the first series, 01 to 41: guests, tasks, storages, pools and the cluster's lists.
func First(tb testing.TB) []File {
	tb.Helper()
	return files(tb, FirstName)
}

// Second returns the 19 files of the second series, 50 to 68: firewall, backup jobs, snapshots, run states, images, HA rules, identity.
func Second(tb testing.TB) []File {
	tb.Helper()
	return files(tb, SecondName)
}

// Third returns the files 72 to 75 of three nodes: states of the HA manager, moves, migrations, lost nodes and quorum. The entries of a section are in order.
func Third(tb testing.TB) []File {
	tb.Helper()
	return files(tb, ThirdName)
}

// Exchanges returns the exchanges of the first two series.
func Exchanges(tb testing.TB) []Exchange {
	tb.Helper()
	var all []Exchange
	for _, file := range slices.Concat(First(tb), Second(tb)) {
		all = append(all, file.Exchanges...)
	}
	return all
}

// Roundtrips returns the recorded writes of single keys in the order of recording.
func Roundtrips(tb testing.TB) []Roundtrip {
	tb.Helper()
	var rows []Roundtrip
	each(tb, RoundtripsName, func(row Roundtrip) { rows = append(rows, row) })
	return rows
}

// Schema returns the properties of a guest's configuration. The kind is qemu or lxc.
func Schema(tb testing.TB, kind string) map[string]Property {
	tb.Helper()
	var found map[string]Property
	each(tb, SchemaName, func(s KindSchema) {
		if s.Kind == kind {
			found = s.Properties
		}
	})
	if found == nil {
		tb.Fatalf("schema of %s: got none, want qemu or lxc", kind)
	}
	return found
}

// The names of the embedded files. Each is a gzip of JSON lines: a Line, a Roundtrip or a KindSchema per line.
const (
	FirstName      = "first.jsonl.gz"
	SecondName     = "second.jsonl.gz"
	ThirdName      = "third.jsonl.gz"
	RoundtripsName = "roundtrips.jsonl.gz"
	SchemaName     = "schema.jsonl.gz"
)

// A Line is an exchange as stored: with the name of its file where that file begins.
type Line struct {
	File string `json:"f,omitempty"`
	Exchange
}

// A KindSchema is the schema of one kind of guest.
type KindSchema struct {
	Kind       string              `json:"kind"`
	Properties map[string]Property `json:"properties"`
}

func files(tb testing.TB, name string) []File {
	tb.Helper()
	var files []File
	each(tb, name, func(l Line) {
		if l.File != "" {
			files = append(files, File{Name: l.File})
		}
		last := &files[len(files)-1]
		last.Exchanges = append(last.Exchanges, l.Exchange)
	})
	return files
}

// each decodes an embedded file, line by line.
func each[T any](tb testing.TB, name string, yield func(T)) {
	tb.Helper()
	text, err := Text(name)
	if err != nil {
		tb.Fatalf("read %s: %v", name, err)
	}
	lines := json.NewDecoder(bytes.NewReader(text))
	for lines.More() {
		var line T
		if err := lines.Decode(&line); err != nil {
			tb.Fatalf("decode %s: %v", name, err)
		}
		yield(line)
	}
}

// Text returns an embedded file without its compression.
func Text(name string) ([]byte, error) {
	packed, err := data.ReadFile("data/" + name)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
