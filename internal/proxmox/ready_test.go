package proxmox

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"

	"github.com/google/go-cmp/cmp"
)

func TestExists(t *testing.T) {
	const taken = `{"errors":{"vmid":"VM 100 already exists"},"message":"Parameter verification failed.\n","data":null}`
	tests := map[string]struct {
		reply   reply
		want    bool
		wantErr bool
	}{
		"taken":          {respond(400, "Parameter verification failed.", taken), true, false},
		"free":           {ok(`"100"`), false, false},
		"free_as_number": {ok(`100`), false, false},
		"another_id":     {ok(`"101"`), false, true},
		"no_answer":      {ok(`null`), false, true},
		"other_problem":  {respond(400, "Parameter verification failed.", `{"errors":{"vmid":"invalid format"}}`), false, true},
		"other_key":      {respond(400, "Parameter verification failed.", `{"errors":{"node":"already exists"}}`), false, true},
		"gateway":        {respond(596, "Connection timed out", ""), false, true},
		"denied":         {respond(401, "No ticket", ""), false, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client := inProcess(t, byPath(t, map[string]reply{
				"GET /cluster/nextid?vmid=100": test.reply,
			}))
			got, err := client.Exists(t.Context(), 100)
			if got != test.want || (err != nil) != test.wantErr {
				t.Errorf("got %v, error %v, want %v, error: %v", got, err, test.want, test.wantErr)
			}
		})
	}
}

func TestReady(t *testing.T) {
	node := `{"type":"node","name":"pve1","online":1,"id":"node/pve1"}`
	tests := map[string]struct {
		version, status reply
		want            error // nil: ready
	}{
		"single_node":  {ok(`{"version":"9.2.11"}`), ok(`[` + node + `]`), nil},
		"quorate":      {ok(`{"version":"8.4.1"}`), ok(`[{"type":"cluster","name":"lab","quorate":1},` + node + `]`), nil},
		"quorate_text": {ok(`{"version":"9.0.0~beta1"}`), ok(`[` + node + `,{"type":"cluster","name":"lab","quorate":"1"}]`), nil},
		"no_quorum":    {ok(`{"version":"9.2.11"}`), ok(`[{"type":"cluster","name":"lab","quorate":0},` + node + `]`), cluster.ErrNotReady},
		"no_word":      {ok(`{"version":"9.2.11"}`), ok(`[{"type":"cluster","name":"lab"}]`), cluster.ErrNotReady},
		"nobody":       {ok(`{"version":"9.2.11"}`), ok(`[]`), cluster.ErrNotReady},
		"old":          {ok(`{"version":"7.4-17"}`), ok(`[` + node + `]`), cluster.ErrNotReady},
		"daemon_down":  {ok(`{"version":"9.2.11"}`), respond(595, "Connection refused", ""), cluster.ErrNotReady},
		"proxy_down":   {respond(502, "Bad Gateway", ""), ok(`[` + node + `]`), cluster.ErrNotReady},
		"wrong_token":  {respond(401, "Authentication failed!", ""), ok(`[` + node + `]`), cluster.ErrDenied},
		"no_privilege": {ok(`{"version":"9.2.11"}`), respond(403, "Permission check failed (/, Sys.Audit)", ""), cluster.ErrDenied},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client := inProcess(t, byPath(t, map[string]reply{
				"GET /version":        test.version,
				"GET /cluster/status": test.status,
			}))
			if err := client.Ready(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("got error %v, want %v", err, test.want)
			}
		})
	}
}

func TestParseVersion(t *testing.T) {
	tests := map[string]string{
		"9.2.11": "9.2.11", "8.4": "8.4.0", "9": "9.0.0", "9.0.0~beta1": "9.0.0", "7.4-17": "7.4.0", "": "", "nine": "", "1.2.3.4": "", "9..1": "", "-1": "",
	}
	for text, want := range tests {
		got, err := parseVersion(text)
		if (err != nil) != (want == "") || err == nil && got.String() != want {
			t.Errorf("parseVersion(%q): got %v, error %v, want %q", text, got, err, want)
		}
	}
}

func TestPermissions(t *testing.T) {
	client := inProcess(t, byPath(t, map[string]reply{
		"GET /access/permissions": ok(`{"/":{"Sys.Audit":1,"Sys.Modify":0},"/vms":{"VM.Audit":1,"VM.PowerMgmt":"1"},"/vms/100":{"VM.Audit":0}}`),
	}))
	permissions, err := client.Permissions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{
		"/ Sys.Audit":                  true,
		"/ Sys.Modify":                 true,
		"/nodes/pve1 Sys.Audit":        true,
		"/nodes/pve1 Sys.Modify":       false, // does not propagate
		"/vms/101 VM.PowerMgmt":        true,
		"/vms/100 VM.Audit":            true,
		"/vms/100 VM.PowerMgmt":        false, // the narrower rule replaces the wider one
		"/vms/101 VM.Allocate":         false,
		"/vms/101 Sys.Audit":           false,
		"/storage/local Datastore.Use": false,
	}
	for question, want := range tests {
		object, privilege, _ := strings.Cut(question, " ")
		if got := permissions.Allow(object, privilege); got != want {
			t.Errorf("Allow(%s): got %v, want %v", question, got, want)
		}
	}
	if (Permissions{}).Allow("/vms/100", "VM.Audit") {
		t.Error("got true from no permissions, want false")
	}
}

func TestPoolComment(t *testing.T) {
	tests := map[string]struct {
		reply   reply
		want    string
		found   bool
		wantErr bool
	}{
		"there":      {ok(`[{"poolid":"gitops-agent","comment":"main 42","members":[{"id":"qemu/100"}]}]`), "main 42", true, false},
		"no_comment": {ok(`[{"poolid":"gitops-agent"}]`), "", true, false},
		"absent":     {refused("pool 'gitops-agent' does not exist"), "", false, false},
		"other":      {refused("pool 'other' does not exist"), "", false, true},
		"empty":      {ok(`[]`), "", false, true},
		"mixed_up":   {ok(`[{"poolid":"other","comment":"x"}]`), "", false, true},
		"denied":     {respond(403, "Permission check failed (/pool/gitops-agent, Pool.Audit)", ""), "", false, true},
		"gateway":    {respond(599, "", ""), "", false, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client := inProcess(t, byPath(t, map[string]reply{
				"GET /pools?poolid=gitops-agent": test.reply,
			}))
			got, found, err := client.PoolComment(t.Context(), "gitops-agent")
			if got != test.want || found != test.found || (err != nil) != test.wantErr {
				t.Errorf("got %q, %v, error %v, want %q, %v, error: %v", got, found, err, test.want, test.found, test.wantErr)
			}
		})
	}
	if _, _, err := inProcess(t, always(200, "OK", "")).PoolComment(t.Context(), "a&b"); err == nil {
		t.Error("got no error for a bad pool name, want one")
	}
}

func TestSetPoolComment(t *testing.T) {
	exists := false
	server := &recorder{next: func(s seen) reply {
		if s.Method == http.MethodPut && !exists {
			return refused("update pools failed: pool 'gitops-agent' does not exist")
		}
		exists = true
		return ok(`null`)
	}}
	client := inProcess(t, server)
	for _, comment := range []string{"first", "second"} {
		if err := client.SetPoolComment(t.Context(), "gitops-agent", comment); err != nil {
			t.Fatal(err)
		}
	}
	body := func(comment string) string { return `{"comment":"` + comment + `","poolid":"gitops-agent"}` }
	want := []seen{
		{"PUT", "/pools", body("first"), "application/json"},
		{"POST", "/pools", body("first"), "application/json"},
		{"PUT", "/pools", body("second"), "application/json"},
	}
	if diff := cmp.Diff(want, server.got); diff != "" {
		t.Errorf("requests (-want +got)\n%s", diff)
	}
	if err := client.SetPoolComment(t.Context(), "gitops-agent", "a\nb"); err == nil {
		t.Error("got no error for two lines, want one")
	}
	if err := inProcess(t, always(596, "", "")).SetPoolComment(t.Context(), "gitops-agent", "x"); !errors.Is(err, cluster.ErrOutcomeUnknown) {
		t.Errorf("got error %v, want ErrOutcomeUnknown", err)
	}
}

func TestNodes(t *testing.T) {
	client := inProcess(t, byPath(t, map[string]reply{
		"GET /nodes": ok(`[{"node":"pve2","status":"offline"},{"node":"pve1","status":"online","level":""}]`),
	}))
	got, err := client.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Node{{"pve1", true}, {"pve2", false}}, got); diff != "" {
		t.Errorf("nodes (-want +got)\n%s", diff)
	}
	if got, err := inProcess(t, always(200, "OK", `{"data":[{"node":"a/b"}]}`)).Nodes(t.Context()); err == nil {
		t.Errorf("got %v for a bad name, want an error", got)
	}
}
