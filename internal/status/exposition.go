package status

import (
	"bytes"
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// errNotRendered is the error of a reply whose rendering panicked.
var errNotRendered = errors.New("the reply could not be rendered")

// exposition serves the metrics. Scrapes that arrive while one is gathered share its result: gathering the series of a large fleet takes far longer
// than sending them. The format is always the text format, which every Prometheus reads.
type exposition struct {
	gather http.Handler
	shared sharedReply
}

func newExposition(opts Options) *exposition {
	return &exposition{gather: promhttp.HandlerFor(opts.Gatherer, promhttp.HandlerOpts{
		ErrorLog: gatherLog{opts.Logger}, ErrorHandling: promhttp.ContinueOnError, DisableCompression: true,
	})}
}

// ServeHTTP implements http.Handler.
func (e *exposition) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	shared := e.shared.get(edition{}, func() reply {
		req := r.Clone(r.Context())
		req.Header = http.Header{}
		var got memoryWriter
		e.gather.ServeHTTP(&got, req)
		if got.status != 0 && got.status != http.StatusOK {
			return reply{err: errors.New(got.body.String())}
		}
		return newReply(got.Header().Get("Content-Type"), got.body.Bytes())
	})
	if shared.err != nil {
		http.Error(w, shared.err.Error(), http.StatusInternalServerError)
		return
	}
	shared.send(w, r)
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
