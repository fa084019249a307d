package cluster

import (
	"context"
	"time"
)

// Exchange is one request to an endpoint of the cluster and its reply, for those who observe the agent. It contains no query, no body and no text of a reply,
// since these may contain secrets.
type Exchange struct {
	Method   string
	Route    string // a path with its variables named, "/nodes/{node}/{kind}/{vmid}/config", from a closed set
	Code     string // the HTTP status, or "none" without a reply
	Endpoint string // host and port
	Node     string // whose workers did it; "" if any node could answer
	UPID     string // the task that was asked for; "" for every other request
	Step     string // id of the step that it belongs to; "" if it belongs to none
	Duration time.Duration
}

type stepKey struct{}

// WithStep returns a context for the requests of a step.
func WithStep(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, stepKey{}, id)
}

// StepOf returns the id of the step that a context belongs to, "" if it belongs to none.
func StepOf(ctx context.Context) string {
	id, _ := ctx.Value(stepKey{}).(string)
	return id
}
