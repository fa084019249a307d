package agent_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/agent"
	"gitops-agent/internal/sigtest"
)

// A refused push reaches a receiver, with the text for people and the link.
func TestRefusedPushIsNotified(t *testing.T) {
	t.Parallel()
	type cloudEvent struct {
		Type string
		Data struct {
			Text, Link string
			Attributes map[string]string
		}
	}
	got := make(chan cloudEvent, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var e cloudEvent
		if json.Unmarshal(body, &e) == nil {
			got <- e
		}
	}))
	t.Cleanup(server.Close)
	h := newHome(t)
	h.push("a container")
	address := filepath.Join(t.TempDir(), "url")
	h.write(address, server.URL+"/hook\n")
	h.config.Notifications = agent.NotificationsConfig{
		StatusURL: "https://agent.test/", Receivers: []agent.ReceiverConfig{{Name: "program", Type: "webhook", URLFile: address}},
		Routes: []agent.RouteConfig{{Receiver: "program", GroupWait: agent.Duration(time.Millisecond)}},
	}
	h.ok(h.config.Check())
	a, err := h.open()
	h.ok(err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	until := func(name string) cloudEvent {
		for {
			select {
			case e := <-got:
				if e.Type == "gitops-agent."+name {
					return e
				}
			case <-time.After(2 * time.Minute):
				t.Fatalf("got no %s within two minutes", name)
			}
		}
	}
	until("revision.converged")
	h.repo.Files["more.yaml"] = strings.NewReplacer("dns-1", "dns-2", "210", "211").Replace(dnsYAML)
	refused := h.repo.Push(h.sig, sigtest.Identity{Subject: "bob@example.org", Issuer: alice.Issuer}, "another container")
	begun := time.Now()
	a.Hint()
	e := until("revision.refused")
	if e.Data.Attributes["commit"] != refused || e.Data.Link != "https://agent.test/" || !strings.HasPrefix(e.Data.Text, "Commit "+refused[:12]+" was refused") {
		t.Errorf("got %+v, want the refusal of %s with the link", e, refused)
	}
	t.Logf("notified %s after the webhook", time.Since(begun).Round(time.Millisecond))
	stop()
	h.ok(<-ended)
	h.ok(a.Close())
}

// The example of docs/notifications.md is a valid config.
func TestNotificationsPageHasAValidExample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "notifications.md"))
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```yaml\n(notifications:.*?)```").FindSubmatch(page)
	if example == nil {
		t.Fatal("got no example in docs/notifications.md")
	}
	c, err := agent.ParseConfig([]byte(smallest + string(example[1])))
	if err != nil {
		t.Fatal(err)
	}
	if receivers, err := c.NotificationReceivers(); err != nil || len(receivers) != 4 || len(c.Notifications.Routes) != 4 {
		t.Errorf("got %d receivers and %d routes, %v, want 4 of each", len(receivers), len(c.Notifications.Routes), err)
	}
}

func TestNotificationProblems(t *testing.T) {
	t.Parallel()
	const text = `
notifications:
  status_url: ftp://agent
  receivers:
    - {name: a, type: pigeon, url: "https://x"}
    - {name: a, type: webhook}
    - {name: c, type: shoutrrr, url: "discord://S3cret@1"}
    - {name: d, type: webhook, url: "https://user:S3cret@x/"}
    - {name: e, type: email, email: {username: x}}
  routes:
    - {receiver: z, events: [guest.lost], severity: fatal, guests: ["["], quiet_hours: [{from: 25, until: "07:00", days: [someday], timezone: Mars/Base}]}
`
	_, err := agent.ParseConfig([]byte(smallest + text))
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{
		"notifications.status_url", `receivers[0].type: got "pigeon", want one of webhook, ntfy, email, shoutrrr`, "receivers[1].url: exactly one", `receivers[1].name: "a" is the name of two`,
		"receivers[2].url: a URL of shoutrrr contains secrets", "receivers[3].url: it must be valid and must not contain credentials", "receivers[4].email: username and password_file",
		`routes[0].receiver: got "z"`, `"guest.lost" matches no event`, `severity: got "fatal"`, `guests: got "["`, `quiet_hours[0].from: got "25"`, `days: got "someday"`, `timezone: got "Mars/Base"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want %q in it", err, want)
		}
	}
	if strings.Contains(err.Error(), "S3cret") {
		t.Errorf("got %q, want no secret in it", err)
	}
}

// The check of a config reads the files of receivers, names no secret, and sends nothing.
func TestCheckReadsReceivers(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	asked := make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{} }))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	file := func(content string) string {
		path := filepath.Join(t.TempDir(), "url")
		h.write(path, content)
		return path
	}
	h.config.Notifications.Receivers = []agent.ReceiverConfig{
		{Name: "a", Type: "webhook", URLFile: file("")},
		{Name: "b", Type: "webhook", URLFile: file("S3cretToken")},
		{Name: "c", Type: "shoutrrr", URLFile: file("pigeon://S3cretToken@x")},
		{Name: "d", Type: "ntfy", URL: "https://x/y", TokenFile: "/nowhere/token"},
		{Name: "e", Type: "shoutrrr", URLFile: file("matrix://user:S3cretToken@" + host + "/?disableTLS=yes")},
		{Name: "f", Type: "webhook", URL: server.URL},
		{Name: "g", Type: "email", Email: agent.EmailConfig{Address: "mail", From: "a@example.org", To: []string{"b@example.org"}}},
	}
	err := h.config.Check()
	for _, want := range []string{"(a): notifications.receivers[0].url_file", "is empty", "(b): the URL is not of the form", "(c): the service is unknown: want one of", "(d): notifications.receivers[3].token_file", `(g): address: got "mail"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if err != nil && (strings.Contains(err.Error(), "S3cret") || strings.Contains(err.Error(), "(e)") || strings.Contains(err.Error(), "(f)")) {
		t.Errorf("got %q, want no secret and nothing about e and f", err)
	}
	if len(asked) != 0 {
		t.Errorf("got %d requests, want none", len(asked))
	}
}

// The check knows tokens of a wrong form, and quotes nothing of them.
func TestCheckKnowsTokensOfAWrongForm(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for content, want := range map[string]string{
		"Bearer S3cretToken":            "words before the token",
		"Authorization: Bearer S3cret":  "words before the token",
		"S3cretToken\nof the server":    "several lines",
		"S3cret Token":                  "a space",
		"S3cret\u00a0Token":             "another character",
		"https://S3cret.example.org/ab": "a URL",
		"tk_S3cretToken0=\n":            "",
	} {
		path := filepath.Join(t.TempDir(), "token")
		h.write(path, content)
		h.config.Notifications.Receivers = []agent.ReceiverConfig{{Name: "a", Type: "ntfy", URL: "https://x/y", TokenFile: path}}
		switch err := h.config.Check(); {
		case want == "" && err != nil:
			t.Errorf("%q: got %v, want no error", content, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), "notifications.receivers[0].token_file") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "S3cret")):
			t.Errorf("%q: got %v, want an error of the file with %q, and no secret", content, err, want)
		}
	}
}
