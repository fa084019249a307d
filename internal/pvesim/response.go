package pvesim

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
)

// reply is the result of a successful call: the value of "data" and, for paged lists, the total next to it.
type reply struct {
	data  []byte
	total int // -1 if the call has none
}

func dataReply(b []byte) (reply, error) { return reply{data: b, total: -1}, nil }

func nullReply() (reply, error) { return dataReply(jsonNull) }

// response is the answer to a call before it is written to a connection.
type response struct {
	status    int
	reason    string
	body      []byte
	drop      bool // the connection ends instead of a reply
	truncated bool // the connection ends in the middle of the body
}

func success(r reply) response {
	b := make([]byte, 0, len(r.data)+24)
	b = append(b, `{"data":`...)
	b = append(b, r.data...)
	if r.total > 0 { // Perl omits a total of zero
		b = append(b, `,"total":`...)
		b = strconv.AppendInt(b, int64(r.total), 10)
	}
	return response{status: http.StatusOK, reason: "OK", body: append(b, '}')}
}

func (s *Sim) failure(err error) response {
	var e *apiError
	if !asAPIError(err, &e) {
		return s.failure(apiErrorf("%v", err))
	}
	return response{status: e.status, reason: e.reason(), body: e.body(s.major())}
}

const (
	contentType = "application/json;charset=UTF-8"
	serverName  = "pve-api-daemon/3.0"
)

func (resp response) header() http.Header {
	h := http.Header{"Server": {serverName}}
	if len(resp.body) > 0 {
		h.Set("Content-Type", contentType)
	}
	h.Set("Content-Length", strconv.Itoa(len(resp.body)))
	if resp.status >= http.StatusBadRequest {
		h.Set("Connection", "close")
	}
	return h
}

// send writes the response. A reason phrase of Proxmox's own, or a broken reply, requires the raw connection.
func (resp response) send(w http.ResponseWriter, _ *http.Request) {
	plain := !resp.drop && !resp.truncated
	hj, ok := w.(http.Hijacker)
	if plain && (!ok || resp.status < http.StatusBadRequest) {
		maps.Copy(w.Header(), resp.header())
		w.WriteHeader(resp.status)
		_, _ = w.Write(resp.body)
		return
	}
	if !ok {
		panic(http.ErrAbortHandler) // net/http then ends the connection without a reply
	}
	conn, buf, err := hj.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	if resp.drop {
		return
	}
	_ = resp.writeTo(buf.Writer) // an error means that the client has disconnected
}

func (resp response) writeTo(w *bufio.Writer) error {
	if _, err := fmt.Fprintf(w, "HTTP/1.1 %d %s\r\n", resp.status, resp.reason); err != nil {
		return fmt.Errorf("write status line: %w", err)
	}
	if err := resp.header().Write(w); err != nil {
		return fmt.Errorf("write header: %w", err)
	}
	body := resp.body
	if resp.truncated {
		body = body[:len(body)/2]
	}
	if _, err := w.WriteString("\r\n" + string(body)); err != nil {
		return fmt.Errorf("write body: %w", err)
	}
	return w.Flush()
}

var errConnectionLost = errors.New("connection closed before the reply")

// httpResponse returns the response as http.Client receives it.
func (resp response) httpResponse(req *http.Request) (*http.Response, error) {
	if resp.drop {
		return nil, errConnectionLost
	}
	var body io.Reader = bytes.NewReader(resp.body)
	if resp.truncated {
		body = io.MultiReader(bytes.NewReader(resp.body[:len(resp.body)/2]), brokenReader{})
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", resp.status, resp.reason), StatusCode: resp.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: resp.header(),
		Body: io.NopCloser(body), ContentLength: int64(len(resp.body)), Request: req, Close: resp.status >= http.StatusBadRequest,
	}, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
