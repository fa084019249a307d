package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/internal/recordings"
)

func TestReducedKeepsTheFactsOfANote(t *testing.T) {
	tests := map[string]struct {
		note string
		want recordings.Exchange
	}{
		"prose":       {"wrong token secret", recordings.Exchange{}},
		"parallel":    {"20 parallel PUT", recordings.Exchange{Parallel: true}},
		"at_once":     {"GET immediately after", recordings.Exchange{AtOnce: true}},
		"task":        {"name; task qmdelsnapshot ended: VM is locked (backup)", recordings.Exchange{TaskType: "qmdelsnapshot", TaskExit: "VM is locked (backup)"}},
		"same":        {"reads back as sent, with ipversion 4", recordings.Exchange{ReadsBack: true}},
		"read_back":   {`GET then config: {"memory": "512"}`, recordings.Exchange{ReadBack: json.RawMessage(`{"memory": "512"}`)}},
		"task_in_mid": {"a; task vzdump ended: OK; b", recordings.Exchange{TaskType: "vzdump", TaskExit: "OK"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := reduced(entry{Note: test.note})
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("got error %v, exchange (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestReducedRejectsOtherHeaders(t *testing.T) {
	var e entry
	e.Request.Headers = map[string]string{"Content-Type": "text/plain", "X-Other": "1"}
	if _, err := reduced(e); err == nil {
		t.Error("got no error for a request header that the data does not hold, want one")
	}
}

func TestRoundtrip(t *testing.T) {
	tests := map[string]struct {
		line string
		want recordings.Roundtrip
	}{
		"same":     {`| name | 'a' | 'a' | yes |  |`, recordings.Roundtrip{Key: "name", Sent: "a", Got: `"a"`, Same: true}},
		"number":   {`| cores | '2' | 2 | yes |  |`, recordings.Roundtrip{Key: "cores", Sent: "2", Got: "2", Same: true}},
		"absent":   {`| tags | '\n' | absent | NO |  |`, recordings.Roundtrip{Key: "tags", Sent: "\n"}},
		"pipe":     {`| tags | 'a\|b' | 'a' | NO |  |`, recordings.Roundtrip{Key: "tags", Sent: "a|b", Got: `"a"`}},
		"quotes":   {`| name | "it's" | 'a \'b\' "c"' | NO |  |`, recordings.Roundtrip{Key: "name", Sent: "it's", Got: `"a 'b' \"c\""`}},
		"abridged": {`| name | 'aaa...(5 chars) | absent | refused | HTTP/1.1 400 No {"data":null} |`, recordings.Roundtrip{Key: "name", Sent: "aaaaa", Refusal: `HTTP/1.1 400 No {"data":null}`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := roundtrip(test.line)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("got error %v, row (-want +got):\n%s", err, diff)
			}
		})
	}
	for _, line := range []string{`| a | 'b' | yes |`, `| a | b | 'c' | yes |  |`, `| a | 'b' | what | yes |  |`, `| a | 'b' |  | yes |  |`} {
		if row, err := roundtrip(line); err == nil {
			t.Errorf("got %+v from %s, want an error", row, line)
		}
	}
}

func TestPartsOf(t *testing.T) {
	tests := map[string]struct {
		format, text string
		want         map[string]recordings.Property
	}{
		"format":      {`{"size":{"type":"string","description":"prose","optional":1}}`, "", map[string]recordings.Property{"size": {Type: "string", Optional: 1}}},
		"named":       {`"pve-cpuset"`, "<string>", nil},
		"type_text":   {``, "[[cputype=]<string>] [,hidden=<1|0>]", map[string]recordings.Property{"cputype": {Optional: 1}, "hidden": {Type: "boolean", Optional: 1}}},
		"enumeration": {``, "[,cache=<none|writeback>]", map[string]recordings.Property{"cache": {Enum: []string{"none", "writeback"}, Optional: 1}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := partsOf(schemaProperty{Format: json.RawMessage(test.format)}, test.text)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("got error %v, parts (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestWithoutMacroTexts(t *testing.T) {
	got := withoutMacroTexts(`{"data":[{"descr":"Some \"text\"","macro":"SSH"},{"macro":"DNS","descr":""}]}`)
	if want := `{"data":[{"descr":"","macro":"SSH"},{"macro":"DNS","descr":""}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
