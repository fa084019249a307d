package proxmox

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/internal/recordings"
)

func TestAPIErrorText(t *testing.T) {
	tests := map[string]struct {
		reply stubReply
		want  string
	}{
		"message_wins": {
			respond(500, "first line", `{"message":"first line\nsecond line\n","data":null}`),
			"GET /nodes/pve1/qemu/100/pending: 500 first line second line",
		},
		"reason_alone": {respond(596, "Connection timed out", ""), "GET /nodes/pve1/qemu/100/pending: 596 Connection timed out"},
		"no_reason":    {respond(599, "", ""), "GET /nodes/pve1/qemu/100/pending: 599"},
		"parameters_sorted": {
			respond(400, "Parameter verification failed.", `{"errors":{"net0":"b\n","memory":"a"},"message":"Parameter verification failed.\n"}`),
			"GET /nodes/pve1/qemu/100/pending: 400 Parameter verification failed. (memory: a; net0: b)",
		},
		"odd_types": {
			respond(500, "Odd", `{"errors":{"memory":5,"net0":["x"]},"message":null}`),
			`GET /nodes/pve1/qemu/100/pending: 500 Odd (memory: 5; net0: ["x"])`,
		},
		"control_characters": {respond(500, "a\x1b[31mb", ""), "GET /nodes/pve1/qemu/100/pending: 500 a [31mb"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := inProcess(t, always(test.reply.status, test.reply.reason, test.reply.body)).Observe(t.Context(), vmRow)
			var api *wire.APIError
			if !errors.As(err, &api) || api.Error() != test.want {
				t.Errorf("got %v, want %s", api, test.want)
			}
		})
	}
}

// A *wire.APIError has the status, reason, message and parameters of every recorded failure.
func TestAPIErrorKeepsRecordedFailures(t *testing.T) {
	failures := 0
	for _, e := range recordings.Exchanges(t) {
		if e.Status == http.StatusOK || e.Status == 0 {
			continue
		}
		failures++
		_, err := inProcess(t, always(e.Status, e.Reason, e.Reply)).Version(t.Context())
		var api *wire.APIError
		if !errors.As(err, &api) {
			t.Errorf("%s %s: got error %v, want an *APIError", e.Method, e.URL, err)
			continue
		}
		var body struct {
			Message string
			Errors  map[string]string
		}
		_ = json.Unmarshal([]byte(e.Reply), &body) // some bodies are empty or text
		if api.Status != e.Status || api.Reason != strings.TrimSpace(e.Reason) || api.Message != strings.TrimSpace(body.Message) {
			t.Errorf("got %d %q %q, want %d %q %q", api.Status, api.Reason, api.Message, e.Status, e.Reason, body.Message)
		}
		for key, problem := range body.Errors {
			if api.Errors[key] != strings.TrimSpace(problem) {
				t.Errorf("got %q for parameter %s, want %q", api.Errors[key], key, problem)
			}
		}
	}
	if failures < 100 {
		t.Errorf("got %d recorded failures, want at least 100", failures)
	}
}
