package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// cloudEvent is an event in the structured JSON format of CloudEvents 1.0.
type cloudEvent struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"` // "/gitops-agent/<cluster>"
	Type            string    `json:"type"`   // "gitops-agent.<event>"
	Subject         string    `json:"subject,omitempty"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            eventData `json:"data"`
}

// eventData is the content of a CloudEvent.
type eventData struct {
	Event      string            `json:"event"`
	Severity   Severity          `json:"severity"`
	Cluster    string            `json:"cluster"`
	Text       string            `json:"text"`
	Link       string            `json:"link,omitempty"` // to the status page
	Guest      string            `json:"guest,omitempty"`
	Tags       []string          `json:"tags,omitempty"`
	Repeated   bool              `json:"repeated,omitempty"`
	Attributes map[string]string `json:"attributes"`
}

func (r Receiver) sendCloudEvent(ctx context.Context, m Message) error {
	e := m.Events[0]
	body, err := json.Marshal(cloudEvent{
		SpecVersion: "1.0", ID: idOf(e), Source: "/gitops-agent/" + url.PathEscape(m.Cluster), Type: "gitops-agent." + string(e.Name), Subject: e.Guest,
		Time: e.Time.UTC(), DataContentType: "application/json",
		Data: eventData{
			Event: string(e.Name), Severity: e.Severity, Cluster: m.Cluster, Text: Text(e), Link: m.Link, Guest: e.Guest, Tags: e.Tags, Repeated: !e.Repeated.IsZero(),
			Attributes: e.Attributes,
		},
	})
	if err != nil {
		return &permanentError{err}
	}
	return r.post(ctx, http.Header{"Content-Type": {"application/cloudevents+json; charset=utf-8"}}, body)
}

// idOf returns the id of an event: the same for each attempt and each receiver, so that a receiver recognizes what it got before. A repetition has an
// id of its own.
func idOf(e Event) string {
	hash := sha256.New()
	if !e.Repeated.IsZero() {
		_, _ = fmt.Fprintf(hash, "repeated %d\x00", e.Repeated.UnixNano())
	}
	_, _ = fmt.Fprintf(hash, "%d\x00%s\x00", e.Time.UnixNano(), e.Name)
	keys := make([]string, 0, len(e.Attributes))
	for key := range e.Attributes {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		_, _ = fmt.Fprintf(hash, "%s\x00%s\x00", key, e.Attributes[key])
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}
