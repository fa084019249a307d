package status_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/status"
)

func textLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

func get(target string) *http.Request { return httptest.NewRequest(http.MethodGet, target, nil) }

// post makes a webhook with an Authorization header.
func post(authorization string, body io.Reader) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/webhook", body)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return r
}

// webhookHandler returns a handler with a webhook, and counts the requested polls.
func webhookHandler(token func() (string, error), hints *int, log io.Writer) http.Handler {
	opts := optionsFor(steady())
	opts.Hint, opts.Logger = func() { *hints++ }, textLogger(log)
	opts.Webhooks = []status.Webhook{{Forge: status.WebhookBearer, Secret: token}}
	return status.Handler(opts)
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	const secret = "correct horse"
	known := func() (string, error) { return secret, nil }
	tests := map[string]struct {
		token  func() (string, error)
		header string
		code   int
		hints  int
	}{
		"right":             {known, "Bearer " + secret, 202, 1},
		"scheme_in_lower":   {known, "bearer " + secret, 202, 1},
		"none":              {known, "", 401, 0},
		"empty":             {known, "Bearer ", 401, 0},
		"wrong":             {known, "Bearer battery staple", 401, 0},
		"prefix":            {known, "Bearer correct", 401, 0},
		"longer":            {known, "Bearer " + secret + "x", 401, 0},
		"other_scheme":      {known, "Basic " + secret, 401, 0},
		"without_scheme":    {known, secret, 401, 0},
		"empty_secret":      {func() (string, error) { return "", nil }, "Bearer ", 503, 0},
		"nothing_for_empty": {func() (string, error) { return "", nil }, "", 503, 0},
		"unreadable":        {func() (string, error) { return "", errors.New("permission denied") }, "Bearer ", 503, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hints := 0
			var log bytes.Buffer
			res, body := send(t, webhookHandler(test.token, &hints, &log), post(test.header, strings.NewReader(`{"ref":"refs/heads/main"}`)))
			if res.Code != test.code || hints != test.hints {
				t.Errorf("got status %d and %d hints, want %d and %d", res.Code, hints, test.code, test.hints)
			}
			if test.code == http.StatusUnauthorized && res.Header().Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("got WWW-Authenticate %q, want Bearer", res.Header().Get("WWW-Authenticate"))
			}
			for place, text := range map[string]string{"reply": body, "log": log.String()} {
				if strings.Contains(text, secret) {
					t.Errorf("got the token in the %s: %q", place, text)
				}
			}
			if refused := test.code == 401 || test.code == 503; refused != strings.Contains(log.String(), "level=WARN") {
				t.Errorf("got log %q for status %d", log.String(), test.code)
			}
		})
	}
}

func TestWebhookTokenIsReadEachTime(t *testing.T) {
	t.Parallel()
	hints, token := 0, "old"
	handler := webhookHandler(func() (string, error) { return token, nil }, &hints, io.Discard)
	token = "new"
	for header, want := range map[string]int{"Bearer old": 401, "Bearer new": 202} {
		if res, _ := send(t, handler, post(header, nil)); res.Code != want {
			t.Errorf("%s: got status %d, want %d", header, res.Code, want)
		}
	}
}

// endless is a body without end. It counts the bytes that were read.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

func TestWebhookReadsABoundedBody(t *testing.T) {
	t.Parallel()
	hints := 0
	handler := webhookHandler(func() (string, error) { return "secret", nil }, &hints, io.Discard)
	body := &endless{}
	if res, _ := send(t, handler, post("Bearer secret", body)); res.Code != http.StatusAccepted || hints != 1 {
		t.Errorf("got status %d and %d hints, want 202 and 1", res.Code, hints)
	}
	if body.read > 2<<20 {
		t.Errorf("got %d bytes read, want about 1 MiB", body.read)
	}
	unread := &endless{}
	if send(t, handler, post("Bearer wrong", unread)); unread.read != 0 {
		t.Errorf("got %d bytes read from an unauthorized request, want 0", unread.read)
	}
}

func TestWebhookRate(t *testing.T) {
	t.Parallel()
	atNoon(t, func(t *testing.T) {
		hints := 0
		var log bytes.Buffer
		handler := webhookHandler(func() (string, error) { return "secret", nil }, &hints, &log)
		codes := func(n int, header string) map[int]int {
			got := map[int]int{}
			for range n {
				res, _ := send(t, handler, post(header, nil))
				got[res.Code]++
			}
			return got
		}
		if got := codes(100, "Bearer wrong"); got[401] != 100 {
			t.Errorf("got %v for wrong tokens, want 100 times 401", got)
		}
		if lines := strings.Count(log.String(), "webhook refused"); lines != 3 {
			t.Errorf("got %d lines in the log, want the log to stop after 3", lines)
		}
		if got := codes(15, "Bearer secret"); got[202] != 10 || got[429] != 5 {
			t.Errorf("got %v for a burst, want 10 times 202, because wrong tokens do not count", got)
		}
		time.Sleep(3 * time.Second)
		if got := codes(15, "Bearer secret"); got[202] != 3 || got[429] != 12 {
			t.Errorf("got %v after 3 seconds, want 3 times 202", got)
		}
		time.Sleep(time.Hour)
		if got := codes(15, "Bearer secret"); got[202] != 10 || hints != 23 {
			t.Errorf("got %v and %d hints after an hour, want a burst of 10 and 23 in all", got, hints)
		}
	})
}

func FuzzWebhookToken(f *testing.F) {
	f.Add("secret", "Bearer secret")
	f.Add("", "Bearer ")
	f.Add("a b", "bearer a b")
	f.Fuzz(func(t *testing.T, token, header string) {
		hints := 0
		r := post("", nil)
		r.Header["Authorization"] = []string{header}
		send(t, webhookHandler(func() (string, error) { return token, nil }, &hints, io.Discard), r)
		want := 0
		if len(header) > 7 && strings.EqualFold(header[:7], "bearer ") && header[7:] == token {
			want = 1
		}
		if hints != want {
			t.Errorf("token %q, header %q: got %d hints, want %d", token, header, hints, want)
		}
	})
}
