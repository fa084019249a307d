package manifest

import (
	"net"
	"net/url"

	"gitops-agent/reconcile/guest"
)

// health are the checks that show whether a guest is ready for the guests that depend on it.
type health struct {
	agent     opt[bool]
	tcp, http opt[string]
}

func (h *health) fields() []field {
	return []field{
		{"agent", "", "The guest agent of the virtual machine answers.", byHand(flag(&h.agent))},
		{"tcp", "", "A connection to this address is accepted. The config of the agent's host must allow the address.", byHand(text(&h.tcp, tcpAddress))},
		{"http", "", "This address answers with a status of the class 2xx. The config of the agent's host must allow the address.", byHand(text(&h.http, httpAddress))},
	}
}

var (
	tcpAddress  = &textRule{want: "an address and a port", examples: []string{"10.0.0.5:5432"}, accept: isTCPAddress}
	httpAddress = &textRule{want: "an http or https address without user, password and fragment", examples: []string{"http://10.0.0.5/healthz"}, accept: isHTTPAddress}
)

// maxAddress bounds an address that is checked.
const maxAddress = 500

func isTCPAddress(text string) bool {
	host, port, err := net.SplitHostPort(text)
	return err == nil && host != "" && guest.IsPort(port) && printable(text) && len(text) <= maxAddress
}

func isHTTPAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && (u.Port() == "" || guest.IsPort(u.Port())) &&
		u.User == nil && u.Fragment == "" && printable(text) && len(text) <= maxAddress
}

// lowerHealth checks the health checks against the kind of the guest.
func (c *common) lowerHealth(l *lowering) {
	if agent := c.health.agent; agent.value && l.kind == guest.Container {
		l.problem(agent.place, "got agent: true, but a container has no guest agent", "use tcp or http")
	}
}

func (h *health) checks() guest.Health {
	return guest.Health{Agent: h.agent.value, TCP: h.tcp.value, HTTP: h.http.value}
}
