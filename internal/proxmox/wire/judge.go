package wire

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/reconcile/cluster"
)

// rank orders what an endpoint may reply to a read, from no reply to a valid one. If two endpoints reply differently, the higher rank counts.
type rank int

const (
	rankBroken   rank = iota // no complete reply
	rankUnusable             // a reply that shows nothing about the resource: 401, 429, 502, 503, HTML
	rankGateway              // 504 or 595 to 599: this endpoint does not reach the node that the read is about
	rankAnswer               // another failed status, such as 500 "does not exist": an answer about the resource if another endpoint confirms it
	rankMinority             // this endpoint is in a part of the cluster without quorum, so what it shows may be old
	rankValid                // status 200 with data, or 400 with the parameter that the API rejects
)

// attempt is one request to one endpoint, and its result.
type attempt struct {
	at   int // the index of the endpoint
	res  *http.Response
	body string // of status 200
	err  error  // *APIError or *BrokenError
	rank rank
}

// judge sets the rank of an attempt at an exchange. A reply of status 200 is only compared with the format of the API if there is another endpoint to ask.
func (a *attempt) judge(x *Exchange, alone bool) {
	var api *APIError
	switch {
	case a.err == nil && !alone && x.Route == route.ClusterInfo && reply.LacksQuorum(a.body):
		a.rank = rankMinority
	case a.err == nil && (alone || reply.HasData(a.body)):
		a.rank = rankValid
	case a.err == nil:
		a.rank = rankUnusable
	case !errors.As(a.err, &api):
		a.rank = rankBroken
	case api.Status == http.StatusBadRequest && len(api.Errors) > 0:
		a.rank = rankValid
	case api.Status == http.StatusUnauthorized, api.Status == http.StatusTooManyRequests, api.IsPage,
		api.Status == http.StatusBadGateway, api.Status == http.StatusServiceUnavailable, api.Status < http.StatusBadRequest:
		a.rank = rankUnusable
	case api.Status == http.StatusGatewayTimeout || api.Status >= StatusUnconnected:
		a.rank = rankGateway
	default:
		a.rank = rankAnswer
	}
}

// fault returns what is wrong with an attempt if another endpoint gave a better reply.
func (a *attempt) fault() cluster.EndpointFault {
	var api *APIError
	switch {
	case a.rank == rankMinority:
		return cluster.FaultNoQuorum
	case a.err == nil:
		return cluster.FaultInvalid
	case errors.Is(a.err, ErrTimeout):
		return cluster.FaultLate
	case a.rank == rankBroken && isUnsent(a.err):
		return cluster.FaultUnreachable
	case a.rank == rankBroken:
		return cluster.FaultBroken
	case errors.As(a.err, &api) && api.Status == http.StatusUnauthorized:
		return cluster.FaultUnauthorized
	case errors.As(a.err, &api) && api.IsPage:
		return cluster.FaultInvalid
	default:
		return cluster.FaultStatus
	}
}

// problem returns the text of a fault.
func (a *attempt) problem() string {
	switch {
	case a.rank == rankMinority:
		return "its part of the cluster has no quorum"
	case a.err == nil:
		return "the reply of status 200 is not from the API of Proxmox"
	}
	return reply.OneLine(a.err.Error())
}

// answer identifies what a failed status says, so that replies of two endpoints can be compared; "" if the reply says nothing. The statuses of the gateway
// and 401 count without their texts: two endpoints may describe the same node that is down with different texts.
func (a *attempt) answer() string {
	var api *APIError
	switch {
	case a.rank == rankMinority:
		return "no quorum"
	case !errors.As(a.err, &api):
		return ""
	case a.rank == rankGateway:
		return "gateway " + api.Path
	case api.Status == http.StatusUnauthorized:
		return "401"
	case a.rank == rankAnswer:
		return strconv.Itoa(api.Status) + " " + api.Path + " " + api.Text()
	default:
		return ""
	}
}

// isUnsent reports whether the request of a failed attempt certainly did not reach the server.
func isUnsent(err error) bool {
	var broken *BrokenError
	return errors.As(err, &broken) && !broken.Sent
}

// disagreement is the error of a read to which endpoints gave different failed answers. Neither counts.
func disagreement(a, b *attempt) error {
	return &DisagreementError{fmt.Sprintf("two endpoints answer differently: %s; %s", reply.OneLine(a.err.Error()), reply.OneLine(b.err.Error()))}
}

// DisagreementError is what disagreement returns. It wraps cluster.ErrNotReady.
type DisagreementError struct{ text string }

func (e *DisagreementError) Error() string { return cluster.ErrNotReady.Error() + ": " + e.text }
func (*DisagreementError) Unwrap() error   { return cluster.ErrNotReady }

// confirmedFor is how long an answer that two endpoints gave alike needs no further confirmation. A failed status that a token gets at every tick,
// such as 403, then costs one additional read in this time.
const confirmedFor = time.Minute

// maxConfirmed bounds the answers that are remembered.
const maxConfirmed = 512

// confirmations remembers the answers that two endpoints gave alike.
type confirmations struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func (c *confirmations) has(a *attempt, now time.Time) bool {
	answer := a.answer()
	c.mu.Lock()
	defer c.mu.Unlock()
	return answer != "" && now.Before(c.until[answer])
}

func (c *confirmations) add(a *attempt, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.until) >= maxConfirmed || c.until == nil {
		c.until = make(map[string]time.Time)
	}
	c.until[a.answer()] = now.Add(confirmedFor)
}

// IsPage reports whether a body is a page of a proxy, and not a reply of the API.
func isPage(body []byte) bool { return strings.HasPrefix(strings.TrimSpace(string(body)), "<") }
