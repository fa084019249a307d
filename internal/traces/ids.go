package traces

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Ids as the W3C defines them: none is zero.
type (
	traceID [16]byte
	spanID  [8]byte
)

func (t traceID) String() string { return hex.EncodeToString(t[:]) }
func (s spanID) String() string  { return hex.EncodeToString(s[:]) }

// position is a span as the parent of others. The zero value is none.
type position struct {
	trace traceID
	span  spanID
}

func (p position) isZero() bool { return p == position{} }

// hash returns a digest of texts, of which none contains a zero byte.
func hash(texts ...string) [sha256.Size]byte {
	return sha256.Sum256([]byte(strings.Join(texts, "\x00")))
}

func newTraceID(texts ...string) traceID {
	h := hash(append([]string{"trace"}, texts...)...)
	return traceID(h[:16])
}

func newSpanID(texts ...string) spanID {
	h := hash(append([]string{"span"}, texts...)...)
	return spanID(h[:8])
}

func randomSpanID() (id spanID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

// revisionAt returns the root span of a commit that was accepted.
func revisionAt(cluster, commit string) position {
	return position{newTraceID(cluster, commit), newSpanID(cluster, commit, "accepted")}
}

// refusalAt returns the root span of a commit that was refused. It is not that of the same commit when it is accepted later, in the same trace.
func refusalAt(cluster, commit, reason string) position {
	return position{newTraceID(cluster, commit), newSpanID(cluster, commit, "refused", reason)}
}

// repairAt returns the root span of a repair, which its first step identifies.
func repairAt(cluster, step string) position {
	return position{newTraceID(cluster, "repair", step), newSpanID(cluster, "repair", step)}
}

// stepAt returns the span of a step in the trace of its parent.
func stepAt(parent position, step string) position {
	return position{parent.trace, newSpanID("step", step)}
}

// commitOf returns the commit of a revision, "main@sha1:<40 hex>".
func commitOf(revision string) string { return revision[strings.LastIndex(revision, ":")+1:] }
