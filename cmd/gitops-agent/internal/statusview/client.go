package statusview

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/reconcile/report"
)

// maxStatus bounds the size of a status document. It is enough for more than 10,000 guests.
const maxStatus = 64 << 20 // bytes

// A Client reads the status of a running agent.
type Client struct{ url string }

// NewClient returns a client for an address, which is the value of --url. If the address is "", it reads the config and uses the address on
// which the agent listens.
func NewClient(address string, readConfig func() (agent.Config, error)) (Client, error) {
	if address == "" {
		config, err := readConfig()
		if errors.Is(err, fs.ErrNotExist) {
			return Client{}, term.WithHint(err, "no config is needed with --url http://host:port of the agent")
		}
		if err != nil {
			return Client{}, err
		}
		if *config.Listen == "" {
			return Client{}, errors.New(`the config has listen: "", so the agent serves no status`)
		}
		return Client{"http://" + reachable(*config.Listen)}, nil
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return Client{}, term.UsageErrorf("--url %q: want http://host:port", address)
	}
	return Client{strings.TrimSuffix(strings.TrimSuffix(address, "/"), "/status.json")}, nil
}

// reachable returns the address at which this host can reach an agent that listens on listen, which may name all interfaces.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = ""
	}
	return net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port)
}

// Read returns the agent's newest report, parsed and as the agent sent it.
func (c Client) Read(ctx context.Context) (report.Document, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	document, body, err := c.get(ctx)
	if err != nil {
		return report.Document{}, nil, term.WithHint(fmt.Errorf("read the status of the agent: %w", err), "check that the agent is running; its address is listen in the config, --url names another one")
	}
	return document, body, nil
}

func (c Client) get(ctx context.Context) (report.Document, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/status.json", http.NoBody)
	if err != nil {
		return report.Document{}, nil, err
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return report.Document{}, nil, err
	}
	defer func() { _ = reply.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(reply.Body, maxStatus))
	var document report.Document
	switch {
	case err != nil:
		return document, nil, err
	case reply.StatusCode != http.StatusOK:
		return document, nil, fmt.Errorf("%s returned %s", request.URL, reply.Status)
	}
	if err := json.Unmarshal(body, &document); err != nil {
		return document, nil, fmt.Errorf("%s is not a status of a gitops-agent: %w", request.URL, err)
	}
	if document.SchemaVersion != report.SchemaVersion {
		return document, nil, fmt.Errorf("%s has schemaVersion %d, and this program reads %d", request.URL, document.SchemaVersion, report.SchemaVersion)
	}
	return document, body, nil
}
