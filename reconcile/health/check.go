package health

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
)

// errNotAllowed refuses an address that the config of the host does not list.
var errNotAllowed = errors.New("checks.allow of the agent's config does not list it")

// check runs the checks of a guest in order. The first problem decides.
func (p *Prober) check(ctx context.Context, t Target) Result {
	c := t.Check
	if c.Agent {
		if err := p.ping(ctx, t); err != nil {
			return problem("guest agent", err)
		}
	}
	if c.TCP != "" {
		if err := p.checkTCP(ctx, c.TCP); err != nil {
			return problem("tcp "+c.TCP, err)
		}
	}
	if c.HTTP != "" {
		if err := p.checkHTTP(ctx, c.HTTP); err != nil {
			return problem("http "+c.HTTP, err)
		}
	}
	if c := t.Query; c != (Query{}) {
		if err := p.checkQuery(ctx, c); err != nil {
			return problem("query of "+c.Server, err)
		}
	}
	return Result{}
}

// maxText bounds what a problem quotes of an error, which may contain words of the machine that was asked.
const maxText = 200

func problem(what string, err error) Result {
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer in %s", checkTime)
	}
	text := []rune(strconv.QuoteToGraphic(err.Error()))
	text = text[1 : len(text)-1]
	if len(text) > maxText {
		text = append(text[:maxText], '…')
	}
	return Result{Problem: what + ": " + string(text), Refused: errors.Is(err, errNotAllowed)}
}

func (p *Prober) ping(ctx context.Context, t Target) error {
	if p.opts.Ping == nil {
		return errors.New("it cannot be asked")
	}
	return p.opts.Ping(ctx, t.Row)
}

// checkTCP connects and disconnects.
func (p *Prober) checkTCP(ctx context.Context, address string) error {
	conn, err := p.dial(ctx, address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// checkHTTP expects a status of the class 2xx. It reads no body.
func (p *Prober) checkHTTP(ctx context.Context, address string) error {
	return p.get(ctx, address, func(*http.Response) error { return nil })
}

// get requests a page, and reads an answer with a status of the class 2xx.
func (p *Prober) get(ctx context.Context, address string, read func(*http.Response) error) error {
	transport := &http.Transport{
		DialContext:       func(ctx context.Context, _, address string) (net.Conn, error) { return p.dial(ctx, address) },
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 16 << 10, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: p.opts.Roots},
	}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return errors.New("the address cannot be read")
	}
	reply, err := client.Do(request)
	if err != nil {
		var about *url.Error // its text repeats the address
		if errors.As(err, &about) {
			err = about.Err
		}
		if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
			err = fmt.Errorf("%w; checks.ca_file of the agent's config can name the authority", err)
		}
		return err
	}
	defer func() { _ = reply.Body.Close() }()
	if reply.StatusCode < 200 || reply.StatusCode > 299 {
		return fmt.Errorf("got the status %d, want 2xx", reply.StatusCode)
	}
	return read(reply)
}

// dial resolves a name once, and connects to the first of its addresses that is allowed.
func (p *Prober) dial(ctx context.Context, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errors.New("the address cannot be read")
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, errors.New("the port cannot be read")
	}
	addresses, err := p.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		if to := netip.AddrPortFrom(a.Unmap(), uint16(number)); p.opts.Allow.Permits(to) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", to.String())
		}
	}
	return nil, errNotAllowed
}

func (p *Prober) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	lookup := net.DefaultResolver.LookupNetIP
	if p.opts.Resolve != nil {
		lookup = func(ctx context.Context, _, host string) ([]netip.Addr, error) { return p.opts.Resolve(ctx, host) }
	}
	return lookup(ctx, "ip", host)
}
