package notify

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/internal/outbound"
	"gitops-agent/reconcile/event"
)

// request is what a receiver got.
type request struct {
	method, path string
	header       http.Header
	body         string
}

// receiver answers with a status and notes requests.
func receiver(t *testing.T, status int) (*httptest.Server, chan request) {
	t.Helper()
	got := make(chan request, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- request{r.Method, r.URL.Path, r.Header, string(body)}
		if status == http.StatusFound {
			http.Redirect(w, r, "/elsewhere", status)
			return
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	return server, got
}

func text(s string) func() (string, error) { return func() (string, error) { return s, nil } }

func sample() Message {
	return Message{Cluster: "home", Link: "https://agent.test/", Events: []Event{{
		Time: time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC), Name: event.StepHeld, Severity: Warning, Guest: "VirtualMachine/web-1", Tags: []string{"production"},
		Attributes: map[string]string{"vmid": "101", "guest": "VirtualMachine/web-1", "op": "destroy", "reason": "approval", "why": "Größe\r\nBcc: x@example.org", "digest": "4f1c"},
	}}}
}

func TestCloudEvent(t *testing.T) {
	t.Parallel()
	server, got := receiver(t, http.StatusAccepted)
	r := NewReceiver(Receiver{Name: "a", Kind: Webhook, URL: text(server.URL + "/events"), Token: text("t0ken")})
	for range 2 {
		if err := r.Send(t.Context(), sample()); err != nil {
			t.Fatal(err)
		}
	}
	first, second := <-got, <-got
	if first.method != http.MethodPost || first.path != "/events" || first.header.Get("Authorization") != "Bearer t0ken" ||
		!strings.HasPrefix(first.header.Get("Content-Type"), "application/cloudevents+json") {
		t.Errorf("got %s %s %v, want a POST with the token", first.method, first.path, first.header)
	}
	var e map[string]any
	if err := json.Unmarshal([]byte(first.body), &e); err != nil {
		t.Fatal(err)
	}
	if first.body != second.body {
		t.Error("got another event in the second attempt, want the same id and content")
	}
	want := map[string]any{
		"specversion": "1.0", "source": "/gitops-agent/home", "type": "gitops-agent.step.held", "subject": "VirtualMachine/web-1", "time": "2026-03-01T12:00:00.000000005Z",
		"datacontenttype": "application/json", "id": e["id"],
		"data": map[string]any{
			"event": "step.held", "severity": "warning", "cluster": "home", "link": "https://agent.test/", "guest": "VirtualMachine/web-1", "tags": []any{"production"},
			"text":       "The step destroy of VirtualMachine/web-1 (101) is held (approval): Größe\r\nBcc: x@example.org. To release it: gitops-agent approve 4f1c",
			"attributes": map[string]any{"vmid": "101", "guest": "VirtualMachine/web-1", "op": "destroy", "reason": "approval", "why": "Größe\r\nBcc: x@example.org", "digest": "4f1c"},
		},
	}
	if diff := cmp.Diff(want, e); diff != "" || len(e["id"].(string)) != 32 {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

func TestNtfy(t *testing.T) {
	t.Parallel()
	server, got := receiver(t, http.StatusOK)
	r := NewReceiver(Receiver{Name: "a", Kind: Ntfy, URL: text(server.URL + "/topic")})
	if err := r.Send(t.Context(), sample()); err != nil {
		t.Fatal(err)
	}
	q := <-got
	if q.path != "/topic" || q.header.Get("Title") != "[home] step.held VirtualMachine/web-1" || q.header.Get("Priority") != "4" || q.header.Get("Click") != "https://agent.test/" {
		t.Errorf("got %s with %v, want title, priority and link", q.path, q.header)
	}
	if q.header.Get("Authorization") != "" || !strings.Contains(q.body, "gitops-agent approve 4f1c") {
		t.Errorf("got %q, want the command without a token", q.body)
	}
}

func TestStatusDecidesAboutRetries(t *testing.T) {
	t.Parallel()
	for status, permanent := range map[int]bool{400: true, 401: true, 404: true, 302: true, 408: false, 429: false, 500: false, 503: false} {
		server, got := receiver(t, status)
		err := NewReceiver(Receiver{Kind: Webhook, URL: text(server.URL)}).Send(t.Context(), sample())
		var p *permanentError
		if err == nil || errors.As(err, &p) != permanent || len(got) != 1 {
			t.Errorf("status %d: got %v after %d requests, want permanent %t after one", status, err, len(got), permanent)
		}
	}
}

func TestSendIsBounded(t *testing.T) {
	t.Parallel()
	hangs := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hangs }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(hangs) })
	host := strings.TrimPrefix(server.URL, "http://")
	for _, r := range []Receiver{
		{Kind: Webhook, URL: text(server.URL)},
		{Kind: Ntfy, URL: text(server.URL)},
		{Kind: Shoutrrr, URL: text("gotify://" + host + "/AbCdEfGhIjKlMnO?disabletls=yes")},
		{Kind: Email, Email: EmailOptions{Address: silent(t), TLS: StartTLS, From: "a@example.org", To: []string{"b@example.org"}}},
	} {
		r.Timeout = 100 * time.Millisecond
		r = NewReceiver(r)
		if err := r.Send(t.Context(), sample()); err == nil {
			t.Errorf("%s: got no error from a receiver that does not answer", r.Kind)
		}
		if r.Kind != Shoutrrr {
			continue
		}
		for range maxRunning - 1 {
			_ = r.Send(t.Context(), sample())
		}
		if err := r.Send(t.Context(), sample()); err == nil || !strings.Contains(err.Error(), "still wait") || len(r.running) != maxRunning {
			t.Errorf("got %v while %d messages wait, want no further one", err, len(r.running))
		}
	}
}

// TestMessageThatHangsIsInFrontOfNoOther: the service takes its time for one request, and takes all others. The next attempt of the first message waits for the request
// that runs, and makes no second one.
func TestMessageThatHangsIsInFrontOfNoOther(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	goesOn := make(chan struct{})
	ended, end := context.WithCancel(t.Context())
	defer end()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 {
			end() // in place of the time limit
			<-goesOn
		}
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(server.Close)
	r := NewReceiver(Receiver{Kind: Shoutrrr, URL: text("gotify://" + strings.TrimPrefix(server.URL, "http://") + "/AbCdEfGhIjKlMnO?disabletls=yes")})
	first := sample()
	first.attempt = &attempt{}
	if err := r.Send(ended, first); err == nil {
		t.Error("got no error of the request that takes its time")
	}
	if err := r.Send(t.Context(), sample()); err != nil {
		t.Errorf("got %v, want the next message sent", err)
	}
	close(goesOn)
	if err := r.Send(t.Context(), first); err != nil || requests.Load() != 2 {
		t.Errorf("got %v after %d requests, want the result of the first one", err, requests.Load())
	}
	if err := r.Send(t.Context(), first); err != nil || requests.Load() != 3 {
		t.Errorf("got %v after %d requests, want another one for another attempt", err, requests.Load())
	}
}

// silent returns the address of a server that accepts connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

func TestShoutrrr(t *testing.T) {
	t.Parallel()
	server, got := receiver(t, http.StatusOK)
	host := strings.TrimPrefix(server.URL, "http://")
	r := NewReceiver(Receiver{Kind: Shoutrrr, URL: text("generic://" + host + "/hook?disabletls=yes")})
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	if err := r.Send(t.Context(), sample()); err != nil {
		t.Fatal(err)
	}
	if q := <-got; q.path != "/hook" || !strings.Contains(q.body, "gitops-agent approve 4f1c") {
		t.Errorf("got %+v, want the message", q)
	}
}

// TestWrongAddressesHaveAReason checks that the reason of a service for which it does not take an address is part of the error, which the router of shoutrrr drops, and that
// the address of a webhook is told from a URL of shoutrrr.
func TestWrongAddressesHaveAReason(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"discord://token": "", "slack://hook:a-b-c@webhook": "", "telegram://123@telegram?chats=@x": "", "pushover://x": "", "smtp://": "", "opsgenie://": "", "zulip://h": "",
		"https://discord.com/api/webhooks/1/abcdefgh":        "discord://TOKEN@ID",
		"https://hooks.slack.com/services/AAAA/BBBB/CCCCCCC": "slack://hook:A-B-C@webhook",
		"https://chat.example.org/hook":                      "generic+https://",
		"slak://x":                                           "want one of ",
		"discord+https://x/y":                                "takes no address of a server",
		"discord://%zz":                                      "%25",
	} {
		err := NewReceiver(Receiver{Kind: Shoutrrr, URL: text(address)}).Check()
		if err == nil || !strings.Contains(err.Error(), want) || strings.HasSuffix(err.Error(), "failed to initialize service") {
			t.Errorf("%s: got %v, want a reason with %q", address, err, want)
		}
	}
}

// No error contains a URL or a part of it that could be a secret, also if a library writes them into its errors.
func TestErrorsContainNoSecrets(t *testing.T) {
	t.Parallel()
	server, _ := receiver(t, http.StatusUnauthorized)
	host := strings.TrimPrefix(server.URL, "http://")
	closed := silent(t)
	const secret = "S3cretTokenValue0"
	receivers := []Receiver{
		{Kind: Webhook, URL: text("https://" + closed + "/" + secret), Token: text(secret)},
		{Kind: Webhook, URL: text("http://127.0.0.1:1/" + secret + "?key=" + secret)},
		{Kind: Webhook, URL: text("http://" + secret + " bad/")},
		{Kind: Ntfy, URL: text("http://127.0.0.1:1/" + secret)},
		{Kind: Shoutrrr, URL: text("gotify://" + host + "/A" + secret[:13] + "?disabletls=yes")},
		{Kind: Shoutrrr, URL: text("generic://" + host + "/" + secret + "?disabletls=yes")},
		{Kind: Shoutrrr, URL: text("discord://" + secret + "@12345/" + secret)},
		{Kind: Shoutrrr, URL: text("slack://hook:" + secret + "-" + secret + "@webhook")},
		{Kind: Shoutrrr, URL: text("telegram://" + secret + "@telegram?chats=@x")},
		{Kind: Shoutrrr, URL: text("unknown://" + secret + "@host/" + url.PathEscape(secret+"/%"))},
		{Kind: Shoutrrr, URL: text(secret)},
		{Kind: Shoutrrr, URL: text("matrix://user:" + secret + "@" + closed + "/?rooms=x&disableTLS=yes")},
	}
	for i, r := range receivers {
		r.Timeout = 300 * time.Millisecond
		r = NewReceiver(r)
		checked, sent := r.Check(), r.Send(t.Context(), sample())
		if sent == nil {
			t.Errorf("receiver %d: got no error", i)
		}
		if text := strings.ToLower(fmt.Sprint(checked, sent)); strings.Contains(text, strings.ToLower(secret[:13])) {
			t.Errorf("receiver %d: got a secret in %q", i, text)
		}
	}
}

// mailServer accepts one mail, and returns what the client said.
func mailServer(t *testing.T, extensions string, refuse string) (string, chan []string) {
	t.Helper()
	return secureMailServer(t, extensions, refuse, nil)
}

// secureMailServer is a mailServer that offers STARTTLS with a certificate.
func secureMailServer(t *testing.T, extensions, refuse string, certificate *tls.Config) (string, chan []string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	said := make(chan []string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }() // of the connection that was encrypted, too
		in, lines := bufio.NewScanner(conn), []string{}
		reply := func(text string) { _, _ = io.WriteString(conn, text+"\r\n") }
		reply("220 mail.test")
		for body := false; in.Scan(); {
			line := in.Text()
			lines = append(lines, line)
			switch {
			case body && line != ".":
			case refuse != "" && strings.HasPrefix(line, refuse):
				reply("550 no such user")
			case strings.HasPrefix(line, "EHLO"):
				reply("250-mail.test\r\n250-" + extensions + "\r\n250 HELP")
			case line == "STARTTLS" && certificate != nil:
				reply("220 go on")
				encrypted := tls.Server(conn, certificate)
				conn, in = encrypted, bufio.NewScanner(encrypted)
			case strings.HasPrefix(line, "AUTH"):
				reply("235 welcome")
			case line == "DATA":
				body = true
				reply("354 go on")
			default:
				body = false
				reply("250 ok")
			}
			if line == "QUIT" {
				break
			}
		}
		said <- lines
	}()
	return listener.Addr().String(), said
}

func TestEmail(t *testing.T) {
	t.Parallel()
	address, said := mailServer(t, "8BITMIME", "")
	r := NewReceiver(Receiver{Kind: Email, Email: EmailOptions{Address: address, TLS: NoTLS, From: "Agent <agent@example.org>", To: []string{"ops@example.org", "b@example.org"}}})
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	if err := r.Send(t.Context(), sample()); err != nil {
		t.Fatal(err)
	}
	lines := <-said
	for _, want := range []string{"MAIL FROM:<agent@example.org> BODY=8BITMIME", "RCPT TO:<ops@example.org>", "RCPT TO:<b@example.org>"} {
		if !slices.Contains(lines, want) {
			t.Errorf("got %q, want %q in it", lines, want)
		}
	}
	begin, end := slices.Index(lines, "DATA"), slices.Index(lines, ".")
	m, err := mail.ReadMessage(strings.NewReader(strings.Join(lines[begin+1:end], "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil || subject != "[home] step.held VirtualMachine/web-1" || m.Header.Get("Bcc") != "" {
		t.Errorf("got subject %q, %v and Bcc %q", subject, err, m.Header.Get("Bcc"))
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil || !strings.Contains(string(body), "Größe  Bcc: x@example.org. To release it: gitops-agent approve 4f1c") {
		t.Errorf("got body %q, %v", body, err)
	}
}

// With STARTTLS the login and the mail are sent after the handshake, and only to a server with a certificate of a known authority.
func TestEmailWithSTARTTLS(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(nil) // for its certificate
	defer web.Close()
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	email := EmailOptions{TLS: StartTLS, From: "Küche <agent@example.org>", To: []string{"b@example.org"}, Username: "agent", Password: text("S3cret")}
	for _, caFile := range []string{authority, ""} {
		address, said := secureMailServer(t, "STARTTLS\r\n250-AUTH PLAIN", "", &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12})
		email.Address = address
		err := NewReceiver(Receiver{Kind: Email, Email: email, CAFile: caFile}).Send(t.Context(), sample())
		lines := <-said
		login := slices.Index(lines, "AUTH PLAIN "+base64.StdEncoding.EncodeToString([]byte("\x00agent\x00S3cret")))
		if caFile == "" {
			if err == nil || login >= 0 {
				t.Errorf("got %v and %q, want no login at a server of an unknown authority", err, lines)
			}
			continue
		}
		if err != nil || login < slices.Index(lines, "STARTTLS") || !slices.Contains(lines, "From: =?utf-8?q?K=C3=BCche?= <agent@example.org>") {
			t.Errorf("got %v and %q, want a login after the handshake, and a name in ASCII", err, lines)
		}
	}
}

// A password is not sent without encryption, and a refusal of a recipient is not retried.
func TestEmailFailures(t *testing.T) {
	t.Parallel()
	address, said := mailServer(t, "AUTH PLAIN", "")
	o := EmailOptions{Address: address, TLS: StartTLS, From: "a@example.org", To: []string{"b@example.org"}, Username: "agent", Password: text("S3cret")}
	if err := NewReceiver(Receiver{Kind: Email, Email: o, Timeout: time.Second}).Send(t.Context(), sample()); err == nil {
		t.Error("got no error from a server without STARTTLS")
	}
	if lines := <-said; strings.Contains(strings.Join(lines, " "), "AUTH") || strings.Contains(strings.Join(lines, " "), "MAIL") {
		t.Errorf("got %q, want no login and no mail", lines)
	}
	o.TLS = NoTLS
	if err := NewReceiver(Receiver{Kind: Email, Email: o}).Check(); err == nil || !strings.Contains(err.Error(), "unencrypted") {
		t.Errorf("got %v, want a refusal", err)
	}
	for _, refuse := range []string{"RCPT", "AUTH"} {
		o.Address, _ = mailServer(t, "AUTH PLAIN", refuse)
		var permanent *permanentError
		if err := NewReceiver(Receiver{Kind: Email, Email: o}).Send(context.Background(), sample()); !errors.As(err, &permanent) {
			t.Errorf("%s is refused: got %v, want a permanent error", refuse, err)
		}
	}
}

// An error says whether the receiver may have taken the message: not without a connection and not after a refusal, but without an answer.
func TestErrorsSayWhatIsCertain(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	_ = listener.Close()
	busy, _ := receiver(t, http.StatusServiceUnavailable)
	mail := func(address string) EmailOptions {
		return EmailOptions{Address: address, TLS: NoTLS, From: "a@example.org", To: []string{"b@example.org"}}
	}
	for name, test := range map[string]struct {
		receiver  Receiver
		isCertain bool
	}{
		"no connection":          {Receiver{Kind: Webhook, URL: text("http://" + closed)}, true},
		"no connection for mail": {Receiver{Kind: Email, Email: mail(closed)}, true},
		"busy":                   {Receiver{Kind: Ntfy, URL: text(busy.URL)}, true},
		"no file":                {Receiver{Kind: Ntfy, URL: func() (string, error) { return "", errors.New("no such file") }}, true},
		"no answer":              {Receiver{Kind: Webhook, URL: text("http://" + silent(t)), Timeout: 100 * time.Millisecond}, false},
		"no answer to a mail":    {Receiver{Kind: Email, Email: mail(silent(t)), Timeout: 100 * time.Millisecond}, false},
	} {
		var untaken *untakenError
		if err := NewReceiver(test.receiver).Send(t.Context(), sample()); err == nil || errors.As(err, &untaken) != test.isCertain {
			t.Errorf("%s: got %v, want it to be certain that the message was not taken: %t", name, err, test.isCertain)
		}
	}
}

// A token needs encryption. A topic of ntfy in the local network that everybody may use does not.
func TestReceiverNeedsEncryptionForAToken(t *testing.T) {
	none, token := func() (string, error) { return "", nil }, func() (string, error) { return "t0ken", nil }
	for address, want := range map[string][2]bool{ // without and with a token
		"https://ntfy.example.org/gitops": {true, true}, "http://127.0.0.1:8080/gitops": {true, true}, "http://ntfy.lan/gitops": {true, false},
	} {
		for i, token := range []func() (string, error){none, token} {
			r := NewReceiver(Receiver{Name: "ops", Kind: Ntfy, URL: func() (string, error) { return address, nil }, Token: token})
			if err := r.Check(); (err == nil) != want[i] {
				t.Errorf("%s: got %v, want accepted %t", address, err, want[i])
			}
		}
	}
}

// A receiver recognizes a repetition that it got before, and can tell two repetitions apart.
func TestIDOfARepetitionIsTheSameForEachAttempt(t *testing.T) {
	t.Parallel()
	server, got := receiver(t, http.StatusAccepted)
	r := NewReceiver(Receiver{Kind: Webhook, URL: text(server.URL)})
	id := func(m Message) (id string) {
		if err := r.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		var e cloudEvent
		if err := json.Unmarshal([]byte((<-got).body), &e); err != nil {
			t.Fatal(err)
		}
		return e.ID
	}
	first, repeated, again := sample(), sample(), sample()
	repeated.Events[0].Repeated = repeated.Events[0].Time.Add(time.Hour)
	again.Events[0].Repeated = again.Events[0].Time.Add(2 * time.Hour)
	if a, b := id(repeated), id(repeated); a != b {
		t.Errorf("got ids %s and %s of two attempts, want the same", a, b)
	}
	if a, b, c := id(first), id(repeated), id(again); a == b || b == c || a == c {
		t.Errorf("got ids %s, %s and %s of an event and two repetitions, want three", a, b, c)
	}
}

// A file with the URL is read for each message, so its content may be another one than that of the check.
func TestTokenIsNotSentToAURLThatBecameUnencrypted(t *testing.T) {
	t.Parallel()
	asked := false
	r := NewReceiver(Receiver{
		Kind: Ntfy, URL: text("http://ntfy.invalid/gitops"), Timeout: time.Second,
		Token: func() (string, error) { asked = true; return "t0ken", nil },
	})
	var permanent *permanentError
	if err := r.Send(t.Context(), sample()); !errors.As(err, &permanent) || !asked {
		t.Errorf("got %v, want a refusal before anything is sent", err)
	}
}

// Text of a commit or a cluster calls no people in a chat, and hides no address behind other text.
func TestChatTextHasNoMentionsAndLinks(t *testing.T) {
	t.Parallel()
	server, got := receiver(t, http.StatusOK)
	r := NewReceiver(Receiver{Kind: Shoutrrr, URL: text("generic://" + strings.TrimPrefix(server.URL, "http://") + "/hook?disabletls=yes")})
	m := sample()
	m.Events[0] = Event{Name: event.RevisionRefused, Attributes: map[string]string{
		"reason": "unsigned", "error": "<!channel> @everyone (@here) [login](https://evil.test) <https://evil.test|login> by alice@example.org", "hint": "git commit -S",
	}}
	if err := r.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	body := (<-got).body
	for _, unwanted := range []string{"<!", "@everyone", "@here", "](", "<https"} {
		if strings.Contains(body, unwanted) {
			t.Errorf("got %q, want no %q in it", body, unwanted)
		}
	}
	for _, want := range []string{"alice@example.org", "git commit -S", "https://agent.test/"} {
		if !strings.Contains(body, want) {
			t.Errorf("got %q, want %q unchanged", body, want)
		}
	}
}

// TestEndlessReplies: neither a mail server whose greeting is a line without an end, nor a service of shoutrrr whose reply has no end, is read further than the bound.
func TestEndlessReplies(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	var sent atomic.Int64
	pour := func(w io.Writer) {
		part := []byte(strings.Repeat("a", 32<<10))
		for range 2 << 10 { // 64 MiB, so that a client without a bound fails and does not use up the machine
			n, err := w.Write(part)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}
	poured := make(chan struct{})
	go func() {
		defer close(poured)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "220 ")
		pour(conn)
		_ = conn.Close()
	}()
	mailer := NewReceiver(Receiver{Kind: Email, Email: EmailOptions{Address: listener.Addr().String(), TLS: NoTLS, From: "a@example.org", To: []string{"b@example.org"}}, Timeout: time.Minute})
	if err := mailer.Send(t.Context(), sample()); !errors.Is(err, outbound.ErrTooLong) {
		t.Errorf("got %v from a mail server, want %v", err, outbound.ErrTooLong)
	}
	<-poured
	if n := sent.Load(); n > 32<<20 { // what the buffers of both sockets hold
		t.Errorf("the mail server could send %d bytes", n)
	}
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest) // whose text is read
		pour(w)
		close(ended)
	}))
	defer server.Close()
	sent.Store(0)
	chat := NewReceiver(Receiver{Kind: Shoutrrr, URL: text("generic://" + strings.TrimPrefix(server.URL, "http://") + "/hook?disabletls=yes"), Timeout: time.Minute})
	if err := chat.Send(t.Context(), sample()); err == nil {
		t.Error("got no error from a service whose reply has no end")
	}
	<-ended
	if n := sent.Load(); n > 32<<20 {
		t.Errorf("the service could send %d bytes", n)
	}
}
