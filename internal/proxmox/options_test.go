package proxmox

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestNewReportsEveryProblem(t *testing.T) {
	_, err := New(Options{
		Endpoints:    []string{"pve1:8006", "http://pve1.lan:8006", "https://user@pve1.lan", "https://pve1.lan/api2", "ftp://pve1.lan"},
		TokenFile:    filepath.Join(t.TempDir(), "absent"),
		Fingerprints: []string{"AA:BB"},
		ReadsPerNode: -1,
	})
	if err == nil {
		t.Fatal("got no error, want one for each option")
	}
	for _, want := range []string{
		`proxmox.endpoints: "pve1:8006"`, `proxmox.endpoints: "http://pve1.lan:8006": http would send the token unencrypted`, `proxmox.endpoints: "https://user@pve1.lan"`,
		`proxmox.endpoints: "https://pve1.lan/api2"`, `proxmox.endpoints: "ftp://pve1.lan": scheme "ftp", want https`, "read token file", `fingerprint "AA:BB"`, "limits: ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got error\n%v\nwant it to contain %q", err, want)
		}
	}
}

func TestNewNeedsEndpoint(t *testing.T) {
	if _, err := NewReader(Options{TokenFile: tokenFile(t)}); err == nil || !strings.Contains(err.Error(), "endpoints: none given") {
		t.Errorf("got error %v, want one about endpoints", err)
	}
}

func TestNewRejectsCAFileWithoutCertificate(t *testing.T) {
	_, err := New(Options{Endpoints: []string{"https://pve1.lan"}, TokenFile: tokenFile(t), CAFile: tokenFile(t)})
	if err == nil || !strings.Contains(err.Error(), "no certificate in PEM form") {
		t.Errorf("got error %v, want one about the CA file", err)
	}
}

func TestParseEndpoint(t *testing.T) {
	tests := map[string]string{
		"https://pve1.lan":         "https://pve1.lan:8006",
		"https://pve1.lan/":        "https://pve1.lan:8006",
		"https://192.0.2.10:443":   "https://192.0.2.10:443",
		"https://[2001:db8::1]":    "https://[2001:db8::1]:8006",
		"http://127.0.0.1:8080":    "http://127.0.0.1:8080",
		"http://localhost:8080":    "http://localhost:8080",
		"http://[::1]:8080":        "http://[::1]:8080",
		"https://[2001:db8::1]:80": "https://[2001:db8::1]:80",
	}
	for text, want := range tests {
		got, err := parseEndpoint(text)
		if err != nil || got.String() != want {
			t.Errorf("parseEndpoint(%q): got %v, %v, want %s", text, got, err, want)
		}
	}
}
