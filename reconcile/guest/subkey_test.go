package guest

import (
	"errors"
	"slices"
	"testing"
)

func TestSubKeys(t *testing.T) {
	tests := map[string]struct {
		kind     Kind
		key      string
		has, not []string
	}{
		"disk":      {VirtualMachine, "scsi3", []string{"werror", "wwn", "queues", "media"}, []string{"volume", "size", "format", "import-from", "file", "model"}},
		"card":      {VirtualMachine, "net0", []string{"trunks", "model"}, []string{"macaddr", "hwaddr"}},
		"veth":      {Container, "net0", []string{"trunks", "host-managed"}, []string{"hwaddr", "type", "model"}},
		"root":      {Container, "rootfs", []string{"acl", "idmap"}, []string{"mp", "volume"}},
		"scalar":    {VirtualMachine, "cores", nil, []string{"cores"}},
		"unknown":   {VirtualMachine, "of-tomorrow", nil, []string{""}},
		"other_bus": {VirtualMachine, "virtio0", []string{"iothread"}, []string{"wwn", "ssd"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := SubKeys(test.kind, test.key)
			for _, sub := range test.has {
				if !slices.Contains(got, sub) {
					t.Errorf("got %v, want %s among them", got, sub)
				}
			}
			for _, sub := range test.not {
				if slices.Contains(got, sub) {
					t.Errorf("got %v, want %q not among them", got, sub)
				}
			}
		})
	}
}

func TestCheckSubKey(t *testing.T) {
	tests := map[string]struct{ key, sub, text, want string }{
		"word":       {"scsi0", "werror", "stop", ""},
		"other_word": {"scsi0", "werror", "maybe", `got "maybe", want one of enospc, ignore, report, stop`},
		"number":     {"scsi0", "queues", "1", "got 1, want at least 2"},
		"second":     {"scsi0", "vendor", "a,cache=unsafe", `got "a,cache=unsafe", want a value on one line, without commas and without blanks around it`},
		"next_line":  {"scsi0", "vendor", "a\nargs: -x", `got "a\nargs: -x", want a value on one line, without commas and without blanks around it`},
		"blank":      {"scsi0", "vendor", " a", `got " a", want a value on one line, without commas and without blanks around it`},
		"none":       {"scsi0", "vendor", "", `got "", want a value on one line, without commas and without blanks around it`},
		"unknown":    {"scsi0", "werorr", "stop", "unknown key werorr of scsi0"},
		"no_subs":    {"cores", "werror", "stop", "unknown key werror of cores"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := CheckSubKey(VirtualMachine, test.key, test.sub, test.text); err != nil {
				got = err.Error()
				if errors.Is(err, ErrUnknownKey) != (name == "unknown" || name == "no_subs") {
					t.Errorf("got ErrUnknownKey %t", errors.Is(err, ErrUnknownKey))
				}
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestUnsupportedSubKey(t *testing.T) {
	old, newest := Version{8, 4}, Version{}
	for sub, want := range map[string][2]bool{"cyls": {false, true}, "werror": {false, false}, "of-tomorrow": {false, false}} {
		for i, node := range []Version{old, newest} {
			if got := UnsupportedSubKey(VirtualMachine, "scsi0", sub, node) != ""; got != want[i] {
				t.Errorf("%s on %v: got unreleased %t, want %t", sub, node, got, want[i])
			}
		}
	}
	if got := UnsupportedSubKey(Container, "mp0", "keepattrs", old); got == "" {
		t.Error("keepattrs on 8.4: got no reason, want one")
	}
}
