package traces

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"gitops-agent/internal/outbound"
)

// maxReply bounds what is read of a reply, in bytes.
const maxReply = 64 << 10

// Collector receives spans by OTLP over HTTP with protobuf.
//
// Source: OpenTelemetry protocol 1.9, OTLP/HTTP.
type Collector struct {
	// Endpoint is the address, "http://127.0.0.1:4318". Without a path, that of the protocol is used, /v1/traces.
	Endpoint string
	// Headers returns the text of headers, one "Name: value" in a line. It is called for each request. It may contain secrets. nil is none.
	Headers func() (string, error)
	// CAFile has certificates that are trusted in addition to those of the system, "" is none.
	CAFile string
	// Timeout bounds one request.
	Timeout time.Duration
}

// permanentError is the error of a request that need not be repeated.
type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

func isTemporary(err error) bool {
	var permanent *permanentError
	return !errors.As(err, &permanent)
}

// partialError is the answer of a collector that did not take all spans.
type partialError struct{ rejected int }

func (e *partialError) Error() string {
	return fmt.Sprintf("the collector rejected %d spans", e.rejected)
}

// CheckEndpoint returns an error if the address cannot be used.
func (c Collector) CheckEndpoint() error {
	_, err := c.url()
	return err
}

// Check returns an error if a setting cannot be used. It reads the files and sends nothing.
func (c Collector) Check() error {
	if _, err := outbound.TLS(c.CAFile); err != nil {
		return err
	}
	u, err := c.url()
	if err != nil {
		return err
	}
	_, err = c.headersFor(u)
	return err
}

func (c Collector) url() (*url.URL, error) {
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("endpoint: want the address of a collector, such as https://host:4318, without user and query")
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1/traces"
	}
	return u, nil
}

// headersFor returns the headers for requests to a URL. It returns an error if they would not be encrypted.
func (c Collector) headersFor(u *url.URL) (http.Header, error) {
	if c.Headers == nil {
		return nil, nil
	}
	text, err := c.Headers()
	if err != nil {
		return nil, err
	}
	headers, err := parseHeaders(text)
	if err == nil && len(headers) > 0 && outbound.IsExposed(u) {
		err = errors.New("http would send the headers unencrypted: use https")
	}
	return headers, err
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// parseHeaders parses one "Name: value" in a line. Its errors contain no value.
func parseHeaders(text string) (http.Header, error) {
	headers := make(http.Header)
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		name, value = textproto.TrimString(name), textproto.TrimString(value)
		if !found || !headerName.MatchString(name) || strings.ContainsFunc(value, unicode.IsControl) {
			return nil, fmt.Errorf("line %d: want a header such as \"Authorization: Bearer …\"", i+1)
		}
		headers.Add(name, value)
	}
	return headers, nil
}

// export sends spans in one request. TracesData has the encoding of the protocol's ExportTraceServiceRequest, whose Go package links a server.
func (c Collector) export(ctx context.Context, spans *tracepb.ResourceSpans) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{spans}})
	if err != nil {
		return &permanentError{fmt.Errorf("encode spans: %w", err)}
	}
	u, err := c.url()
	if err != nil {
		return &permanentError{err}
	}
	headers, err := c.headersFor(u)
	if err != nil {
		return err // the file may be replaced
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return &permanentError{err}
	}
	maps.Copy(request.Header, headers)
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("User-Agent", "gitops-agent")
	reply, err := outbound.Exchange(request, c.CAFile, maxReply)
	if err != nil && reply.Status == 0 {
		return err
	}
	return answer(reply)
}

// answer returns what a reply says about the spans of its request. A reply that cannot be read does not say that spans were rejected.
func answer(reply outbound.Reply) error {
	if !outbound.Succeeded(reply.Status) {
		err := fmt.Errorf("the collector answered with status %d", reply.Status)
		if outbound.IsTemporary(reply.Status) {
			return err
		}
		return &permanentError{err}
	}
	partial, _ := field(reply.Body, 1)
	if _, rejected := field(partial, 1); rejected > 0 && rejected <= math.MaxInt32 {
		return &partialError{int(rejected)}
	}
	return nil
}

// field returns the last value of a field of an encoded message, as bytes or as a number. It returns nothing if the message is not valid or has no such field.
//
// Source: ExportTraceServiceResponse has partial_success in field 1, which has rejected_spans in field 1.
func field(message []byte, wanted protowire.Number) (value []byte, number uint64) {
	for len(message) > 0 {
		found, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, 0
		}
		message = message[n:]
		size := protowire.ConsumeFieldValue(found, kind, message)
		if size < 0 {
			return nil, 0
		}
		switch {
		case found == wanted && kind == protowire.BytesType:
			value, _ = protowire.ConsumeBytes(message)
		case found == wanted && kind == protowire.VarintType:
			number, _ = protowire.ConsumeVarint(message)
		}
		message = message[size:]
	}
	return value, number
}
