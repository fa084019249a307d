package notify

import (
	"context"
	"mime"
	"net/http"
)

func (r Receiver) sendNtfy(ctx context.Context, m Message) error {
	priority, tag := "3", "information_source"
	switch m.Severity() {
	case Error:
		priority, tag = "5", "rotating_light"
	case Warning:
		priority, tag = "4", "warning"
	case Info:
	}
	header := http.Header{"Title": {mime.QEncoding.Encode("utf-8", oneLine(m.Title()))}, "Priority": {priority}, "Tags": {tag}, "Content-Type": {"text/plain; charset=utf-8"}}
	if m.Link != "" {
		header.Set("Click", m.Link)
	}
	return r.post(ctx, header, []byte(m.Body()))
}
