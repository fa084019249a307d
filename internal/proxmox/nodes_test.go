package proxmox

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNodes(t *testing.T) {
	client := inProcess(t, byPath(t, map[string]stubReply{
		"GET /nodes": ok(`[{"node":"pve2","status":"offline"},{"node":"pve1","status":"online","level":""}]`),
	}))
	got, err := client.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Node{{Name: "pve1", Online: true}, {Name: "pve2", Online: false}}, got); diff != "" {
		t.Errorf("nodes (-want +got)\n%s", diff)
	}
	if got, err := inProcess(t, always(200, "OK", `{"data":[{"node":"a/b"}]}`)).Nodes(t.Context()); err == nil {
		t.Errorf("got %v for a bad name, want an error", got)
	}
}

func TestUptime(t *testing.T) {
	client := inProcess(t, byPath(t, map[string]stubReply{"GET /nodes/pve1/status": ok(`{"uptime":2365,"cpu":0}`)}))
	if got, err := client.Uptime(t.Context(), "pve1"); err != nil || got != 2365*time.Second {
		t.Errorf("got %s, %v, want 39m25s", got, err)
	}
	for name, body := range map[string]string{"none": `{}`, "negative": `{"uptime":-1}`, "text": `{"uptime":"long"}`, "overflow": `{"uptime":10000000000000}`} {
		if got, err := inProcess(t, always(200, "OK", `{"data":`+body+`}`)).Uptime(t.Context(), "pve1"); err == nil {
			t.Errorf("%s: got %s, want an error", name, got)
		}
	}
	if got, err := client.Uptime(t.Context(), "a/b"); err == nil {
		t.Errorf("got %s of a bad name, want an error", got)
	}
}
