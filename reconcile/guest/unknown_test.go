package guest

import (
	"testing"

	"pgregory.net/rapid"
)

// TestUnknownKeysSurvive: keys that the table does not contain stay unchanged when other keys are written.
func TestUnknownKeysSurvive(t *testing.T) {
	const card = "virtio=BC:24:11:AA:00:01,bridge=vmbr0,future=1;2"
	unknown := keys{"future-key": "b,a=1", "net99": "virtio", "lxc.cap.drop": "sys_admin", "net0": card}
	runDiff(t, map[string]diffTest{
		"key_not_mentioned":      {live(unknown), []Intent{text("cores", "2")}, []string{"cores set 2 [live]"}},
		"key_wanted_as_it_is":    {live(unknown), []Intent{text("future-key", "b,a=1")}, nil},
		"key_is_text":            {live(unknown), []Intent{text("future-key", "a=1,b")}, []string{"future-key set a=1,b [live]"}},
		"key_needs_a_restart":    {running(unknown), []Intent{text("future-key", "x")}, []string{"future-key set x [restart] restart needed"}},
		"key_is_taken_away":      {live(unknown), []Intent{absent("future-key")}, []string{"future-key delete [live]"}},
		"sub_keys_of_a_key":      {live(unknown), []Intent{subs("future-key", "a=2")}, []string{"future-key set b,a=2 [live]"}},
		"slot_beyond_the_family": {live(unknown), []Intent{subs("net0", "bridge=vmbr0")}, nil},
		"sub_key_not_mentioned": {
			live(unknown), []Intent{subs("net0", "bridge=vmbr1")}, []string{"net0 set virtio=BC:24:11:AA:00:01,bridge=vmbr1,future=1;2 [live]"},
		},
		"sub_key_wanted_as_it_is": {live(unknown), []Intent{text("net0", card)}, nil},
		"sub_key_is_text":         {live(unknown), []Intent{subs("net0", "future=2;1")}, []string{"net0 set virtio=BC:24:11:AA:00:01,bridge=vmbr0,future=2;1 [live]"}},
	})
	for key, text := range unknown {
		if got, known := Canonical(VirtualMachine, key, text); got != text || known != (key == "net0") {
			t.Errorf("canonical of %s: got %q, known %t, want %q as it is", key, got, known, text)
		}
	}
}

// TestUnknownSubKeysAreWrittenBack: a write of one sub-key keeps every unknown sub-key of the value.
func TestUnknownSubKeysAreWrittenBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[a-zA-Z0-9;:./+-]{1,12}`).Draw(t, "value")
		for key, base := range map[string]string{
			"net0": liveCard, "scsi0": "local:201/vm-201-disk-0.raw,size=1G", "agent": "1", "cpu": "host", "smbios1": "manufacturer=Foo", "startup": "order=1",
		} {
			o := live(keys{key: base + ",x-future=" + value})
			wish := map[string]string{"net0": "tag=7", "scsi0": "ssd=1", "agent": "type=isa", "cpu": "flags=+aes", "smbios1": "product=Bar", "startup": "up=3"}[key]
			changes := Diff(want(o, subs(key, wish)), o)
			if len(changes) != 1 || subKeysOf(key, changes[0].Value).text("x-future") != value {
				t.Errorf("%s with x-future=%s: got %v, want one change that keeps it", key, value, briefs(changes))
			}
		}
	})
}

// subKeysOf returns the sub-keys of a virtual machine's value.
func subKeysOf(key, text string) properties {
	r, _ := find(VirtualMachine, key)
	return r.syntax.parse(nil, text)
}
