package notify

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"

	"gitops-agent/reconcile/event"
)

// longGroup is a message with several events, each of which has about so many bytes of text.
func longGroup(events, size int) Message {
	m := Message{Cluster: "home", Link: "https://agent.test/", More: 7, queued: time.Now()}
	for i := range events {
		m.Events = append(m.Events, Event{Name: event.StepHeld, Severity: Warning, Guest: fmt.Sprintf("VirtualMachine/web-%03d", i), Attributes: map[string]string{
			"vmid": fmt.Sprint(100 + i), "op": "destroy", "reason": "approval", "digest": fmt.Sprintf("d1ge57-%03d", i), "why": "<@everyone> " + strings.Repeat("Größe 🖥 ", size/12),
		}})
	}
	return m
}

// TestLimitsOfEachService has a row for each service of shoutrrr, and splits groups of any length into messages that it takes: no event is lost or doubled without a
// word, and the command that helps is complete.
func TestLimitsOfEachService(t *testing.T) {
	t.Parallel()
	services := (&router.ServiceRouter{}).ListServices()
	rows := shoutrrrLimits()
	for _, service := range services {
		if _, found := rows[service]; !found {
			t.Errorf("got no row for the service %s", service)
		}
	}
	if len(rows) != len(services) {
		t.Errorf("got %d rows for %d services", len(rows), len(services))
	}
	for service, l := range rows {
		for _, m := range []Message{longGroup(1, 24), longGroup(1, 900), longGroup(1, 20_000), longGroup(9, 120), longGroup(50, 24), longGroup(50, 300), longGroup(50, 1000)} {
			parts := l.split(m, chatText)
			if len(parts) > l.parts {
				t.Errorf("%s: got %d messages, want at most %d", service, len(parts), l.parts)
			}
			shown := 0
			for i, part := range parts {
				text := chatText(part)
				if l.size > 0 && l.count(text) > l.size {
					t.Errorf("%s: got a message of %d, want at most %d", service, l.count(text), l.size)
				}
				for _, e := range part.Events {
					if e.Guest != m.Events[shown].Guest || !strings.Contains(text, "gitops-agent approve "+e.Attributes["digest"]) {
						t.Errorf("%s: got %s in message %d, want %s with its command", service, e.Guest, i, m.Events[shown].Guest)
					}
					shown++
				}
				isLast := i == len(parts)-1
				if strings.Contains(text, m.Link) != isLast || strings.Contains(text, "more, which are in the log") != isLast {
					t.Errorf("%s: got %q, want the link and the count in the last message alone", service, text)
				}
				if strings.Contains(text, "(part ") != (len(parts) > 1) {
					t.Errorf("%s: got %q as %d of %d messages, want it to say so", service, text, i+1, len(parts))
				}
			}
			if more := parts[len(parts)-1].More; shown+more != len(m.Events)+m.More {
				t.Errorf("%s: got %d events and %d more, want %d", service, shown, more, len(m.Events)+m.More)
			}
		}
	}
}

// TestNtfyIsShortened ends a long group with the count of what is missing.
func TestNtfyIsShortened(t *testing.T) {
	t.Parallel()
	server, got := receiver(t, http.StatusOK)
	r := NewReceiver(Receiver{Name: "a", Kind: Ntfy, URL: text(server.URL + "/topic")})
	parts := r.split(longGroup(50, 300))
	if len(parts) != 1 {
		t.Fatalf("got %d messages, want one", len(parts))
	}
	if err := r.Send(t.Context(), parts[0]); err != nil {
		t.Fatal(err)
	}
	body := (<-got).body
	if len(body) > 4096 || !strings.Contains(body, fmt.Sprintf("\nand %d more, which are in the log of the agent.\nhttps://agent.test/", parts[0].More)) || parts[0].More < 40 {
		t.Errorf("got %d bytes, %q, want at most 4096 and the count of the others", len(body), body)
	}
}

// wire is an http.RoundTripper that notes requests and answers them.
type wire struct {
	mu     sync.Mutex
	bodies []string
	answer func() (int, string, error)
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	body := ""
	if request.Body != nil {
		all, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		body = string(all)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bodies = append(w.bodies, body)
	status, text, err := w.answer()
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: request}, nil
}

// onWire lets the services answer that have an address of their own. The test must not be parallel.
func onWire(t *testing.T, answer func() (int, string, error)) *wire {
	t.Helper()
	w, before := &wire{answer: answer}, http.DefaultTransport
	http.DefaultTransport = w
	t.Cleanup(func() { http.DefaultTransport = before })
	return w
}

// TestLongGroupsArriveOnce sends a long group to Discord and Telegram: each event arrives once.
func TestLongGroupsArriveOnce(t *testing.T) { //nolint:paralleltest // it replaces the transport of the process
	for address, answer := range map[string]string{
		"discord://token@12345":                                                              "",
		"discord://token@12345?splitlines=yes":                                               "",
		"telegram://12345:mock-token@telegram/?chats=1":                                      `{"ok":true,"result":{}}`,
		"telegram://12345:mock-token@telegram/?chats=1&title=" + strings.Repeat("long+", 40): `{"ok":true,"result":{}}`,
	} {
		w := onWire(t, func() (int, string, error) { return http.StatusOK, answer, nil })
		r := NewReceiver(Receiver{Name: "a", Kind: Shoutrrr, URL: text(address)})
		m := longGroup(40, 120)
		for _, part := range r.split(m) {
			if err := r.Send(t.Context(), part); err != nil {
				t.Errorf("%s: got %v", address, err)
			}
		}
		all := strings.Join(w.bodies, "\n")
		for _, e := range m.Events {
			if n := strings.Count(all, "approve "+e.Attributes["digest"]); n > 1 || n == 0 && !strings.Contains(all, " more, which are in the log") {
				t.Errorf("%s: got %s %d times in %d requests, want it once", address, e.Guest, n, len(w.bodies))
			}
		}
		if shown := strings.Count(all, "approve d1ge57"); shown < 20 || len(w.bodies) < 2 {
			t.Errorf("%s: got %d events in %d requests, want most of 40", address, shown, len(w.bodies))
		}
	}
}

// serviceURLs are addresses of all services of shoutrrr. HOST is the address of a server on this machine, for services that choose their own connections.
func serviceURLs() map[string]string {
	return map[string]string{
		"bark": "bark://:devicekey@HOST/?scheme=http", "discord": "discord://token@12345", "generic": "generic://HOST/hook?disabletls=yes", "gotify": "gotify://HOST/Aaa.bbb.ccc.ddd?disabletls=yes",
		"googlechat": "googlechat://chat.googleapis.com/v1/spaces/FOO/messages?key=bar&token=baz", "hangouts": "hangouts://chat.googleapis.com/v1/spaces/FOO/messages?key=bar&token=baz",
		"ifttt": "ifttt://dummyID/?events=event1", "join": "join://Token:apikey@join?devices=dev1", "lark": "lark://open.larksuite.com/token",
		"matrix": "matrix://user:pass@HOST?rooms=room1&disableTLS=yes", "mattermost": "mattermost://HOST/thisshouldbeanapitoken?disabletls=yes", "notifiarr": "notifiarr://apikey123?channel=123456789",
		"ntfy": "ntfy://HOST/topic?scheme=http", "opsgenie": "opsgenie://api.opsgenie.com/key", "pagerduty": "pagerduty://events.pagerduty.com/eb243592faa24ba2a5511afdf565c889",
		"pushbullet": "pushbullet://tokentokentokentokentokentokentoke", "pushover": "pushover://:apptoken@usertoken", "rocketchat": "rocketchat://HOST/tokenA/tokenB/@user?disabletls=yes",
		"signal": "signal://HOST/+1234567890/+1234567891?disabletls=yes", "slack": "slack://hook:T00000000-B00000000-XXXXXXXXXXXXXXXXXXXXXXXX@webhook",
		"smtp":     "smtp://HOST/?useStartTLS=no&auth=none&encryption=None&fromAddress=a@example.com&toAddresses=b@example.com&timeout=2s",
		"teams":    "teams://11111111-4444-4444-8444-cccccccccccc@22222222-4444-4444-8444-cccccccccccc/33333301222222222233333333333344/44444444-4444-4444-8444-cccccccccccc/V2ESyij_gAljSoUQHvZoZYzlpAoAXExyOl26dlf1xHEx05?host=test.webhook.office.com",
		"telegram": "telegram://12345:mock-token@telegram/?chats=1", "wecom": "wecom://693axxx6-7aoc-4bc4-97a0-0ec2sifa5aaa",
		"zulip": "zulip://bot-name%40zulipchat.com:correcthorsebatterystable@example.zulipchat.com?stream=foo&topic=bar",
	}
}

// TestPanicOfAClient: a client that panics is an error that may pass.
func TestPanicOfAClient(t *testing.T) {
	t.Parallel()
	err := guarded(func() error { panic("a fault of the client") })
	var permanent *permanentError
	if err == nil || errors.As(err, &permanent) {
		t.Errorf("got %v, want an error that may pass", err)
	}
}

// TestFailedSendsOfAllServices sends to each service while it refuses, shows a page of a proxy, or has no connection: each is an error, and another attempt follows.
func TestFailedSendsOfAllServices(t *testing.T) { //nolint:paralleltest // it replaces the transport of the process
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	t.Cleanup(refuses.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	addresses := serviceURLs()
	for name, c := range map[string]struct {
		host   string
		answer func() (int, string, error)
	}{
		"refused":       {refuses.Listener.Addr().String(), func() (int, string, error) { return http.StatusBadRequest, `{"ok":false,"description":"no"}`, nil }},
		"empty":         {refuses.Listener.Addr().String(), func() (int, string, error) { return http.StatusForbidden, ``, nil }},
		"page":          {refuses.Listener.Addr().String(), func() (int, string, error) { return http.StatusForbidden, `<html>no</html>`, nil }},
		"no_connection": {closed.Listener.Addr().String(), func() (int, string, error) { return 0, "", errors.New("no route to host") }},
	} {
		onWire(t, c.answer)
		for _, service := range (&router.ServiceRouter{}).ListServices() {
			address, found := addresses[service]
			if service == "logger" || service == "zulip" && name == "no_connection" { // the first sends no request; for the second see TestPanicOfAClient
				continue
			}
			host := c.host
			if service == "smtp" { // it would wait for the greeting of a mail server
				host = closed.Listener.Addr().String()
			}
			if !found {
				t.Errorf("got no address of the service %s", service)
				continue
			}
			err := NewReceiver(Receiver{Name: "a", Kind: Shoutrrr, URL: text(strings.ReplaceAll(address, "HOST", host))}).Send(t.Context(), sample())
			var permanent *permanentError
			if err == nil || errors.As(err, &permanent) {
				t.Errorf("%s: %s: got %v, want an error that may pass", name, service, err)
			}
		}
	}
}

// TestErrorsWithoutARequestArePermanent are addresses that pass the check of a config and that a service refuses before it sends anything.
func TestErrorsWithoutARequestArePermanent(t *testing.T) { //nolint:paralleltest // it replaces the transport of the process
	w := onWire(t, func() (int, string, error) { return http.StatusOK, "", nil })
	for _, address := range []string{
		"discord://to%2Fken@12345", "zulip://bot%40example.org:key@local_host?stream=foo", "zulip://bot%40example.org:key@zulip.example.org?stream=foo&topic=" + strings.Repeat("x", 61),
		"lark://lark.example.org/token", "gotify://gotify.example.org/short",
	} {
		r := NewReceiver(Receiver{Name: "a", Kind: Shoutrrr, URL: text(address)})
		var permanent *permanentError
		if err := r.Send(t.Context(), sample()); !errors.As(err, &permanent) {
			t.Errorf("%s: got %v, want a permanent error", address, err)
		}
	}
	if len(w.bodies) > 0 {
		t.Errorf("got requests %q, want none", w.bodies)
	}
}

// TestURLThatBecameAnotherServiceIsSplit sends a message that was queued for a service that takes more.
func TestURLThatBecameAnotherServiceIsSplit(t *testing.T) { //nolint:paralleltest // it replaces the transport of the process
	w := onWire(t, func() (int, string, error) { return http.StatusOK, `{"ok":true,"result":{}}`, nil })
	address := "generic://example.org/hook"
	r := NewReceiver(Receiver{Name: "a", Kind: Shoutrrr, URL: func() (string, error) { return address, nil }})
	parts := r.split(longGroup(50, 300))
	address = "telegram://12345:mock-token@telegram/?chats=1"
	if err := r.Send(t.Context(), parts[0]); len(parts) != 1 || err != nil || len(w.bodies) < 2 {
		t.Errorf("got %d messages, error %v and %d requests, want one message in several requests", len(parts), err, len(w.bodies))
	}
	if slices.ContainsFunc(w.bodies, func(body string) bool { return len(body) > 2*4096 }) {
		t.Errorf("got a long request of %d", len(w.bodies))
	}
}

// TestNextMessageIsSentAtOnce sends many messages, each immediately after the one before.
func TestNextMessageIsSentAtOnce(t *testing.T) { //nolint:paralleltest // it replaces the transport of the process
	onWire(t, func() (int, string, error) { return http.StatusOK, "", nil })
	r := NewReceiver(Receiver{Name: "a", Kind: Shoutrrr, URL: text("discord://token@12345")})
	for i := range 300 {
		if err := r.Send(t.Context(), sample()); err != nil {
			t.Fatalf("message %d: got %v, want it sent", i, err)
		}
	}
}
