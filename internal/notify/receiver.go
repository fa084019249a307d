package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"gitops-agent/internal/outbound"
	"gitops-agent/reconcile/event"
)

// Kind is a kind of receiver.
type Kind string

// The kinds of receivers.
const (
	Webhook  Kind = "webhook"  // a POST with a CloudEvent
	Ntfy     Kind = "ntfy"     // ntfy.sh, or a server of one's own
	Email    Kind = "email"    // SMTP
	Shoutrrr Kind = "shoutrrr" // chat services by the URLs of shoutrrr
)

// Kinds lists every kind.
func Kinds() []Kind { return []Kind{Webhook, Ntfy, Email, Shoutrrr} }

// Test is the name of the event that Probe sends. The agent itself has no such event.
const Test event.Name = "notify.test"

// defaultTimeout bounds an attempt.
const defaultTimeout = 15 * time.Second

// maxRunning bounds the sends of shoutrrr that run although their time has passed: the connection of one may hang for good, while the service takes others.
const maxRunning = 8

// Receiver is a place to which messages are sent.
type Receiver struct {
	Name string
	Kind Kind
	// URL returns the address of a webhook, of a topic of ntfy, or of shoutrrr. It is called for each attempt. It may contain secrets.
	URL func() (string, error)
	// Token returns a token for "Authorization: Bearer", "" is none. Only of webhooks and ntfy.
	Token func() (string, error)
	// CAFile has certificates that are trusted in addition to those of the system, "" is none. Not of shoutrrr.
	CAFile string
	// Timeout bounds an attempt. Default 15 s.
	Timeout time.Duration
	// Email is only of the kind Email.
	Email EmailOptions
	// running has an element for each send of shoutrrr that runs. None of them can be ended.
	running chan struct{}
	send    func(context.Context, Message) error // of tests
}

// NewReceiver returns a receiver that is ready.
func NewReceiver(r Receiver) Receiver {
	if r.Timeout <= 0 {
		r.Timeout = defaultTimeout
	}
	r.running = make(chan struct{}, maxRunning)
	return r
}

// Check returns an error if a setting cannot be used. It reads the files and sends nothing. The error contains no URL.
func (r Receiver) Check() error {
	if _, err := outbound.TLS(r.CAFile); err != nil {
		return err
	}
	if r.Kind == Email {
		return r.Email.check()
	}
	text, err := r.URL()
	if err != nil {
		return err
	}
	if r.Kind == Shoutrrr {
		return checkShoutrrr(text)
	}
	u, err := parseHTTP(text)
	if err != nil || r.Token == nil {
		return err
	}
	_, err = r.tokenFor(u)
	return err
}

// tokenFor returns the token for requests to a URL, "" without one. It returns an error if the request would not be encrypted.
func (r Receiver) tokenFor(u *url.URL) (string, error) {
	token, err := r.Token()
	if err == nil && token != "" && outbound.IsExposed(u) {
		return "", &permanentError{errors.New("http would send the token unencrypted: use https")}
	}
	return token, err
}

// Probe sends a test message.
func (r Receiver) Probe(ctx context.Context, cluster, link string) error {
	e := Event{Time: time.Now(), Name: Test, Severity: Info, Attributes: map[string]string{"why": "a person asked for this test of the receiver " + r.Name}}
	return r.Send(ctx, Message{Events: []Event{e}, Cluster: cluster, Link: link})
}

// Send sends a message, within the time limit of the receiver. The error contains no URL and no secret.
func (r Receiver) Send(ctx context.Context, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	if r.send != nil {
		return r.send(ctx, m)
	}
	switch r.Kind {
	case Webhook:
		return r.sendCloudEvent(ctx, m)
	case Ntfy:
		return r.sendNtfy(ctx, m)
	case Email:
		return r.sendEmail(ctx, m)
	case Shoutrrr:
		return r.sendShoutrrr(ctx, m)
	}
	return &permanentError{fmt.Errorf("unknown kind %q", r.Kind)}
}

// split returns the messages in the form in which the receiver takes them: a request contains one CloudEvent, and the text of a service has limits.
func (r Receiver) split(m Message) []Message {
	switch r.Kind {
	case Webhook:
		parts := make([]Message, 0, len(m.Events))
		for _, e := range m.Events {
			parts = append(parts, Message{Events: []Event{e}, Cluster: m.Cluster, Link: m.Link})
		}
		return parts
	case Ntfy:
		return ntfyLimits().split(m, Message.Body)
	case Shoutrrr:
		if text, err := r.URL(); err == nil { // otherwise it is split when it is sent
			return limitsOf(text).split(m, chatText)
		}
	case Email:
	}
	return []Message{m}
}

// parseHTTP parses the URL of a webhook or of ntfy.
func parseHTTP(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("the URL is not of the form https://host/path")
	}
	return u, nil
}

// post sends one request and requires a status of 2xx. Redirects are not followed, since they would send the token to another host.
func (r Receiver) post(ctx context.Context, header http.Header, body []byte) error {
	text, err := r.URL()
	if err != nil {
		return &untakenError{err}
	}
	u, err := parseHTTP(text)
	if err != nil {
		return &permanentError{err}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return &permanentError{errors.New("the URL cannot be used")}
	}
	request.Header = header
	request.Header.Set("User-Agent", "gitops-agent")
	if r.Token != nil {
		token, err := r.tokenFor(u)
		if err != nil {
			return &untakenError{err}
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
	}
	status, err := outbound.Send(request, r.CAFile)
	if err != nil {
		return withoutConnection(err, redacted(err, u.String()))
	}
	return checkStatus(status)
}

// withoutConnection returns an error with the text of shown. It says that the receiver did not take the message, if there was no connection.
func withoutConnection(err, shown error) error {
	var failed *net.OpError
	if errors.As(err, &failed) && failed.Op == "dial" {
		return &untakenError{shown}
	}
	return shown
}

// checkStatus returns an error for a status other than 2xx.
func checkStatus(code int) error {
	if outbound.Succeeded(code) {
		return nil
	}
	err := fmt.Errorf("the receiver answered with status %d", code)
	if outbound.IsTemporary(code) {
		return &untakenError{err}
	}
	return &permanentError{err}
}
