package proxmox

import (
	"errors"
	"testing"

	"gitops-agent/reconcile/cluster"
)

func TestReady(t *testing.T) {
	node := `{"type":"node","name":"pve1","online":1,"id":"node/pve1"}`
	tests := map[string]struct {
		version, status stubReply
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
			client := inProcess(t, byPath(t, map[string]stubReply{
				"GET /version":        test.version,
				"GET /cluster/status": test.status,
			}))
			if err := client.Ready(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("got error %v, want %v", err, test.want)
			}
		})
	}
}
