package notify

import (
	"context"
	"errors"
	"strings"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
)

// checkShoutrrr returns an error if the URL is of no service. The error does not contain the URL.
func checkShoutrrr(text string) error {
	name, address, err := (&router.ServiceRouter{}).ExtractServiceName(text)
	switch {
	case err != nil:
		return redacted(err, text)
	case logsInAtOnce(name) && address.Host == "":
		return errors.New("the URL has no host")
	case logsInAtOnce(name): // a check sends nothing
		return nil
	}
	if _, err := router.New(nil, text); err != nil {
		return redacted(err, text)
	}
	return nil
}

// logsInAtOnce reports whether shoutrrr uses the network to read a URL of the service.
func logsInAtOnce(service string) bool { return service == "matrix" }

// sendShoutrrr sends a message by shoutrrr. Its Send cannot be ended, and some services have no time limit: the function returns at the end of ctx, and
// no further message is sent while the one before still runs. So a receiver has at most one such goroutine.
func (r Receiver) sendShoutrrr(ctx context.Context, m Message) error {
	text, err := r.URL()
	if err != nil {
		return err
	}
	select {
	case r.running <- struct{}{}:
	default:
		return errors.New("the message before still waits for the service")
	}
	sent := make(chan error, 1)
	go func() {
		defer func() { <-r.running }()
		sent <- sendByRouter(text, m)
	}()
	select {
	case err := <-sent:
		return err
	case <-ctx.Done():
		return errors.New("the service did not answer in time")
	}
}

func sendByRouter(text string, m Message) error {
	service, err := (&router.ServiceRouter{}).Locate(text)
	switch scheme, _, _ := strings.Cut(text, ":"); {
	case err != nil && logsInAtOnce(scheme): // the server may not answer
		return redacted(err, text)
	case err != nil:
		return &permanentError{redacted(err, text)}
	}
	if err := service.Send(m.Title()+"\n"+m.Body(), &types.Params{}); err != nil {
		return redacted(err, text)
	}
	return nil
}
