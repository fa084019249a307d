package journal

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// docs/internals/journal.md lists the kinds in the order of the table, with their versions, their fields and how long compaction keeps them.
func TestDocumentedKinds(t *testing.T) {
	text, err := os.ReadFile("../../docs/internals/journal.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| `") {
			rows = append(rows, strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | "))
		}
	}
	for _, k := range kinds {
		name := "`" + k.name + "`"
		format, kept := []string{name, strconv.Itoa(k.version), strings.Join(fieldsOf(k.body), ", ")}, []string{name, k.kept}
		if !contains(rows, format) {
			t.Errorf("docs/internals/journal.md has no row that starts with %q", format)
		}
		if !contains(rows, kept) {
			t.Errorf("docs/internals/journal.md has no row %q", kept)
		}
	}
}

// contains reports whether one of the rows starts with the given cells.
func contains(rows [][]string, start []string) bool {
	for _, row := range rows {
		if len(row) >= len(start) && cmp.Equal(row[:len(start)], start) {
			return true
		}
	}
	return false
}

// fieldsOf returns the JSON names of a body's fields.
func fieldsOf(body reflect.Type) []string {
	var names []string
	for field := range body.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// The sample of every kind sets every field, apart from the one that is false in it.
func TestSampleSetsEveryField(t *testing.T) {
	for _, b := range oneOfEach() {
		v := reflect.ValueOf(b)
		for field, value := range v.Fields() {
			if value.IsZero() && field.Name != "Claiming" {
				t.Errorf("%T: got no %s in the sample", b, field.Name)
			}
		}
	}
}

// Fields that older releases wrote are accepted and ignored, next to the fields that are read.
func TestOlderFieldsAreIgnored(t *testing.T) {
	tests := map[string]struct {
		payload string
		want    Body
	}{
		"guarded": {
			`{"v":1,"records":[{"guarded":{"vmid":101,"kind":"Container","name":"web","destroy":"deny","shutdownTimeoutNanos":60000000000,"protection":true}}]}`,
			Guarded{VMID: 101, Kind: "Container", Name: "web", Destroy: "deny"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := newMemDisk()
			c := newChain(noon, 1)
			f := frame{seq: 1, time: noon.UnixNano(), count: 1, payload: []byte(tt.payload)}.after(c.link)
			d.put(segmentName(1), inFile(header{role: roleSegment, chain: c}, f))
			j := openJournal(t, Options{disk: d})
			if err := j.Healthy(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[int]Guarded{101: tt.want.(Guarded)}, j.State().Guarded); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
			var got []Body
			if _, err := read(d, func(r Record) error { got = append(got, r.Body); return nil }); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]Body{tt.want}, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if out, err := json.Marshal(Record{1, noon, got[0]}); err != nil || bytes.Contains(out, []byte("protection")) || bytes.Contains(out, []byte("shutdown")) {
				t.Errorf("got %s, %v, want a record without the older fields", out, err)
			}
		})
	}
}

// A body is a value of one of the types in the table; the table names each kind and each type once.
func TestKindsAreUnique(t *testing.T) {
	if len(kindByName) != len(kinds) || len(kindByType) != len(kinds) {
		t.Errorf("got %d names and %d types, want %d of each", len(kindByName), len(kindByType), len(kinds))
	}
	for _, k := range kinds {
		if got := (Record{Seq: 1, Time: time.Now(), Body: reflect.Zero(k.body).Interface().(Body)}).Kind(); got != k.name {
			t.Errorf("got kind %s for %s, want %s", got, k.body, k.name)
		}
	}
}
