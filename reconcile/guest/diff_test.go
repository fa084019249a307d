package guest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// live is a stopped virtual machine with these keys; a text that begins with "?" is pending alone, one with " ? " waits to
// become what follows, and one that ends in " !" waits to be deleted.
func live(keys map[string]string) Observed {
	o := Observed{Ref: Ref{Kind: VirtualMachine, Name: "web-1", VMID: 201}, Status: StatusStopped, Keys: map[string]Value{}}
	for key, text := range keys {
		now, next, pending := strings.Cut(text, "?")
		switch {
		case pending:
			next = strings.TrimSpace(next)
			now = strings.TrimSpace(now)
			o.Keys[key] = Value{Text: now, Set: now != "", Pending: &next}
		case strings.HasSuffix(text, "!"):
			o.Keys[key] = Value{Text: strings.TrimSpace(strings.TrimSuffix(text, "!")), Set: true, Delete: true}
		default:
			o.Keys[key] = Value{Text: text, Set: true}
		}
	}
	return o
}

func running(keys map[string]string) Observed {
	o := live(keys)
	o.Status = StatusRunning
	return o
}

func container(o Observed) Observed {
	o.Kind = Container
	return o
}

// want is a manifest of intents for the kind of o.
func want(o Observed, intents ...Intent) Desired {
	for i := range intents {
		if intents[i].Verb == "" {
			intents[i].Verb = Want
		}
	}
	slices.SortFunc(intents, func(a, b Intent) int { return strings.Compare(a.Key, b.Key) })
	return Desired{Ref: o.Ref, Intents: intents}
}

func text(key, value string) Intent { return Intent{Key: key, Text: value} }

// subs is an intent of sub-keys, given as "name=value".
func subs(key string, parts ...string) Intent {
	in := Intent{Key: key, Sub: map[string]string{}}
	for _, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		in.Sub[name] = value
	}
	return in
}

func absent(key string) Intent { return Intent{Key: key, Verb: Absent} }

// brief renders a change as "key write value [class] note", for tables.
func brief(c Change) string {
	parts := []string{c.Key, string(c.Write)}
	if c.Value != "" {
		parts = append(parts, c.Value)
	}
	parts = append(parts, "["+string(c.Class)+"]")
	if c.Waits {
		parts = append(parts, "waits")
	}
	if c.Note != "" {
		parts = append(parts, c.Note)
	}
	return strings.Join(parts, " ")
}

func briefs(changes []Change) []string {
	lines := []string{}
	for _, c := range changes {
		lines = append(lines, brief(c))
	}
	return lines
}

type diffTest struct {
	live    Observed
	intents []Intent
	want    []string
}

func runDiff(t *testing.T, tests map[string]diffTest) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		test := tests[name]
		t.Run(name, func(t *testing.T) {
			got := briefs(Diff(want(test.live, test.intents...), test.live))
			if test.want == nil {
				test.want = []string{}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

type keys = map[string]string

func TestDiffScalar(t *testing.T) {
	runDiff(t, map[string]diffTest{
		"same":                {live(keys{"cores": "2"}), []Intent{text("cores", "2")}, nil},
		"differs":             {live(keys{"cores": "2"}), []Intent{text("cores", "4")}, []string{"cores set 4 [live]"}},
		"missing":             {live(nil), []Intent{text("cores", "4")}, []string{"cores set 4 [live]"}},
		"default_missing":     {live(nil), []Intent{text("cores", "1")}, nil},
		"default_spelled_out": {live(keys{"onboot": "0"}), []Intent{text("onboot", "0")}, nil},
		"boolean_words":       {live(keys{"onboot": "1"}), []Intent{text("onboot", "yes")}, nil},
		"boolean_is_sent_as_number": {
			live(nil), []Intent{text("onboot", "true")}, []string{"onboot set 1 [live]"},
		},
		"number_spelling":     {live(keys{"cpulimit": "1.5"}), []Intent{text("cpulimit", "1.50")}, nil},
		"absent_holds":        {live(nil), []Intent{absent("cpulimit")}, nil},
		"absent_at_default":   {live(keys{"onboot": "0"}), []Intent{absent("onboot")}, nil},
		"absent_deletes":      {live(keys{"onboot": "1"}), []Intent{absent("onboot")}, []string{"onboot delete [live]"}},
		"blank_is_absent":     {live(keys{"ciuser": " "}), []Intent{absent("ciuser")}, nil},
		"blank_is_not_a_name": {live(keys{"ciuser": " "}), []Intent{text("ciuser", "ops")}, []string{"ciuser set ops [live]"}},
		"empty_text_unsets":   {live(keys{"description": "old"}), []Intent{text("description", "\n")}, []string{"description delete [live]"}},
		"unmentioned_is_kept": {live(keys{"cores": "2", "args": "-foo"}), []Intent{text("cores", "2")}, nil},
		"unknown_key":         {running(keys{"future": "1"}), []Intent{text("future", "2")}, []string{"future set 2 [restart] restart needed"}},
		"unknown_key_absent":  {live(keys{"future": "1"}), []Intent{absent("future")}, []string{"future delete [live]"}},
		"unknown_sub_keys":    {live(keys{"future": "a=1,b=2"}), []Intent{subs("future", "b=3")}, []string{"future set a=1,b=3 [live]"}},
		"zero_is_not_absent":  {live(nil), []Intent{text("balloon", "0")}, []string{"balloon set 0 [live]"}},
		"password_is_blind":   {live(keys{"cipassword": "**********"}), []Intent{text("cipassword", "s3cret")}, nil},
		"required_is_reset": {
			container(live(keys{"memory": "1024"})), []Intent{absent("memory")}, []string{"memory set 512 [live]"},
		},
	})
}

func TestDiffPending(t *testing.T) {
	runDiff(t, map[string]diffTest{
		"waits":           {running(keys{"cores": "1 ? 2"}), []Intent{text("cores", "2")}, []string{"cores none [restart] waits restart needed"}},
		"waits_new":       {running(keys{"cpu": "? host"}), []Intent{subs("cpu", "cputype=host")}, []string{"cpu none [restart] waits restart needed"}},
		"waits_delete":    {running(keys{"serial0": "socket !"}), []Intent{absent("serial0")}, []string{"serial0 none [restart] waits restart needed"}},
		"other_pending":   {running(keys{"cores": "1 ? 2"}), []Intent{text("cores", "4")}, []string{"cores set 4 [restart] restart needed"}},
		"foreign_pending": {running(keys{"cores": "1 ? 2"}), []Intent{text("cores", "1")}, []string{"cores set 1 [live] reverts a waiting change"}},
		"pending_delete":  {running(keys{"memory": "1024 !"}), []Intent{text("memory", "1024")}, []string{"memory set 1024 [live] reverts a waiting change"}},
		"delete_to_default": {
			running(keys{"memory": "512 !"}), []Intent{text("memory", "512")}, nil,
		},
		"same_meaning_pending": {running(keys{"agent": "1 ? enabled=1"}), []Intent{subs("agent", "enabled=1")}, nil},
		"pending_not_wanted":   {running(keys{"serial1": "? socket"}), []Intent{absent("serial1")}, []string{"serial1 delete [live] reverts a waiting change"}},
		"drive_option_waits": {
			running(keys{"scsi1": "local:201/vm-201-disk-1.raw,size=1G ? local:201/vm-201-disk-1.raw,discard=on,size=1G"}),
			[]Intent{subs("scsi1", "discard=on", "size=1G")},
			[]string{"scsi1 none [restart] waits restart needed"},
		},
	})
}
