package proxmox

import (
	"testing"
)

func TestExists(t *testing.T) {
	const taken = `{"errors":{"vmid":"VM 100 already exists"},"message":"Parameter verification failed.\n","data":null}`
	tests := map[string]struct {
		reply   stubReply
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
			client := inProcess(t, byPath(t, map[string]stubReply{
				"GET /cluster/nextid?vmid=100": test.reply,
			}))
			got, err := client.Exists(t.Context(), 100)
			if got != test.want || (err != nil) != test.wantErr {
				t.Errorf("got %v, error %v, want %v, error: %v", got, err, test.want, test.wantErr)
			}
		})
	}
}
