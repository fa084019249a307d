package status

import (
	"bytes"
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
)

// errNotRendered is the error of a reply whose rendering panicked.
var errNotRendered = errors.New("the reply could not be rendered")

// exposition serves the metrics. Scrapes that arrive while one is gathered share its result: gathering the series of a large fleet takes far longer
// than sending them. There are three formats, and a request gets one of them in one version, so that at most three results exist.
type exposition struct {
	gather  http.Handler
	text    sharedReply
	open    sharedReply // OpenMetrics, which has exemplars
	message sharedReply // protocol buffers, which also have native histograms
}

func newExposition(opts Options) *exposition {
	return &exposition{gather: promhttp.HandlerFor(opts.Gatherer, promhttp.HandlerOpts{
		ErrorLog: gatherLog{opts.Logger}, ErrorHandling: promhttp.ContinueOnError, DisableCompression: true, EnableOpenMetrics: true,
	})}
}

// format returns the format that a request prefers, as the value of an Accept header, and where the reply in this format is shared.
func (e *exposition) format(h http.Header) (accept string, shared *sharedReply) {
	switch expfmt.NegotiateAccept(h, expfmt.DefaultOpenMetricsAcceptedFormats()...).FormatType() {
	case expfmt.TypeProtoDelim:
		return "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited", &e.message
	case expfmt.TypeOpenMetrics:
		return "application/openmetrics-text;version=1.0.0", &e.open
	case expfmt.TypeTextPlain, expfmt.TypeProtoText, expfmt.TypeProtoCompact, expfmt.TypeUnknown:
	}
	return "text/plain", &e.text
}

// ServeHTTP implements http.Handler.
func (e *exposition) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	accept, shared := e.format(r.Header)
	got := shared.get(edition{}, func() reply {
		req := r.Clone(r.Context())
		req.Header = http.Header{"Accept": {accept}}
		var got memoryWriter
		e.gather.ServeHTTP(&got, req)
		if got.status != 0 && got.status != http.StatusOK {
			return reply{err: errors.New(got.body.String())}
		}
		return newReply(got.Header().Get("Content-Type"), got.body.Bytes())
	})
	if got.err != nil {
		http.Error(w, got.err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Add("Vary", "Accept")
	got.send(w, r)
}

// memoryWriter is an http.ResponseWriter that keeps the reply in memory.
type memoryWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (m *memoryWriter) Header() http.Header {
	if m.header == nil {
		m.header = http.Header{}
	}
	return m.header
}

func (m *memoryWriter) WriteHeader(status int)             { m.status = status }
func (m *memoryWriter) Write(data []byte) (n int, _ error) { return m.body.Write(data) }
