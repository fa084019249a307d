package notify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
)

// checkShoutrrr returns an error if the URL is of no service. The error does not contain the URL.
func checkShoutrrr(text string) error {
	name, address, err := (&router.ServiceRouter{}).ExtractServiceName(text)
	switch {
	case err != nil:
		return formError("it is no URL: want SERVICE://..., with % written as %25")
	case logsInAtOnce(name) && address.Host == "":
		return errors.New("the URL has no host")
	case logsInAtOnce(name): // a check sends nothing
		return nil
	}
	if err := guarded(func() error { return second(locate(text)) }); err != nil {
		return redacted(err, text)
	}
	return nil
}

func second(_ types.Service, err error) error { return err }

// formError says which form the URL of a service has. It contains nothing of the URL but the name of the service.
type formError string

func (e formError) Error() string { return string(e) }

// locate returns the service of a URL. The router of shoutrrr does the same, and drops the reason why a service does not take the URL.
func locate(text string) (types.Service, error) {
	routes := &router.ServiceRouter{}
	name, address, err := routes.ExtractServiceName(text)
	if err != nil {
		return nil, formError("it is no URL: want SERVICE://..., with % written as %25")
	}
	service, err := routes.NewService(name)
	if err != nil {
		return nil, unknownService(name, address, routes.ListServices())
	}
	if address.Scheme != name {
		custom, isPossible := service.(types.CustomURLService)
		if !isPossible {
			return nil, formError(name + " takes no address of a server: want " + name + "://...")
		}
		if address, err = custom.GetConfigURLFromCustom(address); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := service.Initialize(address, nil); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return service, nil
}

// unknownService returns the error for a URL of no service. What a chat service shows as the address of a webhook is often taken for a URL of shoutrrr.
func unknownService(name string, address *url.URL, known []string) error {
	forms := map[string]string{
		"hooks.slack.com": "slack://hook:A-B-C@webhook for https://hooks.slack.com/services/A/B/C", "discord.com": "discord://TOKEN@ID for https://discord.com/api/webhooks/ID/TOKEN",
		"api.telegram.org": "telegram://TOKEN@telegram?chats=ID", "chat.googleapis.com": "googlechat:// in place of https://",
	}
	switch form := forms[address.Hostname()]; {
	case form != "":
		return formError("the address of a webhook is no URL of shoutrrr: want " + form)
	case name == "https" || name == "http":
		return formError("the address of a web service is no URL of shoutrrr: want generic+" + name + "://..., or the type webhook")
	}
	slices.Sort(known)
	return formError("the service is unknown: want one of " + strings.Join(known, ", "))
}

// logsInAtOnce reports whether shoutrrr uses the network to read a URL of the service.
func logsInAtOnce(service string) bool { return service == "matrix" }

// attempt is a send of one message that still ran at the end of its time.
type attempt struct{ result chan error } // nil if there is none

// sendShoutrrr sends a message by shoutrrr. Its Send cannot be ended, and some services try again for minutes or have no time limit: the function returns at the end of
// ctx. The next attempt of the same message waits for the send that runs, so that the message does not arrive twice. While maxRunning sends run, no other message is sent.
func (r Receiver) sendShoutrrr(ctx context.Context, m Message) error {
	if m.attempt == nil {
		m.attempt = &attempt{}
	}
	if m.attempt.result == nil {
		var err error
		if m.attempt.result, err = r.begin(m); err != nil {
			return err
		}
	}
	select {
	case err := <-m.attempt.result:
		m.attempt.result = nil
		return err
	case <-ctx.Done():
		return errors.New("the service did not answer in time")
	}
}

// begin begins to send a message. The channel gets the result.
func (r Receiver) begin(m Message) (chan error, error) {
	text, err := r.URL()
	if err != nil {
		return nil, &untakenError{err}
	}
	select {
	case r.running <- struct{}{}:
	default:
		return nil, &untakenError{errors.New("several messages before still wait for the service")}
	}
	sent := make(chan error, 1)
	go func() {
		err := guarded(func() error { return sendByRouter(text, m) })
		<-r.running // before the caller knows the result and sends the next message
		sent <- err
	}()
	return sent, nil
}

var (
	mention  = regexp.MustCompile(`(^|[^A-Za-z0-9._%+-])@`) // not the "@" of a mail address
	brackets = strings.NewReplacer("<", "‹", ">", "›", "](", "] (")
)

// chatText returns a message without what chat services make into calls of people and into links with other text: errors can contain text of commits that
// no trusted signer has signed.
func chatText(m Message) string {
	text := brackets.Replace(m.Title() + "\n" + m.Body())
	return mention.ReplaceAllString(text, "${1}@\u200b") // a zero-width space
}

// guarded calls a client of a service. One of shoutrrr 0.13.2 can panic, which must not end the agent.
func guarded(send func() error) (err error) {
	defer func() {
		if failure := recover(); failure != nil {
			err = errors.New("the client of the service panicked")
		}
	}()
	return send()
}

func sendByRouter(text string, m Message) error {
	boundAnswers()
	answerTelegram()
	service, err := locate(text)
	switch scheme, _, _ := strings.Cut(text, ":"); {
	case err != nil && logsInAtOnce(scheme): // the server may not answer
		return redacted(err, text)
	case err != nil:
		return &permanentError{redacted(err, text)}
	}
	l := limitsOf(text)
	params := maps.Clone(l.params)
	if params == nil {
		params = types.Params{}
	}
	for _, part := range l.split(m, chatText) { // one, unless the URL became one of another service
		switch err := service.Send(chatText(part), &params); {
		case l.isRefusal(err):
			return &permanentError{redacted(err, text)}
		case err != nil:
			return redacted(err, text)
		}
	}
	return nil
}
