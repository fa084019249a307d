package image

import "testing"

func TestVolumeNamesTheChecksum(t *testing.T) {
	d := Desired{Name: "debian-13", Storage: "local", Content: Import, Format: "qcow2", Checksum: "0123456789abcdef0123"}
	if got, want := d.Volume(), "local:import/debian-13-0123456789ab.qcow2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNeverDownloads(t *testing.T) {
	for _, content := range []Content{ISO, Template, Import} {
		if why := (Desired{Content: content}).NeverDownloads(); why != "" {
			t.Errorf("got %q for an uncompressed %s, want none", why, content)
		}
		if why := (Desired{Content: content, Decompression: "gz"}).NeverDownloads(); (why == "") != (content == ISO) {
			t.Errorf("got %q for a compressed %s, want a reason for all but iso", why, content)
		}
	}
}

func TestFormatOf(t *testing.T) {
	tests := []struct {
		path          string
		content       Content
		decompression string
		want          string
	}{
		{"/cloud/debian-13.qcow2", Import, "", "qcow2"},
		{"/cloud/noble-server-cloudimg-amd64.img", Import, "", ""},
		{"/iso/netinst.ISO", ISO, "", "iso"},
		{"/haos.qcow2.gz", Import, "gz", "qcow2"},
		{"/haos.qcow2.xz", Import, "", ""},
		{"/debian-12-standard.tar.zst", Template, "", "tar.zst"},
		{"/nginx-1.29.tar", Template, "", "tar"},
		{"", ISO, "", ""},
	}
	for _, test := range tests {
		if got := FormatOf(test.path, test.content, test.decompression); got != test.want {
			t.Errorf("%s as %s: got %q, want %q", test.path, test.content, got, test.want)
		}
	}
}

func TestIsOn(t *testing.T) {
	local, shared := Desired{Nodes: []string{"pve1"}}, Desired{}
	if !local.IsOn("pve1") || local.IsOn("pve2") || !shared.IsOn("pve2") {
		t.Error("got the file of a local storage on another node, or that of a shared storage missing on one")
	}
}
