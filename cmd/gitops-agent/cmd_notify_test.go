package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNotifyTest(t *testing.T) {
	t.Parallel()
	got := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.URL.Path
		if r.URL.Path == "/S3cret" {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(server.Close)
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config := write("config.yaml", `
cluster: {name: home}
source: {remotes: [{url: file:///srv/git/homelab.git}]}
trust:
  trusted_root_file: root.json
  signers: [{name: alice, issuer: https://accounts.test, subject: alice@example.org, may: [change]}]
  binding: none
  trust_on_first_use: true
proxmox: {endpoints: ["https://pve1:8006"], token_file: token}
notifications:
  receivers:
    - {name: chat, type: ntfy, url: "`+server.URL+`/topic"}
    - {name: program, type: webhook, url_file: `+write("url", server.URL+"/S3cret")+`}
`)
	for _, test := range []struct {
		args   []string
		status int
		out    string
		paths  int
	}{
		{[]string{"chat"}, 0, "chat: sent\n", 1},
		{nil, 1, "chat: sent\nprogram: the receiver answered with status 403\n", 2},
		{[]string{"pager"}, 2, "", 0},
	} {
		var out, problems bytes.Buffer
		status := (&program{out: &out, err: &problems}).run(t.Context(), append([]string{"--config", config, "notify", "test"}, test.args...))
		if status != test.status || out.String() != test.out || len(got) != test.paths {
			t.Errorf("%v: got status %d, %q, %q and %d requests, want %d, %q and %d", test.args, status, out.String(), problems.String(), len(got), test.status, test.out, test.paths)
		}
		if strings.Contains(out.String()+problems.String(), "S3cret") {
			t.Errorf("%v: got a secret in %q", test.args, out.String()+problems.String())
		}
		for range test.paths {
			<-got
		}
	}
}
