package status

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
	"time"

	"gitops-agent/reconcile/report"
)

// maxPageAge is how old a page may be that is sent again. The page shows ages in seconds below a minute, and browsers reload it every ten seconds.
const maxPageAge = 5 * time.Second

// reply is a rendered reply, as it is and compressed. Several requests send the same bytes.
type reply struct {
	status       int // 0 is 200
	contentType  string
	body, packed []byte
	err          error
}

// newReply compresses a body.
func newReply(contentType string, body []byte) reply {
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // the level is valid
	_, _ = w.Write(body)                                 // a buffer takes everything
	_ = w.Close()
	return reply{contentType: contentType, body: body, packed: packed.Bytes()}
}

// send writes the reply, compressed if the client accepts that.
func (p reply) send(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", p.contentType)
	h.Add("Vary", "Accept-Encoding")
	body := p.body
	if acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		body = p.packed
	}
	if p.status != 0 {
		w.WriteHeader(p.status)
	}
	_, _ = w.Write(body)
}

// acceptsGzip reports whether the request accepts compressed replies.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if coding == "gzip" && strings.TrimSpace(quality) != "q=0" {
			return true
		}
	}
	return false
}

// edition identifies the content of a reply: the report that it shows.
type edition struct {
	time  time.Time
	cycle uint64
}

func editionOf(r report.Report) edition { return edition{r.Time, r.Cycle} }

// sharedReply renders one reply at a time, and gives the same reply to every request that asks for it meanwhile, or later for the same edition.
// So the cost of a reply does not grow with the number of clients.
type sharedReply struct {
	maxAge time.Duration // 0 shares a reply only with the requests that arrive while it is rendered

	mu     sync.Mutex
	newest *sharing
}

// sharing is a reply that is being rendered, or was.
type sharing struct {
	edition edition
	begun   time.Time
	done    chan struct{} // closed when reply is set
	reply   reply
}

// get returns the reply for an edition. It calls render unless there is one to share.
func (s *sharedReply) get(e edition, render func() reply) reply {
	s.mu.Lock()
	current := s.newest
	if current == nil || current.edition != e || current.isOver() && (current.reply.err != nil || time.Since(current.begun) >= s.maxAge) {
		current = &sharing{edition: e, begun: time.Now(), done: make(chan struct{})}
		s.newest = current
		s.mu.Unlock()
		s.render(current, render)
		return current.reply
	}
	s.mu.Unlock()
	<-current.done
	return current.reply
}

// render sets the reply of a sharing. If nothing may be shared later, the bytes are not kept.
func (s *sharedReply) render(current *sharing, render func() reply) {
	defer func() {
		close(current.done) // also after a panic, which the requests that wait must not outlast
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.maxAge == 0 && s.newest == current {
			s.newest = nil
		}
	}()
	current.reply = reply{err: errNotRendered}
	current.reply = render()
}

// isOver reports whether the reply is set.
func (s *sharing) isOver() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}
