package reply

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"gitops-agent/internal/bounds"
	"gitops-agent/internal/recordings"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/guest"
)

func TestDecodePending(t *testing.T) {
	body := `{"data":[
		{"key":"memory","value":"512","pending":"1024"},
		{"value":4,"key":"cores"},
		{"key":"cpulimit","value":1.5},
		{"key":"balloon","pending":0},
		{"key":"serial0","value":"socket","delete":1},
		{"key":"sata0","delete":"2","value":"none"},
		{"key":"onboot","value":true},
		{"key":"kvm","value":false,"delete":0},
		{"key":"description","value":"line\nü \u2713 \ud83d\ude00 \"quoted\""},
		{"key":"boot","value":" "},
		{"key":"key-of-a-later-release","value":"kept"},
		{"key":"gone","value":null},
		{"key":"lxc","value":[["lxc.apparmor.profile","unconfined"]]},
		{"key":"digest","value":"533c280962b1180498b74b48ed6d2d8d9b0eeb52"}
	],"total":12,"more":{"a":[1,2]}}`
	pending := func(text string) *string { return &text }
	want := Config{Digest: "533c280962b1180498b74b48ed6d2d8d9b0eeb52", Keys: map[string]guest.Value{
		"memory":                 {Text: "512", Set: true, Pending: pending("1024")},
		"cores":                  {Text: "4", Set: true},
		"cpulimit":               {Text: "1.5", Set: true},
		"balloon":                {Pending: pending("0")},
		"serial0":                {Text: "socket", Set: true, Delete: true},
		"sata0":                  {Text: "none", Set: true, Delete: true},
		"onboot":                 {Text: "1", Set: true},
		"kvm":                    {Text: "0", Set: true},
		"description":            {Text: "line\nü ✓ 😀 \"quoted\"", Set: true},
		"boot":                   {Text: " ", Set: true},
		"key-of-a-later-release": {Text: "kept", Set: true},
		"gone":                   {},
		"lxc":                    {Text: `[["lxc.apparmor.profile","unconfined"]]`, Set: true},
	}}
	got, err := DecodePending(body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got)\n%s", diff)
	}
}

func TestDecodePendingRejects(t *testing.T) {
	const digest = `{"key":"digest","value":"x"}`
	tests := map[string]struct {
		body string
		want error // nil: any
	}{
		"empty":         {``, nil},
		"null":          {`null`, nil},
		"no_data":       {`{"message":"x"}`, ErrNoData},
		"null_data":     {`{"data":null}`, nil},
		"object_data":   {`{"data":{}}`, nil},
		"no_digest":     {`{"data":[{"key":"cores","value":1}]}`, ErrNoDigest},
		"empty_digest":  {`{"data":[{"key":"digest","value":""}]}`, ErrNoDigest},
		"no_rows":       {`{"data":[]}`, ErrNoDigest},
		"no_key":        {`{"data":[{"value":1},` + digest + `]}`, nil},
		"twice":         {`{"data":[{"key":"cores","value":1},{"key":"cores","value":2},` + digest + `]}`, nil},
		"cut_in_text":   {`{"data":[` + digest + `,{"key":"na`, nil},
		"cut_in_row":    {`{"data":[` + digest + `,{"key":"name","value":"x"`, nil},
		"cut_in_list":   {`{"data":[` + digest, nil},
		"cut_at_end":    {`{"data":[` + digest + `]`, nil},
		"trailing":      {`{"data":[` + digest + `]}x`, nil},
		"comma":         {`{"data":[` + digest + `,]}`, nil},
		"bad_number":    {`{"data":[{"key":"cores","value":01},` + digest + `]}`, nil},
		"bad_word":      {`{"data":[{"key":"cores","value":nul},` + digest + `]}`, nil},
		"raw_newline":   {"{\"data\":[{\"key\":\"name\",\"value\":\"a\nb\"}," + digest + "]}", nil},
		"bad_escape":    {`{"data":[{"key":"name","value":"\x"},` + digest + `]}`, nil},
		"row_no_object": {`{"data":[5,` + digest + `]}`, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := DecodePending(test.body)
			if err == nil || test.want != nil && !errors.Is(err, test.want) || got.Keys != nil {
				t.Errorf("got %v, error %v, want error %v and no keys", got.Keys, err, test.want)
			}
		})
	}
}

// TestDecodePendingMemory decodes the configuration of a guest whose owner fills its notes with what looks like rows.
func TestDecodePendingMemory(t *testing.T) {
	const notes = 8 << 10 // characters that Proxmox allows
	for name, text := range map[string]string{"braces": strings.Repeat("{", notes), "rows": strings.Repeat(`{"key":`, notes/7)} {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		body := `{"data":[{"key":"description","value":` + string(quoted) + `},{"key":"digest","value":"x"}]}`
		got := testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				if _, err := DecodePending(body); err != nil {
					b.Fatal(err)
				}
			}
		}).AllocedBytesPerOp()
		if most := int64(64 << 10); got > most {
			t.Errorf("%s: got %d bytes for a guest with two keys, want at most %d", name, got, most)
		}
	}
}

// TestDecodePendingBounds decodes replies that no guest has.
func TestDecodePendingBounds(t *testing.T) {
	t.Parallel()
	keys := func(n int) string {
		var rows strings.Builder
		for i := range n {
			fmt.Fprintf(&rows, `{"key":"k%d","value":1},`, i)
		}
		return `{"data":[` + rows.String() + `{"key":"digest","value":"x"}]}`
	}
	if got, err := DecodePending(keys(maxKeys)); err != nil || len(got.Keys) != maxKeys {
		t.Errorf("got %d keys, error %v, want %d", len(got.Keys), err, maxKeys)
	}
	for name, body := range map[string]string{"keys": keys(maxKeys + 1), "bytes": `{"data":[{"key":"digest","value":"x"}]}` + strings.Repeat(" ", MaxPending)} {
		if _, err := DecodePending(body); !errors.Is(err, bounds.ErrExceeded) {
			t.Errorf("%s: got error %v, want ErrExceeded", name, err)
		}
	}
}

// referencePending decodes with encoding/json only.
func referencePending(body []byte) (Config, error) {
	var reply map[string]json.RawMessage
	var rows []map[string]json.RawMessage
	if err := json.Unmarshal(body, &reply); err != nil {
		return Config{}, err
	}
	if err := json.Unmarshal(reply["data"], &rows); err != nil {
		return Config{}, err
	}
	config := Config{Keys: map[string]guest.Value{}}
	for _, row := range rows {
		texts := map[string]*string{}
		for field, value := range row {
			if string(value) == "null" {
				continue
			}
			var text Scalar
			if err := json.Unmarshal(value, &text); err != nil {
				return Config{}, err
			}
			texts[field] = (*string)(&text)
		}
		key, value := texts["key"], guest.Value{Pending: texts["pending"]}
		if text := texts["value"]; text != nil {
			value.Text, value.Set = *text, true
		}
		if deleted := texts["delete"]; deleted != nil {
			value.Delete = Scalar(*deleted).Flag()
		}
		_, twice := config.Keys[*orEmpty(key)]
		switch {
		case *orEmpty(key) == "" || twice:
			return Config{}, errors.New("bad key")
		case *key == "digest":
			config.Digest = value.Text
		default:
			config.Keys[*key] = value
		}
	}
	if config.Digest == "" {
		return Config{}, ErrNoDigest
	}
	return config, nil
}

func orEmpty(text *string) *string {
	if text == nil {
		return new(string)
	}
	return text
}

// The property: DecodePending accepts the same replies as encoding/json, and returns the same values. It also requires one field "data", and
// rejects a row with two fields of one name.
func FuzzDecodePending(f *testing.F) {
	for _, seed := range []string{
		recordings.RunningVM,
		`{"data":[{"key":"digest","value":"x"},{"key":"a","value":1e5,"pending":-0.5,"delete":2}]}`,
		`{"data":[{"key":"digest","value":"\ud800\n"},{"key":"\u0061","value":{"b":[null,true]}}]}`,
		"{\"data\":[{\"key\":\"digest\",\"value\":\"\xff\xfe\"}]} ",
		`{"data":[{"key":"digest","value":"x"},{"key":"a","value":00}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := DecodePending(string(body))
		want, wantErr := referencePending(body)
		if hasRepeatedNames(body) {
			return
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("got error %v, want %v", err, wantErr)
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Errorf("configuration (-want +got)\n%s", diff)
		}
	})
}

// hasRepeatedNames reports whether an object of the body has two fields of one name. A map keeps the last one.
func hasRepeatedNames(body []byte) bool {
	repeated := false
	var walk func(d *json.Decoder) error
	walk = func(d *json.Decoder) error {
		token, err := d.Token()
		if err != nil {
			return err
		}
		if token != json.Delim('{') && token != json.Delim('[') {
			return nil
		}
		names := map[string]bool{}
		for d.More() {
			if token == json.Delim('{') {
				name, err := d.Token()
				if err != nil {
					return err
				}
				text, _ := name.(string)
				repeated = repeated || names[text]
				names[text] = true
			}
			if err := walk(d); err != nil {
				return err
			}
		}
		_, err = d.Token()
		return err
	}
	_ = walk(json.NewDecoder(strings.NewReader(string(body)))) // text that is not JSON has no names
	return repeated
}

// DecodePending and encoding/json read the same values from every recorded /pending reply.
func TestDecodePendingOfRecordedReplies(t *testing.T) {
	replies := 0
	for _, e := range recordings.Exchanges(t) {
		if e.Method != http.MethodGet || !strings.HasSuffix(e.URL, "/pending") || e.Status != http.StatusOK {
			continue
		}
		replies++
		got, err := DecodePending(e.Reply)
		want, wantErr := referencePending([]byte(e.Reply))
		if err != nil || wantErr != nil {
			t.Errorf("got errors %v and %v, want none: %s", err, wantErr, e.Reply)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("configuration (-want +got)\n%s", diff)
		}
	}
	if replies < 50 {
		t.Errorf("got %d recorded replies, want at least 50", replies)
	}
}

func BenchmarkDecodePending(b *testing.B) {
	body := []byte(recordings.RunningVM)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodePending(string(body)); err != nil {
			b.Fatal(err)
		}
	}
}
