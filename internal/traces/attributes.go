package traces

import (
	"net"
	"strconv"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
)

// Names of spans. A span of a request has the method and the route as its name.
const (
	spanRevision = "revision"
	spanFetch    = "fetch"
	spanVerify   = "verify"
	spanAccept   = "accept"
	spanPlan     = "plan"
	spanHold     = "hold"
	spanStep     = "step"
	spanTask     = "wait for task"
	spanRepair   = "repair"
)

// Attributes with a name in the semantic conventions of OpenTelemetry.
//
// Source: OpenTelemetry semantic conventions 1.43.
const (
	keyServiceName     = "service.name"
	keyServiceVersion  = "service.version"
	keyServiceInstance = "service.instance.id"
	keyHost            = "host.name"
	keyCommit          = "vcs.ref.head.revision"
	keyRef             = "vcs.ref.head.name"
	keyRefType         = "vcs.ref.head.type"
	keyMethod          = "http.request.method"
	keyStatus          = "http.response.status_code"
	keyTemplate        = "url.template"
	keyAddress         = "server.address"
	keyPort            = "server.port"
	keyError           = "error.type"
)

// schemaURL names the version of the semantic conventions.
const schemaURL = "https://opentelemetry.io/schemas/1.43.0"

// Attributes without a name there.
const (
	keyCluster  = "gitops_agent.cluster"
	keyResult   = "gitops_agent.result"
	keyReason   = "gitops_agent.reason"
	keySigner   = "gitops_agent.signer"
	keyResumed  = "gitops_agent.resumed"
	keyGuest    = "gitops_agent.guest"
	keyVMID     = "gitops_agent.vmid"
	keyOp       = "gitops_agent.op"
	keyClass    = "gitops_agent.class"
	keyStep     = "gitops_agent.step"
	keyWhy      = "gitops_agent.why"
	keyDigest   = "gitops_agent.digest"
	keyKeys     = "gitops_agent.keys"
	keyRequests = "gitops_agent.requests"
	keyOmitted  = "gitops_agent.requests.omitted"
	keyNode     = "proxmox.node"
	keyUPID     = "proxmox.upid"
)

// keySteps begins the attributes for the numbers of planned steps by class, "gitops_agent.steps.live".
const keySteps = "gitops_agent.steps."

// Values of gitops_agent.result of a revision and of a repair. That of a step is the one in the journal.
const (
	resultConverged  = "converged"
	resultRefused    = "refused"
	resultSuperseded = "superseded" // by a newer revision
	resultRepaired   = "repaired"
	resultReleased   = "released"
	resultWithdrawn  = "withdrawn"
	resultChanged    = "changed" // a hold goes on for another reason
)

// attribute is a name with a value.
type attribute = *commonpb.KeyValue

// maxText bounds a text in a span, in bytes.
const maxText = 500

// clip returns a text that a span can contain: the protocol allows valid UTF-8 only.
func clip(text string) string {
	if len(text) <= maxText {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

func textValue(value string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: clip(value)}}
}

func text(key, value string) attribute {
	return &commonpb.KeyValue{Key: key, Value: textValue(value)}
}

func texts(key string, values []string) attribute {
	list := &commonpb.ArrayValue{}
	for _, v := range values {
		list.Values = append(list.Values, textValue(v))
	}
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: list}}}
}

func number(key string, value int) attribute {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: int64(value)}}}
}

// flag returns an attribute with the value true.
func flag(key string) attribute {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: true}}}
}

// ofCommit returns the attributes of a commit on a branch.
func ofCommit(commit, branch string) []attribute {
	return []attribute{text(keyCommit, commit), text(keyRef, branch), text(keyRefType, "branch")}
}

// ofGuest returns the attributes of a guest.
func ofGuest(label string, vmid int) []attribute {
	return []attribute{text(keyGuest, label), number(keyVMID, vmid)}
}

// ofServer returns the attributes of an endpoint, host and port.
func ofServer(endpoint string) []attribute {
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		return []attribute{text(keyAddress, endpoint)}
	}
	attrs := []attribute{text(keyAddress, host)}
	if n, err := strconv.Atoi(port); err == nil {
		attrs = append(attrs, number(keyPort, n))
	}
	return attrs
}
