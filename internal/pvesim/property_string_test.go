package pvesim

import (
	"strings"
	"testing"
)

func TestPropertyStrings(t *testing.T) {
	tests := map[string]struct {
		format propertyString
		name   string
		in     string
		want   string // the formatted value
		err    string // or part of the error
	}{
		"drive_sorts":        {scsiFormat, "scsi0", "local:1,ssd=1,discard=on", "local:1,discard=on,ssd=1", ""},
		"drive_alias":        {scsiFormat, "scsi0", "ssd=yes,volume=local:1", "local:1,ssd=1", ""},
		"drive_unknown_key":  {virtioFormat, "virtio1", "local:1,ssd=1", "", "virtio1.ssd: " + unknownProperty},
		"drive_missing_file": {scsiFormat, "scsi0", "ssd=1", "", "scsi0.file: property is missing and it is not optional"},
		"mount_needs_path":   {mountFormat, "mp0", "local:1", "", "mp0.mp: property is missing"},
		"mount_path_first":   {mountFormat, "mp0", "backup=1,mp=/x,volume=local:1", "local:1,mp=/x,backup=1", ""},
		"boolean_words":      {agentFormat, "agent", "on,fstrim_cloned_disks=false", "1,fstrim_cloned_disks=0", ""},
		"bad_boolean":        {agentFormat, "agent", "2", "", "agent.enabled: type check ('boolean') failed - got '2'"},
		"net_long_form":      {qemuNetFormat, "net0", "model=virtio,macaddr=BC:24:11:00:00:02,bridge=vmbr0", "virtio,bridge=vmbr0,macaddr=BC:24:11:00:00:02", ""},
		"net_multicast_mac":  {qemuNetFormat, "net0", "virtio=01:00:00:00:00:01", "", "unicast MAC address"},
		"net_low_tag":        {qemuNetFormat, "net0", "virtio,tag=0", "", "net0.tag: value must have a minimum value of 1"},
		"duplicate":          {agentFormat, "agent", "1,enabled=0", "", "duplicate key"},
		"empty_value":        {agentFormat, "agent", "enabled=", "", "missing key in comma-separated list property"},
		"no_default_key":     {customFormat, "cicustom", "x", "", "does not define a default key"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v, err := tt.format.parse(tt.name, tt.in)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("refusal: got %v, want it to contain %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatalf("parse: got %v, want no error", err)
			}
			if got := tt.format.format(v); got != tt.want {
				t.Errorf("printed: got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSizes(t *testing.T) {
	for in, want := range map[string]string{
		"32G": "32G", "4.5G": "4608M", "1024M": "1G", "5120001K": "5120001K", "17825792": "17M", "1T": "1T", "1000": "1000",
	} {
		n, ok := parseSize(in)
		if got := formatSize(n); !ok || got != want {
			t.Errorf("size %s: got %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{"", "G", "-1G", "1X", "1.G"} {
		if n, ok := parseSize(in); ok {
			t.Errorf("size %q: got %d, want it rejected", in, n)
		}
	}
}
