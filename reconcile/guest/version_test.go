package guest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var (
	pve84 = Version{8, 4}
	pve90 = Version{9, 0}
	pve91 = Version{9, 1}
)

const (
	no84 = "the node runs Proxmox VE 8.4, but needs 9.1 or newer"
	no90 = "the node runs Proxmox VE 9.0, but needs 9.1 or newer"
)

func TestDiffByVersion(t *testing.T) {
	geometry := keys{"ide0": "local:201/vm-201-disk-0.raw,cyls=16383,heads=16,secs=63,size=8G"}
	option := []Intent{subs("ide0", "ssd=1")}
	tests := map[string]struct {
		on      Version
		live    Observed
		intents []Intent
		want    []string
	}{
		"key_too_new":             {pve84, live(nil), []Intent{text("allow-ksm", "0")}, []string{"allow-ksm none [impossible] " + no84}},
		"key_of_its_release":      {pve91, live(nil), []Intent{text("allow-ksm", "0")}, []string{"allow-ksm set 0 [live]"}},
		"key_between":             {pve90, live(nil), []Intent{text("allow-ksm", "0")}, []string{"allow-ksm none [impossible] " + no90}},
		"nobody_asked":            {Version{}, live(nil), []Intent{text("allow-ksm", "0")}, []string{"allow-ksm set 0 [live]"}},
		"newer_than_the_table":    {Version{10, 2}, live(nil), []Intent{text("allow-ksm", "0")}, []string{"allow-ksm set 0 [live]"}},
		"default_needs_no_key":    {pve84, live(nil), []Intent{text("allow-ksm", "1")}, nil},
		"absent_needs_no_key":     {pve84, live(nil), []Intent{absent("allow-ksm")}, nil},
		"what_is_there_was_taken": {pve84, live(keys{"allow-ksm": "0"}), []Intent{absent("allow-ksm")}, []string{"allow-ksm delete [live]"}},
		"environment":             {pve84, container(live(nil)), []Intent{text("env", "A=1")}, []string{"env none [impossible] " + no84}},
		"entrypoint":              {pve84, container(live(nil)), []Intent{text("entrypoint", "/bin/app")}, []string{"entrypoint none [impossible] " + no84}},
		"sub_key_too_new": {
			pve84, container(live(nil)),
			[]Intent{subs("net0", "bridge=vmbr0", "host-managed=1")},
			[]string{"net0 none [impossible] host-managed: " + no84},
		},
		"sub_key_that_is_there_was_taken": {
			pve84, live(keys{"cpu": "host,level=30"}), []Intent{subs("cpu", "flags=+aes")}, []string{"cpu set host,level=30,flags=+aes [live]"},
		},
		"sub_key_at_its_default": {
			pve84, container(live(nil)), []Intent{subs("net0", "bridge=vmbr0", "host-managed=0")}, []string{"net0 set name=eth0,bridge=vmbr0 [live]"},
		},
		"sub_key_of_its_release": {
			pve91, container(live(nil)), []Intent{subs("net0", "bridge=vmbr0", "host-managed=1")}, []string{"net0 set name=eth0,bridge=vmbr0,host-managed=1 [live]"},
		},
		"fs_freeze_bears_the_name_that_all_take": {
			pve84, live(keys{"agent": "1"}), []Intent{subs("agent", "freeze-fs=0")}, []string{"agent set 1,freeze-fs-on-backup=0 [live]"},
		},
		"fs_freeze_of_9_is_that_of_8": {pve91, live(keys{"agent": "1,freeze-fs=0"}), []Intent{subs("agent", "freeze-fs-on-backup=0")}, nil},
		"geometry_is_an_option_of_8": {
			pve84, live(geometry),
			[]Intent{subs("ide0", "cyls=1024")},
			[]string{"ide0 set local:201/vm-201-disk-0.raw,cyls=1024,heads=16,secs=63,size=8G [live]"},
		},
		"geometry_is_kept_by_8": {
			pve84, live(geometry), option, []string{"ide0 set local:201/vm-201-disk-0.raw,cyls=16383,heads=16,secs=63,size=8G,ssd=1 [live]"},
		},
		"geometry_is_left_for_9_to_drop": {
			pve90, live(geometry), option, []string{"ide0 set local:201/vm-201-disk-0.raw,cyls=16383,heads=16,secs=63,size=8G,ssd=1 [live]"},
		},
		"geometry_left_is_no_drift": {pve90, live(geometry), []Intent{text("ide0", "local:201/vm-201-disk-0.raw")}, nil},
		"geometry_of_8_is_pinned":   {pve84, live(geometry), []Intent{text("ide0", "local:201/vm-201-disk-0.raw")}, []string{"ide0 set local:201/vm-201-disk-0.raw,size=8G [live]"}},
		"geometry_cannot_be_set_on_9": {
			pve90, live(keys{"ide0": "local:201/vm-201-disk-0.raw,size=8G"}),
			[]Intent{subs("ide0", "trans=lba")},
			[]string{"ide0 none [impossible] trans: Proxmox VE 9.0 and newer do not support it"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.live.Version = test.on
			if diff := cmp.Diff(test.want, briefs(Diff(want(test.live, test.intents...), test.live)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCreateParamsByVersion(t *testing.T) {
	d := Desired{
		Ref: Ref{Kind: VirtualMachine, Name: "web-1", VMID: 201}, Source: Source{Blank: true},
		Intents: []Intent{{Key: "allow-ksm", Verb: Want, Text: "0"}, {Key: "cpu", Verb: Want, Sub: map[string]string{"cputype": "host", "level": "30"}}},
	}
	_, err := CreateParamsOn(d, pve84)
	if want := "set allow-ksm: " + no84 + "\nset cpu: level: " + no84; err == nil || err.Error() != want {
		t.Errorf("create on 8.4: got error %v, want %s", err, want)
	}
	for _, on := range []Version{pve91, {}} {
		params, err := CreateParamsOn(d, on)
		if diff := cmp.Diff(keys{"vmid": "201", "name": "web-1", "allow-ksm": "0", "cpu": "host,level=30"}, keys(params)); err != nil || diff != "" {
			t.Errorf("create on %s: got error %v, parameters (-want +got):\n%s", on, err, diff)
		}
	}
}
